"""A connection and a manifest without Spark and without dbt."""

from contextlib import contextmanager
from types import SimpleNamespace

from dbt_common.exceptions import DbtDatabaseError
from pyspark.errors import PySparkException


class Connections:
    """A connection manager over one session, which words Spark's errors as dbt's."""

    def __init__(self, session=None):
        self.session = lambda: session

    @contextmanager
    def exception_handler(self, sql):
        try:
            yield
        except PySparkException as error:
            raise DbtDatabaseError(f"{error} while running {sql}") from error


def source(schema, identifier, **more):
    return SimpleNamespace(
        schema=schema,
        identifier=identifier,
        source_name=schema,
        name=identifier,
        **{"config": {}, "meta": {}, **more},
    )


def node(schema, identifier, is_relational=True, is_ephemeral_model=False):
    return SimpleNamespace(
        schema=schema,
        identifier=identifier,
        is_relational=is_relational,
        is_ephemeral_model=is_ephemeral_model,
    )


def manifest(sources=(), nodes=(), functions=()):
    return SimpleNamespace(
        sources=dict(enumerate(sources)),
        nodes=dict(enumerate(nodes)),
        functions=dict(enumerate(functions)),
    )
