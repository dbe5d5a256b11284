"""Tables, views and functions of a schema: listing, dropping and renaming them.

A schema may be in another catalog than Spark's (`lake.marts`). dbt-spark knows only one catalog. It
handles neither transactional tables nor a metastore that disagrees with Spark on a table's
location.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError
from pyspark.sql import Row, SparkSession

from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import AdapterError, UndescribedTargetError
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.relation import HiveAcidRelation, shows_property
from dbt.adapters.hiveacid.spark.catalog import (
    CATALOG_ERRORS,
    describe_tables,
    function_names,
    table_names,
)
from dbt.adapters.hiveacid.spark.guard import refuse_acid_target
from dbt.adapters.hiveacid.spark.table_locations import (
    delete_directory,
    directory_if_any,
    follow_directory,
    location_apart,
)
from hiveacid.formatting import first_few
from hiveacid.jvm.errors import is_unreachable, short_message
from hiveacid.jvm.java_types import CatalogTable
from hiveacid.sql.catalog import identifier, session_catalog, table_metadata
from hiveacid.sql.refusals import refuse_acid_in_schema
from hiveacid.sql.stored_views import guarded_text

logger = AdapterLogger("HiveAcid")

_LOOKS = 10
"""Maximum number of listings of a schema whose tables disappear during the look-up."""

_AT_ONCE = 50
"""Maximum number of tables that one statement looks up by name."""

_UNDESCRIBED = RelationType.External
"""The type of a relation that Spark cannot describe; dbt-spark never uses this type."""


def is_undescribed(relation: BaseRelation) -> bool:
    """Return whether the relation is a table or view that Spark cannot describe."""
    return relation.type == _UNDESCRIBED


def looks_transactional(relation: BaseRelation) -> bool:
    """Return whether the text of SHOW TABLE EXTENDED may be of a transactional table."""
    return shows_property(relation, "transactional=true")


class Schemas:
    """Listings of Spark's schemas, and DROP and RENAME that protect ACID tables."""

    def __init__(
        self,
        connections: HiveAcidConnectionManager,
        project: Project,
        relation_type: type[HiveAcidRelation],
        relations_of: Callable[[Sequence[Row]], list[BaseRelation]],
    ) -> None:
        """`relations_of` turns rows of SHOW TABLE EXTENDED into relations, as dbt-spark does."""
        self._connections = connections
        self._project = project
        self._relation_type = relation_type
        self._relations_of = relations_of

    def relations(
        self, schema: BaseRelation, list_in_spark: Callable[[BaseRelation], list[BaseRelation]]
    ) -> list[BaseRelation]:
        """Return the tables and views of a schema, and the project's functions in it.

        Spark's listing fails if Spark cannot describe one of the tables. Then the tables are looked
        up by name, and a table that cannot be described is returned with its name only
        (`is_undescribed`).

        Args:
            schema: the schema. Its relations keep its name as given: for `lake.marts`, Spark
                returns only the last part. A catalog other than Spark's has no functions.
            list_in_spark: dbt-spark's listing.

        Raises:
            AdapterError: the tables change faster than they can be listed.
        """
        name = str(schema.schema)
        if "." in name:
            return self._in_other_catalog(name)
        try:
            # dbt-spark's list is also empty if a table disappears during the listing.
            relations = list_in_spark(schema) or self._found_one_by_one(name)
        except DbtDatabaseError:
            logger.debug(f"Looking the tables of {name} up by their names: Spark cannot list them")
            relations = self._found_one_by_one(name)
        taken = {relation.identifier for relation in relations}
        return [*relations, *(it for it in self._functions_in(name) if it.identifier not in taken)]

    def _in_other_catalog(self, schema: str) -> list[BaseRelation]:
        """Return the tables and views of a schema in another catalog, such as `lake.marts`.

        dbt-spark would look up their formats by names without the catalog.
        """
        try:
            relations = self._found_one_by_one(schema)
        except DbtDatabaseError as error:
            # Iceberg's message for a schema that does not exist yet.
            if "Namespace does not exist" in str(error.msg):
                return []
            raise
        return [it.incorporate(path={"schema": schema}) for it in relations if it.schema]

    def refuse_acid(self, schema: str) -> None:
        """Refuse to drop a schema of Spark's own catalog that has a transactional table.

        Raises:
            AcidTargetError: the schema has a transactional table.
            UndescribedTargetError: the schema has a table that Spark cannot describe.
        """
        with self._connections.exception_handler(f"list the tables of {schema}"):
            try:
                refuse_acid_in_schema(self._connections.session(), schema)
            except CATALOG_ERRORS:
                for relation in self._found_one_by_one(schema):
                    self.refuse_undescribed(relation)
                raise

    def refuse_to_build(self, relation: BaseRelation) -> None:
        """Refuse to replace a table that must stay, before anything is built.

        Raises:
            AcidTargetError: the table is transactional.
            UndescribedTargetError: Spark cannot describe the table.
        """
        self.refuse_undescribed(relation)
        if looks_transactional(relation):
            with self._changing(relation):
                pass

    def refuse_undescribed(self, relation: BaseRelation) -> None:
        """Refuse to build, drop or rename a table that Spark cannot describe.

        Raises:
            UndescribedTargetError: Spark cannot describe it; the message has the reason.
        """
        if is_undescribed(relation):
            raise UndescribedTargetError(
                _about_undescribed(relation, str(getattr(relation, "information", "")))
            )

    def drop(self, relation: BaseRelation, drop_in_spark: Callable[[BaseRelation], None]) -> None:
        """Drop a table with its rows, or a view.

        Raises:
            AcidTargetError: the table is transactional.
            UndescribedTargetError: Spark cannot describe the table.
        """
        with self._changing(relation) as (session, metadata):
            left_behind = location_apart(session, metadata)
        drop_in_spark(relation)
        if left_behind is not None:
            delete_directory(session, left_behind)

    def rename(
        self,
        old: BaseRelation,
        new: BaseRelation,
        rename_in_spark: Callable[[BaseRelation, BaseRelation], None],
    ) -> None:
        """Rename a table or view; afterwards Spark finds the table's rows.

        Raises:
            AcidTargetError: the table is transactional.
            UndescribedTargetError: Spark cannot describe the table.
            AdapterError: the rows cannot be found; the table has its old name again.
        """
        with self._changing(old) as (session, metadata):
            directory = directory_if_any(session, metadata)
        rename_in_spark(old, new)
        try:
            with self._connections.exception_handler(f"find the rows of {new}"):
                follow_directory(session, *_schema_and_name(new), directory)
        except BaseException:
            rename_in_spark(new, old)
            raise

    def rename_guarded_view(self, old: BaseRelation, new: BaseRelation) -> bool:
        """Rename a view over ACID tables; return whether `old` is one.

        Spark's ALTER VIEW … RENAME analyses the view, and fails on the function of its guard, which
        does not exist.
        """
        if not old.is_view:
            return False
        session = self._connections.session()
        with self._connections.exception_handler(f"rename {old} to {new}"):
            metadata = table_metadata(session, *_schema_and_name(old))
            if metadata is None or guarded_text(metadata) is None:
                return False
            names = (identifier(session, *_schema_and_name(it)) for it in (old, new))
            session_catalog(session).renameTable(*names)
        return True

    @contextmanager
    def _changing(
        self, relation: BaseRelation
    ) -> Iterator[tuple[SparkSession, CatalogTable | None]]:
        """Look up a table before it is dropped or renamed; refuse a transactional one.

        Yields the session, and the table's `CatalogTable`; None if there is no such table.
        """
        session = self._connections.session()
        with self._connections.exception_handler(f"look {relation} up in Spark's catalog"):
            try:
                metadata = refuse_acid_target(session, *_schema_and_name(relation))
            except CATALOG_ERRORS as error:
                if is_unreachable(error):
                    raise
                about = _about_undescribed(relation, short_message(error))
                raise UndescribedTargetError(about) from error
            yield session, metadata

    def _found_one_by_one(self, schema: str) -> list[BaseRelation]:
        """Return the tables and views of a schema, looked up by name, as of the last listing.

        Another run's switch renames tables. A table that is not found may have a new name, so the
        names are listed again until all are found.
        """
        session = self._connections.session()
        found: dict[str, Row] = {}
        undescribed: dict[str, str] = {}
        with self._connections.exception_handler(f"list the tables of {schema}"):
            for _ in range(_LOOKS):
                names = table_names(session, schema)
                new = sorted(names - found.keys() - undescribed.keys())
                if not new:
                    rows = [row for name, row in found.items() if name in names]
                    return [
                        *self._relations_of(rows),
                        *(
                            self._undescribed(schema, name, reason)
                            for name, reason in undescribed.items()
                            if name in names
                        ),
                    ]
                for start in range(0, len(new), _AT_ONCE):
                    some = new[start : start + _AT_ONCE]
                    rows, reasons = describe_tables(session, schema, some)
                    found.update({row.tableName: row for row in rows})
                    undescribed.update(reasons)
        raise AdapterError(
            f"The tables of {schema} cannot be listed: in each of {_LOOKS} attempts, Spark's "
            "catalog listed tables that it then did not find (in the last attempt "
            f"{first_few(new, 3)}). Run dbt again when no other run replaces tables there. If "
            "a table is always listed and never found, drop it in Hive.",
            code="HIVEACID_SCHEMA_LISTING_FAILED",
        )

    def _undescribed(self, schema: str, name: str, reason: str) -> BaseRelation:
        logger.debug(f"Spark cannot describe {schema}.{name}: {reason}")
        return self._relation_type.create(
            schema=schema, identifier=name, type=_UNDESCRIBED, information=reason
        )

    def _functions_in(self, schema: str) -> list[BaseRelation]:
        """Return the project's functions that exist; call Spark only if the project has any."""
        declared = self._project.functions_in(schema)
        if not declared:
            return []
        with self._connections.exception_handler(f"list the functions of {schema}"):
            names = function_names(self._connections.session(), schema)
        return [
            self._relation_type.create(schema=schema, identifier=name, type=RelationType.Function)
            for name in sorted(names & declared)
        ]


def _schema_and_name(relation: BaseRelation) -> tuple[str, str]:
    return str(relation.schema), str(relation.identifier)


def _about_undescribed(relation: BaseRelation, reason: str) -> str:
    return (
        f"{relation.schema}.{relation.identifier} is a table or view that Spark cannot "
        f"describe: {reason.rstrip('.')}. So it is not dropped, renamed or replaced: its rows "
        "may exist only there. Give the model, seed or snapshot of this name another `alias` "
        "or `schema`, or drop the table in Hive."
    )
