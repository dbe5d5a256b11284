"""The formats in which the targets of dbt's tests are kept; Spark's default is Parquet."""

from __future__ import annotations

import pytest
import yaml
from dbt.tests.util import write_file

DELTA = {"+file_format": "delta"}
ICEBERG = {"+file_format": "iceberg"}


class Format:
    """A project whose tables are all in one format, whatever else a test configures."""

    file_format: str

    @pytest.fixture(scope="class")
    def dbt_project_yml(self, dbt_project_yml, project_root):
        for nodes in ("models", "seeds", "snapshots"):
            config = dbt_project_yml.setdefault(nodes, {})
            config.setdefault("+file_format", self.file_format)
        write_file(yaml.safe_dump(dbt_project_yml), project_root, "dbt_project.yml")
        return dbt_project_yml


class Delta(Format):
    """A project whose tables can be updated, in Delta."""

    file_format = "delta"


class Iceberg(Format):
    """A project whose tables can be updated, in an Iceberg catalog of its own."""

    file_format = "iceberg"

    @pytest.fixture(scope="class")
    def unique_schema(self, request, prefix):
        return f"lake.{prefix}_{request.module.__name__.rpartition('.')[2]}"


class Again:
    """What another class has shown on another format."""

    pytestmark = pytest.mark.conformance("shown on another format")


class AgainOnIceberg(Again, Iceberg):
    """What a class has shown on Delta."""
