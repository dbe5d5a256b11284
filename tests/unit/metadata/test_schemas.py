"""A schema of a fake Spark where dbt-spark's own statements do not do."""

import re
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from pyspark.errors import PySparkException
from pyspark.sql import Row

from dbt.adapters.hiveacid.errors import UndescribedTargetError
from dbt.adapters.hiveacid.metadata import schemas
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.metadata.schemas import Schemas, is_undescribed
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.catalog import describe_tables
from hiveacid.errors import AcidTargetError
from tests.unit.metadata.fakes import Connections, manifest

MARTS = HiveAcidRelation.create(schema="marts", identifier="")


class Missing(PySparkException):
    """Spark's error for a table that is not there."""

    def getCondition(self):
        return "TABLE_OR_VIEW_NOT_FOUND"


class Schema:
    """A Spark whose tables are renamed, one at each look at their names: `names` has the looks.

    `broken` has the errors of tables that Spark cannot describe.
    """

    def __init__(self, *names, broken=None, name="marts"):
        self._name = name
        self._looks = list(names)
        self._broken = broken or {}
        self.looked_up = []

    def sql(self, statement):
        if statement == f"show tables in {self._name}":
            self._now = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
            there = self._now
        else:
            asked = re.fullmatch(
                rf"show table extended in {self._name} like '(.*)'", statement
            ).group(1)
            there = asked.split("|")
            self.looked_up.append(asked)
            if not set(there) <= set(self._looks[0]):
                raise Missing("it is gone")
            for name in there:
                if name in self._broken:
                    raise self._broken[name]
        rows = [
            Row(namespace="marts", tableName=n, isTemporary=False, information="") for n in there
        ]
        if statement == f"show tables in {self._name}":
            rows = [Row(namespace="marts", tableName=n, isTemporary=False) for n in there]
            rows.append(Row(namespace="", tableName="a_temporary_view", isTemporary=True))
        return SimpleNamespace(collect=lambda: rows)


def relations_of(rows):
    return [HiveAcidRelation.create(schema="marts", identifier=row.tableName) for row in rows]


def schemas_of(session=None, functions=()):
    project = Project(lambda: manifest(functions=functions))
    return Schemas(Connections(session), project, HiveAcidRelation, relations_of)


def names_in(spark):
    """List a schema where dbt-spark gives up."""
    relations = schemas_of(spark).relations(MARTS, lambda schema: [])
    return sorted(relation.identifier for relation in relations)


def test_tables_that_are_renamed_while_they_are_listed_are_found():
    before, after = ["a", "b", "old", "z"], ["a", "b", "old__dbt_backup_0123abcd", "z"]
    spark = Schema(before, after)
    assert names_in(spark) == after
    assert spark.looked_up == ["a|b|old|z", "a|b", "old|z", "old", "z", "old__dbt_backup_0123abcd"]


def refuse_to_list(schema):
    raise DbtDatabaseError("The 'mv' is hive materialized view.")


MV = PySparkException("The 'mv' is hive materialized view.")


def test_a_table_that_spark_cannot_describe_is_listed_by_its_name():
    spark = Schema(["a", "mv", "z"], broken={"mv": MV})
    found = {it.identifier: it for it in schemas_of(spark).relations(MARTS, refuse_to_list)}
    assert sorted(found) == ["a", "mv", "z"]
    assert {name for name, it in found.items() if is_undescribed(it)} == {"mv"}
    assert str(found["mv"]) == "marts.mv" and not (found["mv"].is_table or found["mv"].is_view)


def test_a_few_bad_tables_among_thousands_cost_a_few_statements():
    names = [f"t{i:04}" for i in range(3000)]
    spark = Schema(names, broken={names[i]: MV for i in (0, 1, 77, 1500, 2999)})
    found = schemas_of(spark).relations(MARTS, refuse_to_list)
    assert sorted(it.identifier for it in found) == names
    assert len(spark.looked_up) < 3000 / 50 + 5 * 12
    assert sum(len(asked.split("|")) for asked in spark.looked_up) < 3000 + 5 * 100


def test_a_schema_of_bad_tables_alone_is_listed():
    names = [f"t{i:02}" for i in range(60)]
    spark = Schema(names, broken=dict.fromkeys(names, MV))
    found = schemas_of(spark).relations(MARTS, refuse_to_list)
    assert sorted(it.identifier for it in found if is_undescribed(it)) == names


def test_a_bad_table_that_is_dropped_meanwhile_is_not_listed():
    spark = Schema(["a", "mv"], ["a"], broken={"mv": MV})
    assert [it.identifier for it in schemas_of(spark).relations(MARTS, refuse_to_list)] == ["a"]


def test_a_metastore_that_does_not_answer_is_no_bad_table():
    gone = PySparkException("org.apache.thrift.transport.TTransportException")
    spark = Schema(["a", "b"], broken={"a": gone})
    with pytest.raises(DbtDatabaseError, match="TTransportException"):
        schemas_of(spark).relations(MARTS, refuse_to_list)
    assert spark.looked_up == ["a|b"]


def test_an_empty_schema_is_empty():
    assert names_in(Schema([])) == []


def test_a_schema_that_cannot_be_listed_is_not_taken_for_empty():
    looks = [[f"stage_{i}"] for i in range(11)]
    with pytest.raises(DbtRuntimeError, match=r"tables of marts cannot be listed.* stage_9\)"):
        names_in(Schema(*looks))


