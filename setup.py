"""Packaging of dbt-hiveacid: the adapter plugin `type: hiveacid` for dbt."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(
    r'version = "(?P<version>[^"]+)"',
    (HERE / "dbt/adapters/hiveacid/__version__.py").read_text(encoding="utf-8"),
)["version"]

setup(
    name="dbt-hiveacid",
    version=VERSION,
    description="dbt on Spark reads Hive ACID tables: right, fast and incrementally",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    packages=find_namespace_packages(
        include=["hiveacid*", "dbt.adapters.hiveacid*", "dbt.include.hiveacid*"]
    ),
    package_data={
        "hiveacid": ["py.typed", "jars/*.lock", "jars/*.xml"],
        "dbt.adapters.hiveacid": ["py.typed"],
        "dbt.include.hiveacid": ["dbt_project.yml", "profile_template.yml", "macros/**/*.sql"],
    },
    python_requires=">=3.10,<3.13",
    install_requires=[
        "agate>=1.9,<2",
        "dbt-adapters>=1.16,<2",
        "dbt-common>=1.10,<2",
        "dbt-core>=1.10,<1.13",
        "dbt-spark>=1.10,<1.13",
        "hmsclient>=0.1.1,<0.2",
        "pyspark>=3.5,<4.4",
        "sqlglot>=30,<31",
        "tenacity>=8,<10",
        "thrift>=0.16",
        "xxhash>=3,<5",
    ],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
    ],
)
