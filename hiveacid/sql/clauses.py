"""Clauses behind the name of a transactional table: which part of it, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass

from hiveacid.errors import InvalidSettingError
from hiveacid.formatting import text_literal
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.sql.statement import Relation

OPTIONS = ("partitions", "static")
"""Options that `with (…)` takes."""


@dataclass(frozen=True)
class ReadClauses:
    """How a statement reads one of its transactional tables.

    `static` says that the table hardly changes: a model over changes of another table may read it.
    """

    partitions: PartitionChoice = PartitionChoice()
    static: bool = False

    @classmethod
    def of(cls, table: TableName, relation: Relation) -> ReadClauses:
        """Read the clauses of a relation.

        Raises:
            InvalidSettingError: naming the table and everything that is wrong.
        """
        problems = [
            f"unknown option {key!r}" for key in sorted(relation.options) if key not in OPTIONS
        ]
        if relation.version is not None or relation.timestamp is not None:
            problems.append("earlier versions cannot be read yet")
        if relation.is_stream:
            problems.append("it cannot be read as a stream")
        partitions, static = PartitionChoice(), relation.options.get("static", "false").lower()
        if static not in ("true", "false"):
            problems.append(f"static must be true or false, not {static!r}")
        try:
            partitions = PartitionChoice.from_json(relation.options.get("partitions", "{}"))
        except ValueError as error:
            problems.append(f"partitions must be a JSON object of values, but {error}")
        if problems:
            raise InvalidSettingError(
                f"The statement cannot read {table} so: {'; '.join(problems)}. Options of `with "
                f"(…)` are: {', '.join(OPTIONS)}."
            )
        return cls(partitions, static == "true")

    def options(self) -> dict[str, str]:
        """Return the options of the `with (…)` clause that says the same."""
        options = {}
        if self.partitions:
            options["partitions"] = self.partitions.to_json()
        if self.static:
            options["static"] = "true"
        return options


def render_options(options: dict[str, str]) -> str:
    """Return a `with (…)` clause, with a space before it; empty without options."""
    if not options:
        return ""
    shown = ", ".join(f"{key} = {text_literal(text)}" for key, text in sorted(options.items()))
    return f" with ({shown})"
