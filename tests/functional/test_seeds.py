"""Seeds: every value is in its column, or refused."""

import pytest
from dbt.tests.util import run_dbt, write_file


class TestPartitionedSeed:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"parts.csv": "region,id,Day Of,name\neu,1,a,one\nus,2,b,two\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"seeds": {"+partition_by": ["region"], "+quote_columns": True}}

    def test_values_are_in_their_columns(self, project):
        run_dbt(["seed"])
        rows = project.run_sql(
            "select id, `Day Of`, name, region from {schema}.parts order by id", fetch="all"
        )
        assert [tuple(row) for row in rows] == [(1, "a", "one", "eu"), (2, "b", "two", "us")]
