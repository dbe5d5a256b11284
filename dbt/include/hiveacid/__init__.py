"""The macros and templates of dbt-hiveacid."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
