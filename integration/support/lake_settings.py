"""What the documents tell Spark's users to set for Delta and Iceberg tables."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

PACKAGES = "spark.jars.packages"

_EXAMPLES = Path(__file__).parents[2] / "examples" / "incremental"


def example_settings(name: str) -> dict[str, str]:
    """The Spark settings of an example, e.g. `delta`."""
    text = (_EXAMPLES / f"{name}.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(text)["server_side_parameters"]
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in settings.items()
    }
