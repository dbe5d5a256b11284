"""The shapes of tables that histories are run on, and the values that rows are made of."""

from __future__ import annotations

import random
from dataclasses import dataclass

NULL = "NULL"

#: Expressions over `n`, a row's number, for each type that a column may have.
EXPRESSIONS = {
    "int": "n * 7",
    "bigint": "n * 10000000000",
    "string": "concat('row ', n)",
    "double": "n / 4",
    "decimal(10,2)": "cast(n * 1.25 as decimal(10,2))",
    "date": "date_add('2026-01-01', n)",
    "boolean": "n % 2 = 0",
    "timestamp": "cast(concat('2026-01-01 10:00:', lpad(n % 60, 2, '0')) as timestamp)",
}

#: What a partition column of a type can hold, as SQL. Each is in the form that Hive keeps.
PARTITION_VALUES = {
    "string": ("'a'", "'b c/d=1'", "'ü%'", NULL),
    "int": ("1", "-22", NULL),
    "date": ("'2026-01-01'", "'1999-12-31'", NULL),
    "decimal(6,2)": ("1.5", "-0.25", "100", NULL),
}

_PARTITIONS = (
    (),
    (),
    (("p", "string"),),
    (("p", "int"),),
    (("p", "date"),),
    (("p", "decimal(6,2)"),),
    (("p", "string"), ("q", "int")),
    (("p", "date"), ("q", "string")),
)

_DELIMITED = "TEXTFILE with its own delimiters"
_INSERT_ONLY_FORMATS = ("ORC", "ORC", "TEXTFILE", _DELIMITED, "PARQUET", "AVRO", "JSONFILE")


def literal(hive_type: str, number: int) -> str:
    """A value of a column as it may stand in VALUES."""
    if number % 4 == 0:
        return NULL
    return {
        "int": str(number),
        "bigint": str(number * 10000000000),
        "string": f"'value {number}'",
        "double": f"{number}.5",
        "decimal(10,2)": f"{number}.25",
        "date": "'2026-02-03'",
        "boolean": "true",
        "timestamp": "'2026-02-03 04:05:06.789'",
    }[hive_type]


@dataclass(frozen=True)
class Column:
    """A column's name and Hive type."""

    name: str
    type: str


@dataclass(frozen=True)
class Shape:
    """What a table is when it is created. `converted` ones get their first rows before that."""

    full_acid: bool
    file_format: str
    partition: tuple[Column, ...]
    buckets: int
    converted: bool
    direct_insert: bool
    stripe_rows: int | None = None
    """Rows of a stripe of ORC at most, in batches of 1024; by default a stripe has 64 MB."""

    @classmethod
    def choose(cls, rng: random.Random) -> Shape:
        """A shape of the seed's choice; two in three are full ACID."""
        full_acid = rng.random() < 0.67
        return cls(
            full_acid=full_acid,
            file_format="ORC" if full_acid else rng.choice(_INSERT_ONLY_FORMATS),
            partition=tuple(Column(*column) for column in rng.choice(_PARTITIONS)),
            buckets=rng.choice((0, 0, 2, 3)),
            converted=rng.random() < 0.35,
            direct_insert=rng.random() < 0.7,
        )

    @property
    def allows_most(self) -> bool:
        """Whether all operations are possible, but those that only tables with partitions have, or
        only tables without."""
        return self.full_acid and not self.buckets

    @property
    def stored(self) -> str:
        """The clause that says how the rows are stored."""
        if self.file_format != _DELIMITED:
            return f"STORED AS {self.file_format}"
        # Spaces are in the rows' texts, too.
        delimiters = "FIELDS TERMINATED BY ' ' ESCAPED BY '\\\\' NULL DEFINED AS 'none'"
        return f"ROW FORMAT DELIMITED {delimiters} STORED AS TEXTFILE"

    @property
    def columns_change(self) -> bool:
        """Whether Hive lets the columns change, and shows all rows afterwards.

        It refuses any change of the columns of JSON. In a Parquet partition that is older than the
        change its filters lose rows, and its reader may fail.
        """
        if self.file_format == "PARQUET":
            return not self.partition
        return self.file_format != "JSONFILE"

    @property
    def name(self) -> str:
        """A few words, for counting."""
        parts = ["full ACID" if self.full_acid else f"insert-only {self.file_format}"]
        if self.partition:
            parts.append("partitioned by " + ", ".join(column.type for column in self.partition))
        if self.buckets:
            parts.append("bucketed")
        if self.converted:
            parts.append("converted")
        if not self.direct_insert:
            parts.append("no direct insert")
        return ", ".join(parts)

    def create(self, columns: list[Column]) -> str:
        """The statement that creates `{table}`."""
        partitioned = f" PARTITIONED BY ({_listed(self.partition)})" if self.partition else ""
        bucketed = f" CLUSTERED BY (id) INTO {self.buckets} BUCKETS" if self.buckets else ""
        properties = "'transactional'='false'" if self.converted else self._properties
        if self.stripe_rows is not None:
            properties += f", 'orc.stripe.row.count'='{self.stripe_rows}'"
        return (
            f"CREATE TABLE {{table}} ({_listed(columns)}){partitioned}{bucketed} "
            f"{self.stored} TBLPROPERTIES ({properties})"
        )

    @property
    def convert(self) -> str:
        """The statement that makes a plain table transactional."""
        return f"ALTER TABLE {{table}} SET TBLPROPERTIES ({self._properties})"

    @property
    def _properties(self) -> str:
        # Hive must compact only when the history says so.
        kind = "" if self.full_acid else "'transactional_properties'='insert_only', "
        return f"'transactional'='true', {kind}'NO_AUTO_COMPACTION'='true'"


def _listed(columns: list[Column] | tuple[Column, ...]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
