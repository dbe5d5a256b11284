from datetime import datetime, timezone

import numpy as np
import pytest

from hiveacid.errors import InvalidSettingError
from hiveacid.snapshots.read_options import AsOf, ReadKind


def test_an_instant_is_a_write_id_or_a_time():
    assert AsOf.of(None, None) is None
    assert AsOf.of(0, None) == AsOf(0) and str(AsOf(17)) == "write id 17"
    assert str(AsOf.of(None, "2026-01-31")) == "timestamp '2026-01-31'"


def test_a_write_id_of_numpy_is_one():
    found = AsOf.of(np.int64(17), None)
    assert found == AsOf(17) and type(found.version) is int


def test_a_datetime_keeps_its_zone():
    naive = datetime(2026, 1, 31, 12, 0, 1)
    assert AsOf.of(None, naive) == AsOf(timestamp="2026-01-31 12:00:01")
    aware = naive.replace(tzinfo=timezone.utc)
    assert AsOf.of(None, aware) == AsOf(timestamp="2026-01-31 12:00:01+00:00")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, "2026-01-31"), "not of both or none: 1, '2026-01-31'"),
        (("1", None), "must be a write id, a whole number, not '1'"),
        ((True, None), "must be a write id, a whole number, not True"),
        ((None, 20260131), "must be a text or a datetime, not 20260131"),
    ],
)
def test_wrong_instants_are_refused(arguments, message):
    with pytest.raises(InvalidSettingError, match=message):
        AsOf.of(*arguments)


def test_kinds_of_read():
    assert ReadKind.parse(None) is ReadKind.parse("snapshot") is ReadKind.SNAPSHOT
    assert ReadKind.parse("optimized") is ReadKind.OPTIMIZED
    with pytest.raises(InvalidSettingError) as error:
        ReadKind.parse("base")
    assert error.value.message == (
        "'base' is not a kind of read. Allowed kinds: 'snapshot', 'optimized'."
    )
