"""Values in Parquet that Spark's reader would take for others, or show otherwise, than Hive."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from hiveacid.errors import UnreadableTableError
from integration.support.differential import Differential
from integration.support.hive import HiveClient
from integration.support.tables import INSERT_ONLY

#: Columns as other engines write them, at the edges of the table's types.
NUMBERS = {
    "i16": (pyarrow.int16(), [300, -129]),
    "i32": (pyarrow.int32(), [127, -32769]),
    "i64": (pyarrow.int64(), [32767, 2**33 + 5]),
    "u8": (pyarrow.uint8(), [127, 200]),
    "u16": (pyarrow.uint16(), [5, 40000]),
    "d9": (pyarrow.decimal128(9, 2), [Decimal("12.00"), Decimal("-12.50")]),
    "d18": (pyarrow.decimal128(18, 2), [Decimal("-12.00"), Decimal("30000000000.00")]),
    "whole": (pyarrow.decimal128(9, 0), [Decimal(300), Decimal(-7)]),
}


@pytest.mark.parametrize("as_integer", [False, True], ids=["bytes", "integers"])
def test_numbers_of_other_engines(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
    as_integer: bool,
) -> None:
    """Numbers without room are NULL, and decimals are not their digits; also by a filter."""
    path = tmp_path / "numbers.parquet"
    values = {name: pyarrow.array(values, type_) for name, (type_, values) in NUMBERS.items()}
    pyarrow.parquet.write_table(pyarrow.table(values), path, store_decimal_as_integer=as_integer)
    # Hive fails on a text from a decimal that is stored as an integer.
    wanted = ("tinyint", "smallint", "int", "bigint", *(() if as_integer else ("string",)))
    for hive_type in wanted:
        table = f"{database}.as_{hive_type}"
        columns = ", ".join(f"{name} {hive_type}" for name in NUMBERS)
        hive_client.execute(
            f"CREATE TABLE {table} ({columns}) STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
        )
        hive_client.execute(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {table}")
        # Not on d9: Hive compares 12 with the statistics of its digits, and finds no row.
        differential.check(table, where="u8 = 127")


def test_unsigned_integers_are_refused(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Hive shows NULL for those above the greatest signed one."""
    table, path = f"{database}.unsigned", tmp_path / "unsigned.parquet"
    large = pyarrow.array([5, 2**32 - 1], pyarrow.uint32())
    # No column of the table: Spark has no type for it.
    other = pyarrow.array([1, 2], pyarrow.time32("ms"))
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2], "n": large, "other": other}), path)
    hive_client.execute(
        f"CREATE TABLE {table} (id bigint) STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {table}")
    differential.check(table)
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (n bigint)")
    assert hive_client.query(f"SELECT n FROM {table}") == [(5,), (None,)]
    with pytest.raises(UnreadableTableError, match="has unsigned integers for column n, which is"):
        differential.read(table)


def test_byte_stream_split(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Spark's vectorized reader does not decode it."""
    table, path = f"{database}.split", tmp_path / "split.parquet"
    values = {"id": [1, 2, 3], "f": pyarrow.array([1.5, None, -0.25], pyarrow.float32())}
    values |= {"d": [0.1, 1e300, None]}
    pyarrow.parquet.write_table(
        pyarrow.table(values), path, use_dictionary=False, use_byte_stream_split=["f", "d"]
    )
    hive_client.execute(
        f"CREATE TABLE {table} (id bigint, f float, d double) STORED AS PARQUET "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (4, 2.5, 3.5)")
    hive_client.execute(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {table}")
    assert len(differential.check(table, where="d > 1").rows) == 4


def test_decimals_that_became_texts(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.texts"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a decimal(10,2), b decimal(38,18), c decimal(20,10)) "
        f"STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 0, 0, 0), (2, -1.50, -1e-18, 1e-10), "
        "(3, 100, 12345678901234567890.5, -1e-7), (4, -0.05, -100, 10.0000000001)"
    )
    for name in "abc":
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {name} {name} string")
    differential.check(table, where="b = '0' OR c = '-0.0000001'")
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN b b varchar(6)")
    differential.check(table)


def test_old_times_whatever_the_calendar_of_dates(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """With the flag Hive counts the days of dates in the Gregorian calendar, and no timestamps'."""
    table = f"{database}.gregorian"
    flag = "hive.parquet.date.proleptic.gregorian"
    hive_client.execute(
        f"CREATE TABLE {table} (d date, at timestamp) STORED AS PARQUET "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    days = ("0001-01-01", "1500-03-01", "1582-10-10", "2020-01-01")
    rows = ", ".join(f"('{day}', '{day} 12:00:00.5')" for day in days)
    for value in ("true", "false"):
        hive_client.execute(f"SET {flag}={value}")
        hive_client.execute(f"INSERT INTO {table} VALUES {rows}")
    shown = ["cast(d AS string)", "cast(at AS string)"]
    differential.check_columns(table, shown, ["UTC", "America/New_York"])
