"""`dbt run-operation` with the package's macros for users."""

import pytest
from dbt.cli.main import dbtRunner
from dbt.tests.util import run_dbt

PRICES = "{{ config(materialized='incremental') }} select 1 as id"

VERSIONS = """
models:
  - name: prices
    versions:
      - v: 1
      - v: 2
"""


class TestStateOfAModel:
    @pytest.fixture(scope="class")
    def models(self):
        return {"prices_v1.sql": PRICES, "prices_v2.sql": PRICES, "versions.yml": VERSIONS}

    def test_a_model_is_named_so_that_it_is_one(self, project, capsys):
        run_dbt(["run"])
        for name, expected in [
            ("rates", "There is no model named rates in this project."),
            (
                "prices",
                "There are several models named prices. Give one of these ids instead of the "
                "name: model.test.prices.v1, model.test.prices.v2",
            ),
        ]:
            command = ["run-operation", "hiveacid_state", "--args", f"model: {name}"]
            assert not dbtRunner().invoke(command).success
            assert expected in " ".join(capsys.readouterr().out.split())

        run_dbt(["run-operation", "hiveacid_state", "--args", "model: model.test.prices.v2"])
        assert "prices_v2 has no state" in capsys.readouterr().out