def test_relations_of_another_catalog_keep_the_name_of_their_schema():
    lake = HiveAcidRelation.create(schema="lake.marts", identifier="")
    functions = [SimpleNamespace(schema="lake.marts", alias="plus_one")]
    spark = Schema(["a", "b"], name="lake.marts")
    found = schemas_of(spark, functions).relations(lake, refuse_to_list)
    assert list(map(str, found)) == ["lake.marts.a", "lake.marts.b"]


def test_tables_of_another_catalog_are_described_one_by_one_on_spark_3():
    class Spark3(Schema):
        def sql(self, statement):
            if statement.startswith("show table extended"):
                raise PySparkException("SHOW TABLE EXTENDED is not supported for v2 tables.")
            if statement == "describe extended lake.marts.`gone`":
                raise Missing("it is gone")
            if not statement.startswith("describe extended"):
                return super().sql(statement)
            told = [("id", "int"), ("# Detailed", ""), ("Name", statement), ("Provider", "iceberg")]
            rows = [Row(col_name=name, data_type=type_) for name, type_ in told]
            return SimpleNamespace(collect=lambda: rows)

    session = Spark3(["a", "gone", "it`s"], ["a", "it`s"], name="lake.marts")
    rows, reasons = describe_tables(session, "lake.marts", ["a", "gone", "it`s"])
    assert [(row.tableName, row.information.splitlines()[1:]) for row in rows] == [
        ("a", ["Name: describe extended lake.marts.`a`", "Provider: iceberg"]),
        ("it`s", ["Name: describe extended lake.marts.`it``s`", "Provider: iceberg"]),
    ]
    assert reasons == {}


def test_a_schema_that_is_yet_to_be_made_is_empty():
    class Missing:
        def sql(self, statement):
            raise PySparkException("Namespace does not exist: lake.marts")

    lake = HiveAcidRelation.create(schema="lake.marts", identifier="")
    assert schemas_of(Missing()).relations(lake, refuse_to_list) == []


def test_functions_of_the_project_are_listed_but_not_over_a_table(monkeypatch):
    monkeypatch.setattr(schemas, "function_names", lambda session, schema: {"f", "a", "of_others"})
    functions = [SimpleNamespace(schema="Marts", alias=alias) for alias in ("F", "A", "not_built")]
    listed = [HiveAcidRelation.create(schema="marts", identifier="a")]
    found = schemas_of(functions=functions).relations(MARTS, lambda schema: listed)
    assert [(it.identifier, str(it.type)) for it in found] == [("a", "None"), ("f", "function")]


def table(name):
    return HiveAcidRelation.create(schema="marts", identifier=name, type="table")


def test_a_table_whose_files_spark_would_lose_keeps_its_name(monkeypatch):
    renamed = []

    def lost(session, database, name, directory):
        assert directory == "file:/old"
        raise PySparkException("no such directory")

    monkeypatch.setattr(schemas, "directory_if_any", lambda _, metadata: f"file:/{metadata}")
    monkeypatch.setattr(schemas, "follow_directory", lost)
    monkeypatch.setattr(schemas, "refuse_acid_target", lambda _, schema, name: name)
    old, new = table("old"), table("new")
    with pytest.raises(DbtDatabaseError, match="no such directory"):
        schemas_of().rename(old, new, lambda *names: renamed.append(names))
    assert renamed == [(old, new), (new, old)]


def test_a_directory_that_dropping_would_leave_is_deleted(monkeypatch):
    done = []
    monkeypatch.setattr(schemas, "refuse_acid_target", lambda _, schema, name: name)
    monkeypatch.setattr(schemas, "location_apart", lambda _, metadata: f"file:/{metadata}")
    monkeypatch.setattr(schemas, "delete_directory", lambda _, location: done.append(location))
    schemas_of().drop(table("old"), done.append)
    assert done == [table("old"), "file:/old"]


def test_an_acid_table_is_neither_dropped_nor_renamed(monkeypatch):
    def refuse(session, schema, name):
        raise AcidTargetError(f"{schema}.{name} is a transactional Hive table.")

    monkeypatch.setattr(schemas, "refuse_acid_target", refuse)
    changed = []
    with pytest.raises(AcidTargetError):
        schemas_of().drop(table("orders"), changed.append)
    with pytest.raises(AcidTargetError):
        schemas_of().rename(table("orders"), table("o"), lambda *names: changed.append(names))
    assert changed == []
    acid = table("orders").replace(information="Table Properties: [a=b, transactional=true]")
    with pytest.raises(AcidTargetError):
        schemas_of().refuse_to_build(acid)
    schemas_of().refuse_to_build(table("orders"))


def test_a_table_that_spark_cannot_describe_is_neither_dropped_nor_renamed(monkeypatch):
    def fail(*_):
        raise MV

    monkeypatch.setattr(schemas, "refuse_acid_target", fail)
    changed = []
    reason = r"marts.mv is .* cannot describe: .*The 'mv' is hive materialized view. So it is not"
    with pytest.raises(UndescribedTargetError, match=reason):
        schemas_of().drop(table("mv"), changed.append)
    with pytest.raises(UndescribedTargetError, match=reason):
        schemas_of().rename(table("mv"), table("o"), lambda *names: changed.append(names))
    assert changed == []


def test_a_schema_with_a_table_that_spark_cannot_describe_is_not_dropped(monkeypatch):
    def fail(*_):
        raise MV

    monkeypatch.setattr(schemas, "refuse_acid_in_schema", fail)
    with pytest.raises(UndescribedTargetError, match="marts.mv is a table or view"):
        schemas_of(Schema(["a", "mv"], broken={"mv": MV})).refuse_acid("marts")
    with pytest.raises(DbtDatabaseError, match="materialized view"):
        schemas_of(Schema(["a"])).refuse_acid("marts")
