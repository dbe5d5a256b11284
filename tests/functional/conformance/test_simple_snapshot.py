"""dbt.tests.adapter.simple_snapshot, and the snapshots of dbt.tests.adapter.basic."""

from datetime import datetime

import pytest
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.simple_snapshot import fixtures
from dbt.tests.adapter.simple_snapshot import new_record_dbt_valid_to_current as valid_to_current
from dbt.tests.adapter.simple_snapshot import new_record_timestamp_mode as timestamp_mode
from dbt.tests.adapter.simple_snapshot import test_ephemeral_snapshot_hard_deletes as ephemeral
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotDbtValidToCurrent,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)
from dbt.tests.util import check_relations_equal, run_dbt

from tests.functional.conformance.formats import AgainOnIceberg, Delta, Iceberg
from tests.functional.conformance.spark_sql import without_database

differs_in_sql_of_dbt = pytest.mark.conformance(
    "differs in dbt's own SQL alone; staging and keys, which are ours, are in the others"
)


class SnapshotOfSeed:
    """The snapshot of a table that a test makes itself."""

    file_format: str

    @pytest.fixture(scope="class")
    def snapshots(self):
        # In the snapshot itself: a test may overwrite the project's configuration.
        configured = f"config(file_format='{self.file_format}',"
        snapshot = without_database(fixtures.snapshot_actual_sql)
        return {"snapshot.sql": snapshot.replace("config(", configured)}


class SourceWithNewColumn:
    @pytest.fixture(scope="class")
    def source_alter_sql(self):
        # Delta and Iceberg as Spark has them take no default for a column that is added.
        return """
            alter table {schema}.src_customers add column dummy_column string;
            update {schema}.src_customers set dummy_column = 'dummy_value'
        """


@differs_in_sql_of_dbt
class TestSnapshotCheckCols(Delta, BaseSnapshotCheckCols):
    pass


@differs_in_sql_of_dbt
class TestSnapshotTimestamp(Delta, BaseSnapshotTimestamp):
    pass


