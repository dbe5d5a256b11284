"""Times behind the name of a table, which Spark evaluates."""

import pytest

from dbt.adapters.hiveacid.spark.session import SessionHandle
from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.read_options import AsOf
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.statement import parse

ORDERS = TableName("shop", "orders")


@pytest.fixture(scope="module")
def session(spark):
    """In 2024 winter time began in Chicago on 3 November, at 07:00 UTC: 01:30 came twice."""
    return SessionHandle(spark, {"spark.sql.session.timeZone": "America/Chicago"}).session


def instant(session, time):
    """The instant that a statement names."""
    statement = parse(session, f"select * from shop.orders timestamp as of {time}")
    (relation,) = (it for it in statement.relations if it.timestamp is not None)
    return ReadClauses.of(session, ORDERS, relation).as_of


@pytest.mark.parametrize(
    ("time", "in_utc"),
    [
        ("'2024-07-01 12:00:00'", "2024-07-01 17:00:00+00:00"),
        ("date'2024-07-01'", "2024-07-01 05:00:00+00:00"),
        ("timestamp'2024-11-03 01:30:00-05:00'", "2024-11-03 06:30:00+00:00"),
        ("timestamp'2024-11-03 01:30:00-06:00'", "2024-11-03 07:30:00+00:00"),
        ("'2024-11-03 01:30:00 America/Chicago'", "2024-11-03 06:30:00+00:00"),
        ("'2024-11-03T07:30:00.123456Z'", "2024-11-03 07:30:00.123456+00:00"),
        ("timestamp_micros(1730619000000000)", "2024-11-03 07:30:00+00:00"),
        ("timestamp'2024-11-03 00:30:00' + interval 2 hours", "2024-11-03 07:30:00+00:00"),
        ("timestamp_ntz'2024-07-01 12:00:00'", "2024-07-01 17:00:00+00:00"),
    ],
)
def test_a_time_keeps_its_zone(session, time, in_utc):
    assert instant(session, time) == AsOf(timestamp=in_utc)


def test_a_time_may_be_counted_back_from_now(session):
    (now,) = session.sql("select unix_micros(current_timestamp() - interval 1 day)").first()
    found = instant(session, "(current_timestamp() - interval 1 day)").timestamp
    (then,) = session.sql(f"select unix_micros(timestamp'{found}')").first()
    assert 0 <= then - now < 60_000_000


@pytest.mark.parametrize(
    ("time", "why"),
    [
        ("'noon'", "'?noon'? is no timestamp"),
        ("null", "is no timestamp"),
        ("no_such_function()", "UNRESOLVED_ROUTINE"),
        ("(select max(id) from shop.orders)", "cannot be a query"),
        ("date_add((select current_date()), 1)", "cannot be a query"),
        ("timestamp'+123456-01-01 00:00:00'", "is no timestamp"),
    ],
)
def test_what_is_no_time_is_refused(session, time, why):
    with pytest.raises(InvalidSettingError, match=why):
        instant(session, time)
