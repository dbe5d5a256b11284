from pyspark.sql import Row

from dbt.adapters.hiveacid.incremental.stage import (
    KeyPart,
    by_key,
    by_row,
    key_parts,
    row_id_parts,
    summary,
)

TYPES = {"id": "bigint", "day": "date", "name": "string", "price": "decimal(5,2)", "x": "double"}


def test_bounds_are_asked_for_where_a_literal_says_them_exactly():
    parts = key_parts(["ID", "day", "name", "price", "x", "unknown"], TYPES)
    assert [part.sql for part in parts] == ["`ID`", "`day`", "`name`"]


def test_a_keys_changes_are_counted_once_a_key():
    sql = by_key("db.s", ["id", "a`b"], [KeyPart("`id`", "int")])
    assert "count_if(_hiveacid_inserts = 0) as deletes" in sql
    assert "min(`id`) as low_0, max(`id`) as high_0, count_if(`id` is null) as nulls_0" in sql
    assert sql.endswith("from db.s\n  group by `id`, `a``b`)")


def test_dates_are_bounded_in_any_year():
    assert "cast(min(`day`) as string) as low_0" in by_key("s", ["day"], key_parts(["day"], TYPES))


def test_bounds_of_texts_are_asked_for_byte_by_byte():
    sql = by_key("s", ["name"], key_parts(["name"], TYPES))
    assert "hex(min(`name`)) as low_0, hex(max(`name`)) as high_0" in sql
    assert "count_if(format_string('%s', `name`) <> `name`) as broken_0" in sql


def test_row_ids_have_bounds_of_the_deletes_only():
    sql = by_row("db.s", row_id_parts("_row_id"))
    deletes = "filter (where _hiveacid_change = 'delete')"
    assert f"max(_row_id.row) {deletes} as high_2" in sql
    assert " as low_" not in by_row("db.s", [])


def test_predicates_hold_for_every_key_among_the_changes():
    parts = key_parts(["id", "day", "name"], TYPES)
    row = Row(
        inserts=2,
        deletes=1,
        times=1,
        repeated=Row(id=1, day=None, name="n"),
        low_0=-5,
        high_0=7,
        nulls_0=0,
        low_1=None,
        high_1=None,
        nulls_1=3,
        low_2="612762",
        high_2="24",
        nulls_2=1,
        broken_2=0,
    )
    found = summary(row, parts)
    assert (found.inserts, found.deletes, found.repeated) == (2, 1, None)
    assert found.predicates == (
        "DBT_INTERNAL_DEST.`id` between -5L and 7L",
        "DBT_INTERNAL_DEST.`day` is null",
        "(DBT_INTERNAL_DEST.`name` between cast(X'612762' as string) and cast(X'24' as string) "
        "or DBT_INTERNAL_DEST.`name` is null)",
    )
    dates = KeyPart("`day`", "date").predicate("2026-01-02", "2026-03-04", False)
    assert dates == "DBT_INTERNAL_DEST.`day` between date'2026-01-02' and date'2026-03-04'"


def test_texts_that_are_not_utf_8_have_no_bounds():
    row = Row(inserts=1, deletes=0, low_0="61", high_0="FF", nulls_0=0, broken_0=1)
    assert summary(row, key_parts(["name"], TYPES)).predicates == ()


def test_an_empty_stage_has_nothing():
    parts = key_parts(["id"], TYPES)
    row = Row(inserts=0, deletes=0, times=None, repeated=None, low_0=None, high_0=None, nulls_0=0)
    assert summary(row, parts).predicates == ()


def test_a_key_of_several_inserts_is_told():
    row = Row(inserts=3, deletes=0, times=2, repeated=Row(id=None, name="n"))
    assert summary(row, []).repeated == ({"id": None, "name": "n"}, 2)