class TestSimpleSnapshot(Delta, BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(Delta, BaseSnapshotCheck):
    pass


@differs_in_sql_of_dbt
class TestSnapshotColumnNames(Delta, SnapshotOfSeed, BaseSnapshotColumnNames):
    pass


@differs_in_sql_of_dbt
class TestSnapshotDbtValidToCurrent(Delta, SnapshotOfSeed, BaseSnapshotDbtValidToCurrent):
    def test_valid_to_current(self, project):
        """Spark has no order of rows unless asked for one: they are looked up by their ids."""

        def valid_to(id):
            rows = project.run_sql(
                f"select test_valid_to from {{schema}}.snapshot_actual where id = {id}", fetch="all"
            )
            return {row[0] for row in rows}

        project.run_sql(fixtures.create_seed_sql)
        project.run_sql(fixtures.create_snapshot_expected_sql)
        project.run_sql(fixtures.seed_insert_sql)
        project.run_sql(fixtures.populate_snapshot_expected_valid_to_current_sql)
        assert len(run_dbt(["snapshot"])) == 1

        current = datetime(2099, 12, 31)
        assert valid_to(1) == {current}
        assert valid_to(10) == {current}

        project.run_sql(fixtures.invalidate_sql)
        project.run_sql(fixtures.update_with_current_sql)
        assert len(run_dbt(["snapshot"])) == 1

        assert valid_to(1) == {current}
        assert valid_to(10) == {datetime(2016, 8, 20, 16, 44, 49), current}
        check_relations_equal(project.adapter, ["snapshot_actual", "snapshot_expected"])


@differs_in_sql_of_dbt
class TestSnapshotColumnNamesFromDbtProject(
    Delta, SnapshotOfSeed, BaseSnapshotColumnNamesFromDbtProject
):
    pass


@differs_in_sql_of_dbt
class TestSnapshotInvalidColumnNames(Delta, SnapshotOfSeed, BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotMultiUniqueKey(Delta, BaseSnapshotMultiUniqueKey):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "seed.sql": without_database(fixtures.model_seed_sql),
            "snapshots.yml": fixtures.snapshots_multi_key_yml,
            "ref_snapshot.sql": fixtures.ref_snapshot_sql,
        }


@differs_in_sql_of_dbt
class TestSnapshotNewRecordTimestampMode(
    Delta, SnapshotOfSeed, timestamp_mode.BaseSnapshotNewRecordTimestampMode
):
    pass


@differs_in_sql_of_dbt
class TestSnapshotNewRecordCheckMode(Delta, SnapshotOfSeed, BaseSnapshotNewRecordCheckMode):
    pass


@differs_in_sql_of_dbt
class TestSnapshotNewRecordDbtValidToCurrent(
    Delta, valid_to_current.BaseSnapshotNewRecordDbtValidToCurrent
):
    @pytest.fixture(scope="class")
    def snapshots(self):
        return {"snapshot.sql": without_database(valid_to_current._snapshot_actual_sql)}


@differs_in_sql_of_dbt
class TestSnapshotEphemeralHardDeletes(
    Delta, SourceWithNewColumn, ephemeral.BaseSnapshotEphemeralHardDeletes
):
    pass


@differs_in_sql_of_dbt
class TestSnapshotNewColumnTimestampStrategy(
    Delta, SourceWithNewColumn, ephemeral.BaseSnapshotNewColumnTimestampStrategy
):
    pass


@differs_in_sql_of_dbt
class TestSnapshotNewColumnSpecificCheckCols(
    Delta, SourceWithNewColumn, ephemeral.BaseSnapshotNewColumnSpecificCheckCols
):
    pass


@differs_in_sql_of_dbt
class TestSnapshotNewColumnWithDeletes(
    Delta, SourceWithNewColumn, ephemeral.BaseSnapshotNewColumnWithDeletes
):
    pass


class TestSnapshotCheckColsIceberg(AgainOnIceberg, TestSnapshotCheckCols):
    pass


class TestSnapshotTimestampIceberg(AgainOnIceberg, TestSnapshotTimestamp):
    pass


class TestSimpleSnapshotIceberg(AgainOnIceberg, TestSimpleSnapshot):
    pass


class TestSnapshotCheckIceberg(AgainOnIceberg, TestSnapshotCheck):
    pass


class TestSnapshotColumnNamesIceberg(AgainOnIceberg, TestSnapshotColumnNames):
    pass


class TestSnapshotDbtValidToCurrentIceberg(AgainOnIceberg, TestSnapshotDbtValidToCurrent):
    pass


class TestSnapshotColumnNamesFromDbtProjectIceberg(
    AgainOnIceberg, TestSnapshotColumnNamesFromDbtProject
):
    pass


class TestSnapshotInvalidColumnNamesIceberg(AgainOnIceberg, TestSnapshotInvalidColumnNames):
    pass


@differs_in_sql_of_dbt
class TestSnapshotMultiUniqueKeyIceberg(Iceberg, TestSnapshotMultiUniqueKey):
    pass


class TestSnapshotNewRecordTimestampModeIceberg(AgainOnIceberg, TestSnapshotNewRecordTimestampMode):
    pass


@differs_in_sql_of_dbt
class TestSnapshotNewRecordCheckModeIceberg(Iceberg, TestSnapshotNewRecordCheckMode):
    pass


class TestSnapshotNewRecordDbtValidToCurrentIceberg(
    AgainOnIceberg, TestSnapshotNewRecordDbtValidToCurrent
):
    pass


class TestSnapshotEphemeralHardDeletesIceberg(AgainOnIceberg, TestSnapshotEphemeralHardDeletes):
    pass


class TestSnapshotNewColumnTimestampStrategyIceberg(
    AgainOnIceberg, TestSnapshotNewColumnTimestampStrategy
):
    pass


class TestSnapshotNewColumnSpecificCheckColsIceberg(
    AgainOnIceberg, TestSnapshotNewColumnSpecificCheckCols
):
    pass


class TestSnapshotNewColumnWithDeletesIceberg(AgainOnIceberg, TestSnapshotNewColumnWithDeletes):
    pass
