"""The distribution `dbt-hiveacid`: the adapter plugin `type: hiveacid` for dbt.

The library that it stands on is a distribution of its own: hiveacid/pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(?P<version>[^"]+)"',
    (HERE / "hiveacid/version.py").read_text(encoding="utf-8"),
)["version"]

setup(
    name="dbt-hiveacid",
    # setuptools packs all that it finds in the folder of an earlier build. In a checkout of 0.1,
    # `build/` has the modules of the library.
    options={"build": {"build_base": "build/dbt-hiveacid"}},
    version=VERSION,
    description="dbt on Spark reads Hive ACID tables: right, fast and incrementally",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    packages=find_namespace_packages(include=["dbt.adapters.hiveacid*", "dbt.include.hiveacid*"]),
    package_data={
        "dbt.adapters.hiveacid": ["py.typed"],
        "dbt.include.hiveacid": ["dbt_project.yml", "profile_template.yml", "macros/**/*.sql"],
    },
    python_requires=">=3.10,<3.15",
    install_requires=[
        "agate>=1.9,<2",
        "dbt-adapters>=1.16,<2",
        "dbt-common>=1.10,<2",
        "dbt-core>=1.10,<1.13",
        # Before 1.12 its mashumaro is one that fails on Python 3.14.
        'dbt-core>=1.12; python_version >= "3.14"',
        "dbt-spark>=1.10,<1.13",
        # The adapter takes names of the library that are not public. A source may be a view of
        # Hive's, and only the metastore knows which: so with what reads them.
        f"hiveacid[views]=={VERSION}",
    ],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
    ],
)
