"""dbt.tests.adapter.constraints.

In Parquet, where nothing is enforced, and in Delta, which enforces checks once the table is there.
"""

from pathlib import Path

import pytest
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)

from tests.functional.conformance.formats import Delta
from tests.functional.conformance.spark_sql import with_strings

TYPES = {
    "1": "int",
    "'1'": "string",
    "true": "boolean",
    "date '2013-11-03'": "date",
    "timestamp '2013-11-03 00:00:00-07'": "timestamp",
    "timestamp_ntz '2013-11-03 00:00:00'": "timestamp_ntz",
    "array('a', 'b', 'c')": "array<string>",
    "array(1, 2, 3)": "array<int>",
    "map('a', 1)": "map<string,int>",
    "named_struct('a', 1)": "struct<a:int>",
    "1.5": "decimal(2,1)",
}


class SparkTypes:
    """Contracts with Spark's names of the types, and its quotes."""

    created = "create table <model_identifier> as"

    @pytest.fixture(scope="class")
    def project_files(self, project_root, project_files):
        for contracts in Path(project_root, "models").glob("*.yml"):
            text = contracts.read_text(encoding="utf-8")
            contracts.write_text(with_strings(text).replace('"from"', "`from`"), encoding="utf-8")

    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self):
        return [[value, kind, kind] for value, kind in TYPES.items()]


class DeltaTypes(SparkTypes, Delta):
    created = "create or replace table <model_identifier> using delta as"


class Ddl:
    created: str

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return f"""
            {self.created}
            select id, color, date_day from (
                -- depends_on: <foreign_key_model_identifier>
                select 'blue' as color, 1 as id, '2019-01-01' as date_day
            ) as model_subq
        """


class DdlOfQuoted:
    created: str

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return f"""
            {self.created}
            select id, `from`, date_day from (
                select 'blue' as `from`, 1 as id, '2019-01-01' as date_day
            ) as model_subq
        """


class SparkHeader(SparkTypes):
    @pytest.fixture(scope="class")
    def project_files(self, project_root, project_files):
        for path in Path(project_root, "models").iterdir():
            text = path.read_text(encoding="utf-8").replace("session time zone", "time zone")
            text = text.replace("current_setting('timezone')", "current_timezone()")
            path.write_text(with_strings(text), encoding="utf-8")


class TestTableConstraintsColumnsEqual(SparkTypes, BaseTableConstraintsColumnsEqual):
    pass


@pytest.mark.conformance("shown of tables")
class TestViewConstraintsColumnsEqual(SparkTypes, BaseViewConstraintsColumnsEqual):
    pass


@pytest.mark.conformance("shown of tables")
class TestIncrementalConstraintsColumnsEqual(SparkTypes, BaseIncrementalConstraintsColumnsEqual):
    pass


@pytest.mark.conformance("shown on Delta, which enforces them")
class TestConstraintsRuntimeDdlEnforcement(Ddl, SparkTypes, BaseConstraintsRuntimeDdlEnforcement):
    pass


class TestConstraintsRuntimeDdlEnforcementDelta(
    Ddl, DeltaTypes, BaseConstraintsRuntimeDdlEnforcement
):
    pass


@pytest.mark.conformance("shown of tables")
class TestIncrementalConstraintsRuntimeDdlEnforcement(
    Ddl, SparkTypes, BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    pass


@pytest.mark.conformance("shown of tables")
class TestIncrementalConstraintsRuntimeDdlEnforcementDelta(
    Ddl, DeltaTypes, BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    pass


@pytest.mark.conformance("shown on Delta, which enforces them")
class TestModelConstraintsRuntimeEnforcement(
    Ddl, SparkTypes, BaseModelConstraintsRuntimeEnforcement
):
    pass


class TestModelConstraintsRuntimeEnforcementDelta(
    Ddl, DeltaTypes, BaseModelConstraintsRuntimeEnforcement
):
    pass


@pytest.mark.conformance("shown on Delta, which enforces them")
class TestConstraintQuotedColumn(DdlOfQuoted, SparkTypes, BaseConstraintQuotedColumn):
    pass


class TestConstraintQuotedColumnDelta(DdlOfQuoted, DeltaTypes, BaseConstraintQuotedColumn):
    pass


@pytest.mark.conformance("our own is in test_contracts.py")
class TestConstraintsRollbackDelta(DeltaTypes, BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["violate the new CHECK constraint (`id` is not null)"]


@pytest.mark.conformance("our own is in test_contracts.py")
class TestIncrementalConstraintsRollbackDelta(DeltaTypes, BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["(id IS NOT NULL) violated by row"]


class TestTableContractSqlHeader(SparkHeader, BaseTableContractSqlHeader):
    pass


@pytest.mark.conformance("shown of tables")
class TestIncrementalContractSqlHeader(SparkHeader, BaseIncrementalContractSqlHeader):
    pass


class TestIncrementalForeignKeyConstraint(SparkTypes, BaseIncrementalForeignKeyConstraint):
    pass


@pytest.mark.conformance("shown on Parquet")
class TestIncrementalForeignKeyConstraintDelta(DeltaTypes, BaseIncrementalForeignKeyConstraint):
    pass
