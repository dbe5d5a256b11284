"""The operations that a history is made of. Each becomes a step if it is possible now."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from integration.support.histories.actions import (
    AbortedSql,
    Compact,
    EndWrite,
    NoDirectory,
    OpenWrite,
    Sql,
)
from integration.support.histories.alterations import ALTERATIONS
from integration.support.histories.hives import compacts_partition, reads_aborted_bases
from integration.support.histories.shape import EXPRESSIONS, NULL, PARTITION_VALUES, literal
from integration.support.histories.table_state import NULL_PARTITION, Actions, Operation, TableState

# Each of these gives the actions of one operation, or None if it is not possible now.


def insert_values(table: TableState) -> Actions | None:
    first, last = table.numbers(table.rng.randint(1, 4))
    rows = [
        [str(i), *(literal(column.type, i + j) for j, column in enumerate(table.columns[1:]))]
        for i in range(first, last + 1)
    ]
    if table.known and table.rng.random() < 0.5:
        spec = table.specification(table.rng.choice(table.known))
        tuples = ", ".join(f"({', '.join(values)})" for values in rows)
        return (Sql(f"INSERT INTO {{table}} PARTITION ({spec}) VALUES {tuples}"),)
    for values in rows:
        values += [table.rng.choice(PARTITION_VALUES[c.type]) for c in table.shape.partition]
    tuples = ", ".join(f"({', '.join(values)})" for values in rows)
    return (Sql(f"INSERT INTO {{table}} VALUES {tuples}"),)


def insert_select(table: TableState) -> Actions | None:
    source = table.source(table.rng.randint(3, 30))
    return (Sql(f"INSERT INTO {{table}} SELECT {table.select()} FROM {source}"),)


def insert_union_all(table: TableState) -> Actions | None:
    selects = [
        f"SELECT {table.select(tag=tag)} FROM {table.source(table.rng.randint(2, 8))}"
        for tag in ("one", "two", "three")[: table.rng.choice((2, 3))]
    ]
    return (Sql(f"INSERT INTO {{table}} {' UNION ALL '.join(selects)}"),)


def multi_insert(table: TableState) -> Actions | None:
    if not table.shape.partition:
        return None  # Hive refuses two inserts into one unpartitioned table (error 10087)
    source = table.source(12)
    one, two = table.new_partition(), table.new_partition()
    if one == two:
        return None
    parts = [
        f"INSERT INTO {{table}} PARTITION ({table.specification(values)}) "
        f"SELECT {table.select(values)} WHERE n % 3 {test}"
        for values, test in ((one, "< 2"), (two, "> 0"))
    ]
    return (Sql(f"FROM {source} {' '.join(parts)}"),)


def update(table: TableState) -> Actions | None:
    if not _may_delete(table):
        return None
    if not table.shape.buckets and table.rng.random() < 0.2:
        # A key that goes and one that comes, which no other row has: new ids are from 1 up.
        return (Sql(f"UPDATE {{table}} SET id = -id - 1 WHERE {table.condition()}"),)
    column = table.rng.choice(table.columns[1:])
    value = EXPRESSIONS[column.type].replace("n", "id") if column.type == "int" else NULL
    if column.type == "string":
        value = f"concat(coalesce({column.name}, ''), '!')"
    where = "" if table.rng.random() < 0.1 else f" WHERE {table.condition()}"
    return (Sql(f"UPDATE {{table}} SET {column.name} = {value}{where}"),)


def delete_some(table: TableState) -> Actions | None:
    if not _may_delete(table):
        return None
    return (Sql(f"DELETE FROM {{table}} WHERE {table.condition()} AND id % 4 > 0"),)


def delete_partition(table: TableState) -> Actions | None:
    if not _may_delete(table) or not table.known:
        return None
    where = table.in_partition(table.rng.choice(table.known))
    return (Sql(f"DELETE FROM {{table}} WHERE {where}"),)


def delete_all(table: TableState) -> Actions | None:
    return (Sql("DELETE FROM {table}"),) if _may_delete(table) and not table.is_locked else None


def merge(table: TableState) -> Actions | None:
    if not _may_delete(table):
        return None
    first, last = table.numbers(3)
    new = " UNION ALL ".join(f"SELECT {n} AS n" for n in range(first, last + 1))
    name = table.columns[1].name
    values = ", ".join(
        ["s.n"]
        + [f"cast(NULL as {column.type})" for column in table.columns[1:]]
        + [table.rng.choice(PARTITION_VALUES[c.type]) for c in table.shape.partition]
    )
    deleted = "WHEN MATCHED AND t.id % 8 = 0 THEN DELETE " if table.rng.random() < 0.5 else ""
    return (
        Sql(
            # Distinct, since Hive refuses a source that matches a row twice.
            f"MERGE INTO {{table}} t USING (SELECT DISTINCT id AS n FROM {{table}} "
            f"WHERE id % 4 = 0 UNION ALL {new}) s ON t.id = s.n "
            f"WHEN MATCHED{' AND t.id % 8 > 0' if deleted else ''}"
            f" THEN UPDATE SET {name} = 'merged' {deleted}"
            f"WHEN NOT MATCHED THEN INSERT VALUES ({values})"
        ),
    )


def overwrite(table: TableState) -> Actions | None:
    if table.is_locked or table.shape.partition:
        return None
    if table.rng.random() < 0.5:
        return (Sql("INSERT OVERWRITE TABLE {table} SELECT * FROM {table} WHERE id % 2 = 0"),)
    return (
        Sql(f"INSERT OVERWRITE TABLE {{table}} SELECT {table.select()} FROM {table.source(9)}"),
    )


def overwrite_static(table: TableState) -> Actions | None:
    if table.is_locked or not table.shape.partition:
        return None
    values = table.new_partition()
    return (
        Sql(
            f"INSERT OVERWRITE TABLE {{table}} PARTITION ({table.specification(values)}) "
            f"SELECT {table.select(values)} FROM {table.source(5)}"
        ),
    )


def overwrite_dynamic(table: TableState) -> Actions | None:
    if table.is_locked or not table.shape.partition:
        return None
    names = ", ".join(column.name for column in table.shape.partition)
    return (
        Sql(
            f"INSERT OVERWRITE TABLE {{table}} PARTITION ({names}) "
            f"SELECT {table.select()} FROM {table.source(table.rng.randint(2, 9))}"
        ),
    )


def overwrite_empty(table: TableState) -> Actions | None:
    if table.is_locked:
        return None
    into = "{table}"
    static = None
    if table.shape.partition:
        if not table.known:
            return None
        static = table.rng.choice(table.known)
        into += f" PARTITION ({table.specification(static)})"
    select = table.select(static)
    return (
        Sql(f"INSERT OVERWRITE TABLE {into} SELECT {select} FROM {table.source(1)} WHERE n < 0"),
    )


def truncate_table(table: TableState) -> Actions | None:
    return None if table.is_locked else (Sql("TRUNCATE TABLE {table}"),)


def truncate_partition(table: TableState) -> Actions | None:
    if table.is_locked or not table.known:
        return None
    spec = table.specification(table.rng.choice(table.known))
    return (Sql(f"TRUNCATE TABLE {{table}} PARTITION ({spec})"),)


def drop_partition(table: TableState) -> Actions | None:
    if table.is_written or not table.known:
        return None
    values = table.rng.choice(table.known)
    table.dropped.append(values)
    return (Sql(f"ALTER TABLE {{table}} DROP PARTITION ({table.specification(values)})"),)


def add_partition_again(table: TableState) -> Actions | None:
    gone = [values for values in table.dropped if values not in table.partitions]
    if not gone or table.is_written:
        return None
    spec = table.specification(table.rng.choice(gone))
    return (Sql(f"ALTER TABLE {{table}} ADD PARTITION ({spec})"),)


def load_data(table: TableState) -> Actions | None:
    if table.shape.buckets or table.is_locked:
        return None  # hive.strict.checks.bucketing
    static, into = None, "{table}"
    if table.shape.partition:
        static = table.new_partition()
        into += f" PARTITION ({table.specification(static)})"
    columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
    place = f"{{scratch}}/load{table.serial}"
    source = table.source(table.rng.randint(2, 12))
    return (
        Sql("DROP TABLE IF EXISTS {table}_load"),
        Sql(
            f"CREATE EXTERNAL TABLE {{table}}_load ({columns}) {table.shape.stored} "
            f"LOCATION '{place}'"
        ),
        Sql(f"INSERT INTO {{table}}_load SELECT {table.select(static or ())} FROM {source}"),
        Sql(f"LOAD DATA INPATH '{place}' INTO TABLE {into}"),
        Sql("DROP TABLE {table}_load"),
    )


def compact_minor(table: TableState) -> Actions | None:
    if not table.shape.full_acid and table.aborted and table.writers:
        # Hive would take nothing in, and lose the rows at a time of its cleaner's choice
        # (docs/hive-quirks.md).
        return None
    return _compact(table, "minor")


def compact_major(table: TableState) -> Actions | None:
    return _compact(table, "major")


def compact_rebalance(table: TableState) -> Actions | None:
    """The first compaction of the table, or of a partition.

    Hive refuses it on bucketed and on insert-only tables. It locks out all who write.
    """
    if table.shape.buckets or not table.shape.full_acid or table.is_locked:
        return None
    # A rebalance without a write since makes a second base of the same write id. Hive's readers
    # take one of them by the order of a hash map, its cleaner removes the older one
    # (docs/hive-quirks.md).
    return _compact(table, "rebalance", unless="base_*_v*")


def _compact(table: TableState, kind: str, unless: str | None = None) -> Actions | None:
    """A compaction of a table, or of a partition, where no directory has the name `unless`."""
    values: tuple[str, ...] | None = None
    partition = None
    if table.shape.partition:
        known = [values for values in table.known if compacts_partition(table.hive, values)]
        if not known:
            return None
        values = table.rng.choice(known)
        partition = table.specification(values)
    compaction = Compact(kind, partition)
    return (compaction,) if unless is None else (NoDirectory(unless, values), compaction)


def aborted_write(table: TableState) -> Actions | None:
    # Not TRUNCATE: Hive aborts it without a report to the metastore of what it wrote, so that the
    # metastore forgets the aborted transaction and the truncation takes effect later.
    operations: list[Callable[[TableState], Actions | None]] = [insert_select, insert_values]
    operations += [update, delete_some, insert_union_all]
    if reads_aborted_bases(table.hive):
        operations += [overwrite, overwrite_static]
    table.rng.shuffle(operations)
    for operation in operations:
        actions = operation(table)
        if actions is not None:
            table.aborted = True
            return tuple(AbortedSql(action.text) for action in actions if isinstance(action, Sql))
    return None


def open_write(table: TableState) -> Actions | None:
    if len(table.writers) > 1 or table.shape.file_format != "ORC":
        return None
    partition = None
    if table.shape.partition:
        if not table.partitions:
            return None
        partition = table.rng.choice(table.partitions)
    deletes = _may_delete(table) and not table.writers and table.rng.random() < 0.5
    where = table.condition() if deletes else None
    if deletes and partition is not None:
        if NULL_PARTITION in partition:
            return None
        where = f"({where}) AND {table.in_partition(partition, whole=True)}"
    identities: tuple[int, ...] = ()
    if not table.shape.buckets:  # this writer knows no hash of buckets
        first, last = table.numbers(table.rng.randint(1, 3))
        identities = tuple(range(first, last + 1))
    if not identities and where is None:
        return None
    table.serial += 1
    table.writers[table.serial] = deletes
    return (OpenWrite(table.serial, partition, identities, where),)


def late_commit(table: TableState) -> Actions | None:
    return _end_write(table, commit=True)


def late_abort(table: TableState) -> Actions | None:
    return _end_write(table, commit=False)


def _end_write(table: TableState, commit: bool) -> Actions | None:
    if not table.writers:
        return None
    key = table.rng.choice(sorted(table.writers))
    del table.writers[key]
    table.aborted |= not commit
    return (EndWrite(key, commit),)


def _may_delete(table: TableState) -> bool:
    """Whether an update or delete is possible; it would wait for an open writer that deletes."""
    return table.shape.full_acid and table.transactional and not any(table.writers.values())


OPERATIONS: dict[str, Operation] = {
    "insert values": insert_values,
    "insert from select": insert_select,
    "insert union all": insert_union_all,
    "multi-insert": multi_insert,
    "update": update,
    "delete some rows": delete_some,
    "delete a partition's rows": delete_partition,
    "delete without where": delete_all,
    "merge": merge,
    "overwrite": overwrite,
    "overwrite a static partition": overwrite_static,
    "overwrite dynamic partitions": overwrite_dynamic,
    "overwrite with no rows": overwrite_empty,
    "truncate table": truncate_table,
    "truncate partition": truncate_partition,
    "drop partition": drop_partition,
    "add a dropped partition": add_partition_again,
    "load data": load_data,
    **ALTERATIONS,
    "minor compaction": compact_minor,
    "major compaction": compact_major,
    "aborted write": aborted_write,
    "open write": open_write,
    "late commit": late_commit,
    "late abort": late_abort,
}

QUERY_COMPACTION = os.environ.get("HISTORIES_COMPACTION") == "query"
"""Whether the compactions of histories run as queries on Tez (`HiveSettings.query_compaction`)."""

if QUERY_COMPACTION:
    OPERATIONS["rebalance compaction"] = compact_rebalance

#: What a plain table sees before it is converted.
BEFORE_CONVERSION: Sequence[str] = (
    "insert values",
    "insert from select",
    "insert union all",
    "load data",
    "add column",
)
