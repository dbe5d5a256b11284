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
                "id of seed values is bigint, and has the value 12345678901234567890",
            ),
            ("7,31.12.2025", "day of seed values is date, and has the value 31.12.2025"),
        ],
    )
    def test_a_value_that_would_get_lost_is_named(self, project, row, told):
        good = "id,day\n7,2025-12-31\n,\n"
        write_file(good + row + "\n", "seeds", "values.csv")
        (result,) = run_dbt(["seed"], expect_pass=False)
        assert f"Column {told}, which does not fit." in result.message
        write_file(good, "seeds", "values.csv")
        run_dbt(["seed"])
        rows = project.run_sql("select id, day from {schema}.values", fetch="all")
        assert [tuple(row) for row in rows] == [(7, date(2025, 12, 31)), (None, None)]


class TestDeltaSeedAtALocation:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"rates.csv": "id,rate\n1,1.5\n2,2.5\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self, tmp_path_factory):
        root = tmp_path_factory.mktemp("seeds")
        return {"seeds": {"+file_format": "delta", "+location_root": f"file:{root}"}}

    def test_it_has_the_rows_of_its_file_only(self, project):
        for csv, *flags in (
            ("id,rate\n1,1.5\n2,2.5\n",),
            ("id,rate\n1,1.5\n",),
            ("id,rate,more\n3,3.5,x\n", "--full-refresh"),
            ("id\n",),
        ):
            write_file(csv, "seeds", "rates.csv")
            run_dbt(["seed", *flags])
            rows = project.run_sql("select * from {schema}.rates order by id", fetch="all")
            shown = [",".join(map(str, row)) for row in rows]
            assert shown == csv.splitlines()[1:]


class TestLengthsInADeltaSeedAtALocation:
    @pytest.fixture(scope="class")
    def seeds(self):
        return {"names.csv": "id,name\n1,ab\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self, tmp_path_factory):
        root = tmp_path_factory.mktemp("seeds")
        config = {"+file_format": "delta", "+location_root": f"file:{root}"}
        return {"seeds": config | {"+column_types": {"name": "varchar(2)"}}}

    def test_a_value_that_is_too_long_is_refused(self, project):
        run_dbt(["seed"])
        rows = project.run_sql("select * from {schema}.names", fetch="all")
        assert [tuple(row) for row in rows] == [(1, "ab")]
        write_file("id,name\n1,abc\n", "seeds", "names.csv")
        (result,) = run_dbt(["seed"], expect_pass=False)
        assert "DELTA_EXCEED_CHAR_VARCHAR_LIMIT" in result.message
