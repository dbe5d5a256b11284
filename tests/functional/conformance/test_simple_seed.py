"""dbt.tests.adapter.simple_seed."""

from pathlib import Path

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride
from dbt.tests.util import run_dbt

from tests.functional.conformance.spark_sql import with_strings

pytestmark = pytest.mark.conformance("tests/functional/test_seeds.py is about what is ours")


class TestBasicSeedTests(BaseBasicSeedTests):
    def test_simple_seed_full_refresh_flag(self, project):
        """Spark has no cascade from a table to its views: the model on the seed stays."""
        self._build_relations_for_test(project)
        seeded = run_dbt(["seed", "--full-refresh"])
        self._check_relation_end_state(run_result=seeded, project=project, exists=True)


class TestSeedConfigFullRefreshOn(BaseSeedConfigFullRefreshOn):
    def test_simple_seed_full_refresh_config(self, project):
        """Spark has no cascade from a table to its views: the model on the seed stays."""
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_result=run_dbt(["seed"]), project=project, exists=True)


class TestSeedConfigFullRefreshOff(BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        project.run_sql(seeds.seeds__expected_sql)
        with_mark = Path(seeds.__file__).with_name("seed_bom.csv").read_bytes()
        Path(project.project_root, "seeds", "seed_bom.csv").write_bytes(with_mark)


class TestSeedSpecificFormats(BaseSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        # Names of tables in Spark's catalog have letters, digits and underscores only.
        without_dots = {"seed.with.dots": {"+alias": "seed_with_dots"}}
        return {"seeds": {"quote_columns": False, "test": without_dots}}

    @pytest.fixture(scope="class")
    def test_data_dir(self, tmp_path_factory):
        return tmp_path_factory.mktemp("seeds") / "data"


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self):
        properties = with_strings(fixtures.properties__schema_yml)
        for postgres, spark in {"integer": "bigint", " without time zone": ""}.items():
            properties = properties.replace(postgres, spark)
        return {"schema.yml": properties}

    @staticmethod
    def seed_enabled_types():
        """Spark's names of the types."""
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types():
        """Spark's names of the types."""
        return dict.fromkeys(["seed_id_str", "looks_like_a_bool", "looks_like_a_date"], "string")
