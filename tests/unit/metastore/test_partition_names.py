import pytest

from hiveacid.metastore.models import partition_name


@pytest.mark.parametrize(
    ("keys", "values", "name"),
    [
        ([], [], ""),
        (["day"], ["2026-01-01"], "day=2026-01-01"),
        # Seen on disk with Hive 4.0.1.
        (["p q"], ["a b/c=d,{e}%"], "p q=a b%2Fc%3Dd,%7Be}%25"),
        (["p q"], ["ü"], "p q=ü"),
        (["P", "q"], ["__HIVE_DEFAULT_PARTITION__", "\t"], "p=__HIVE_DEFAULT_PARTITION__/q=%09"),
    ],
)
def test_names_are_hives(keys, values, name):
    assert partition_name(keys, values) == name
