"""What is in a schema, which may be in a catalog of its own (`lake.marts`), and changing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from pyspark.sql import Row, SparkSession

from dbt.adapters.hiveacid.relation import with_format
from dbt.adapters.hiveacid.spark.guard import refuse_acid_in_schema, refuse_acid_target
from dbt.adapters.hiveacid.spark.sql import text_literal
from dbt.adapters.hiveacid.spark.table_locations import (
    delete_directory,
    directory_if_any,
    follow_directory,
    location_apart,
)
from hiveacid.formatting import first_few, quoted
from hiveacid.jvm.errors import unless_missing

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
    from dbt.adapters.hiveacid.node_context import NodeContext


_LOOKS = 10
"""Looks at a schema of which tables go while they are looked up."""

_AT_ONCE = 50
"""So many tables are looked up by their names in one statement."""


class SchemaMethods(SparkAdapter):
    """dbt-spark's listing, dropping and renaming.

    dbt-spark knows one catalog only, and neither transactional tables nor a metastore that keeps
    tables elsewhere than Spark does.
    """

    connections: HiveAcidConnectionManager
    _handle: Callable[[], NodeContext]

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """dbt-spark's relations, under the schema's name as it was given, and functions.

        A schema may be in a catalog of its own (`lake.marts`), of which Spark's answer has only the
        last part. Of functions, those of the project are listed; no such catalog has any.

        Raises:
            DbtRuntimeError: the tables change faster than they can be listed.
        """
        try:
            # dbt-spark's list is empty, too, if any table goes while Spark makes it.
            relations = super().list_relations_without_caching(schema_relation) or (
                self._found_one_by_one(str(schema_relation.schema))
            )
        except DbtDatabaseError as error:
            # Iceberg's word for a schema that is yet to be made; dbt-spark knows others.
            if "Namespace does not exist" in str(error.msg):
                return []
            raise
        if "." not in str(schema_relation.schema):
            taken = {relation.identifier for relation in relations}
            functions = self._functions_in(str(schema_relation.schema))
            return [*relations, *(it for it in functions if it.identifier not in taken)]
        return [
            relation.incorporate(path={"schema": schema_relation.schema})
            for relation in relations
            if relation.schema
        ]

    def _found_one_by_one(self, schema: str) -> list[BaseRelation]:
        """The tables and views that have these names at one moment, the last look at the names.

        Another run's switch renames tables: a name that is not found is no longer there, but its
        table may by now have another name, so that the names are asked for once more.
        """
        session = self._handle().session
        found: dict[str, Row] = {}
        with self.connections.exception_handler(f"list the tables of {schema}"):
            for _ in range(_LOOKS):
                names = _table_names(session, schema)
                new = sorted(names - found.keys())
                if not new:
                    rows = [row for name, row in found.items() if name in names]
                    return self._build_spark_relation_list(rows, self._get_relation_information)
                for start in range(0, len(new), _AT_ONCE):
                    rows = _look_up(session, schema, new[start : start + _AT_ONCE])
                    found.update({row.tableName: row for row in rows})
        raise DbtRuntimeError(
            f"The tables of {schema} cannot be listed: each of the {_LOOKS} times, Spark's catalog "
            f"named some that it did not find then (the last time {first_few(new, 3)}). Run again "
            "when no other run replaces tables there. A table that is always named and never "
            "found is broken: drop it in Hive."
        )

    def _functions_in(self, schema: str) -> list[BaseRelation]:
        """The project's functions that are there; Spark is asked only if the project has any."""
        declared = {
            function.alias.lower()
            for function in getattr(self.get_macro_resolver(), "functions", {}).values()
            if function.schema.lower() == schema.lower()
        }
        if not declared:
            return []
        session = self._handle().session
        with self.connections.exception_handler(f"list the functions of {schema}"):
            listed = unless_missing(
                lambda: session.sql(f"show user functions in {quoted(schema)}").collect()
            )
        names = {row[0].rpartition(".")[2] for row in listed or ()}
        return [
            self.Relation.create(schema=schema, identifier=name, type=RelationType.Function)
            for name in sorted(names & declared)
        ]

    def _build_spark_relation_list(self, *args: Any, **kwargs: Any) -> list[BaseRelation]:
        """dbt-spark's relations; Iceberg's in Spark's session catalog are seen as such."""
        return [with_format(r) for r in super()._build_spark_relation_list(*args, **kwargs)]

    def drop_schema(self, relation: BaseRelation) -> None:
        """Drop a schema and everything in it.

        Iceberg drops an empty schema only, whatever CASCADE says.

        Raises:
            AcidTargetError: a transactional table is in it; nothing has been dropped.
        """
        if "." in str(relation.schema):
            for table in self.list_relations_without_caching(relation):
                self.drop_relation(table)
        else:
            with self.connections.exception_handler(f"list the tables of {relation.schema}"):
                refuse_acid_in_schema(self._handle().session, str(relation.schema))
        super().drop_schema(relation)

    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a table or view, and its rows. Raises AcidTargetError for a transactional table."""
        with self._changing(relation) as session:
            left_behind = location_apart(session, *_schema_and_name(relation))
        super().drop_relation(relation)
        if left_behind is not None:
            delete_directory(session, left_behind)

    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Rename a table or view; its rows stay where Spark finds them.

        Raises AcidTargetError for a transactional table.
        """
        with self._changing(from_relation) as session:
            former = directory_if_any(session, *_schema_and_name(from_relation))
        super().rename_relation(from_relation, to_relation)
        try:
            with self.connections.exception_handler(f"find the rows of {to_relation}"):
                follow_directory(session, *_schema_and_name(to_relation), former)
        except BaseException:
            super().rename_relation(to_relation, from_relation)
            raise

    @contextmanager
    def _changing(self, relation: BaseRelation) -> Iterator[SparkSession]:
        """Look at a table that is to be dropped or renamed; refuses a transactional one."""
        session = self._handle().session
        with self.connections.exception_handler(f"look {relation} up in Spark's catalog"):
            refuse_acid_target(session, *_schema_and_name(relation))
            yield session


def _table_names(session: SparkSession, schema: str) -> set[str]:
    listed = unless_missing(lambda: session.sql(f"show tables in {schema}").collect())
    return {row.tableName for row in listed or () if not row.isTemporary}


def _look_up(session: SparkSession, schema: str, names: Sequence[str]) -> list[Row]:
    """What SHOW TABLE EXTENDED has of those names that are there.

    It fails if one is not, so that the others are looked up without it.
    """
    statement = f"show table extended in {schema} like {text_literal('|'.join(names))}"
    rows = unless_missing(lambda: session.sql(statement).collect())
    if rows is not None:
        return [row for row in rows if not row.isTemporary]
    if len(names) == 1:
        return []
    half = len(names) // 2
    first, second = names[:half], names[half:]
    return [*_look_up(session, schema, first), *_look_up(session, schema, second)]


def _schema_and_name(relation: BaseRelation) -> tuple[str, str]:
    return str(relation.schema), str(relation.identifier)
