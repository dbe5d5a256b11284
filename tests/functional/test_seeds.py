"""Seeds: every value is in its column, or refused."""

from datetime import date

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


class TestValuesThatDoNotFit:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"values.csv": "id,day\n7,2025-12-31\n,\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"seeds": {"+column_types": {"day": "date"}}}

    @pytest.mark.parametrize(
        ("row", "told"),
        [
            (
                "12345678901234567890,2025-12-31",
                "id, which is bigint, the value 12345678901234567890",
            ),
            ("7,31.12.2025", "day, which is date, the value 31.12.2025"),
        ],
    )
    def test_a_value_that_would_get_lost_is_named(self, project, row, told):
        good = "id,day\n7,2025-12-31\n,\n"
        write_file(good + row + "\n", "seeds", "values.csv")
        (result,) = run_dbt(["seed"], expect_pass=False)
        assert f"Seed values has in column {told}. It is no such value." in result.message
        write_file(good, "seeds", "values.csv")
        run_dbt(["seed"])
        rows = project.run_sql("select id, day from {schema}.values", fetch="all")
        assert [tuple(row) for row in rows] == [(7, date(2025, 12, 31)), (None, None)]
