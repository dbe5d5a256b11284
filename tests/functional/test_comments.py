"""`persist_docs` sets the comments of columns in every format, each once."""

import pytest
import yaml
from dbt.tests.util import relation_from_name, run_dbt, run_dbt_and_capture

MODEL = """{{{{ config(materialized='incremental', file_format='{file_format}',
    incremental_strategy='append', partition_by='part') }}}}
select id, 1 as `group`, id % 2 as part from range(2)"""

# What Spark's SQL would read as something else; and more than Hive's metastore keeps.
DESCRIPTION = "C:\\new, where it's 'at' ${spark.master}\n\\".ljust(300, ".")

FORMATS = ("parquet", "orc", "csv", "delta")


def comments(project, name):
    described = project.run_sql(
        f"describe {relation_from_name(project.adapter, name)}", fetch="all"
    )
    return {row[0]: row[2] for row in reversed(described) if not row[0].startswith("#")}


class TestComments:
    @pytest.fixture(scope="class")
    def models(self):
        columns = [{"name": name, "description": DESCRIPTION} for name in ("ID", "group", "part")]
        documented = [
            {"name": name, "columns": columns, "config": {"persist_docs": {"columns": True}}}
            for name in FORMATS
        ]
        models = {f"{name}.sql": MODEL.format(file_format=name) for name in FORMATS}
        return {**models, "documented.yml": yaml.safe_dump({"models": documented})}

    def test_a_comment_is_set_once_and_as_it_was_written(self, project):
        _, first = run_dbt_and_capture(["--debug", "run"])
        # Spark alters no partition column of its own formats.
        assert first.count("alter column") == 2 * 3 + 3
        _, second = run_dbt_and_capture(["--debug", "run"])
        assert "alter column" not in second
        for name in FORMATS:
            kept = DESCRIPTION if name == "delta" else DESCRIPTION[:256]
            part = DESCRIPTION if name == "delta" else None
            assert comments(project, name) == {"id": kept, "group": kept, "part": part}, name
        run_dbt(["run", "--full-refresh"])
        assert comments(project, "parquet")["id"] == DESCRIPTION[:256]
