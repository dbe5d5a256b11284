"""What is in a schema, which may be in a catalog of its own (`lake.marts`)."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.hiveacid.relation import with_format


class SchemaMethods(SparkAdapter):
    """dbt-spark's listing and dropping of schemas, which knows one catalog only."""

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """dbt-spark's relations, under the schema's name as it was given.

        A schema may be in a catalog of its own (`lake.marts`), of which Spark's answer has only the
        last part.
        """
        try:
            relations = super().list_relations_without_caching(schema_relation)
        except DbtDatabaseError as error:
            # Iceberg's word for a schema that is yet to be made; dbt-spark knows others.
            if "Namespace does not exist" in str(error.msg):
                return []
            raise
        if "." not in str(schema_relation.schema):
            return relations
        return [
            relation.incorporate(path={"schema": schema_relation.schema})
            for relation in relations
            if relation.schema
        ]

    def _build_spark_relation_list(self, *args: Any, **kwargs: Any) -> list[BaseRelation]:
        """dbt-spark's relations; Iceberg's in Spark's session catalog are seen as such."""
        return [with_format(r) for r in super()._build_spark_relation_list(*args, **kwargs)]

    def drop_schema(self, relation: BaseRelation) -> None:
        """Drop a schema and everything in it.

        Iceberg drops an empty schema only, whatever CASCADE says.
        """
        if "." in str(relation.schema):
            for table in self.list_relations_without_caching(relation):
                self.drop_relation(table)
        super().drop_schema(relation)
