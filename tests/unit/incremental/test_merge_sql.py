import pytest

from dbt.adapters.hiveacid.incremental import merge_sql

TARGET = merge_sql.Target("db.t", (("id", "int"), ("order by", "decimal(5,2)")))


def test_columns_are_found_in_any_case_and_quoted():
    assert TARGET.names("s") == "s.`id`, s.`order by`"
    assert merge_sql.quote("a`b") == "`a``b`" and merge_sql.quote("`a`") == "`a`"


def test_a_merge_by_key_removes_keys_that_no_insert_has():
    sql = merge_sql.merge_by_key(TARGET, "db.s", ["id"], None, [])
    assert sql.splitlines() == [
        "merge into db.t as DBT_INTERNAL_DEST",
        "using (",
        "  select * from db.s where _hiveacid_change = 'insert'",
        "  union all",
        "  select d.* from db.s d left anti join",
        "    (select * from db.s where _hiveacid_change = 'insert') i on d.`id` <=> i.`id`",
        "  where d._hiveacid_change = 'delete'",
        ") as DBT_INTERNAL_SOURCE",
        "on (DBT_INTERNAL_SOURCE.`id` <=> DBT_INTERNAL_DEST.`id`)",
        "when matched and DBT_INTERNAL_SOURCE._hiveacid_change = 'delete' then delete",
        "when matched then update set `id` = DBT_INTERNAL_SOURCE.`id`, "
        "`order by` = DBT_INTERNAL_SOURCE.`order by`",
        "when not matched and DBT_INTERNAL_SOURCE._hiveacid_change = 'insert' then",
        "  insert (`id`, `order by`) values "
        "(DBT_INTERNAL_SOURCE.`id`, DBT_INTERNAL_SOURCE.`order by`)",
    ]


def test_predicates_and_columns_to_update_are_the_models():
    sql = merge_sql.merge_by_key(
        TARGET, "db.s", ["id", "day"], ["`order by`"], ["DBT_INTERNAL_DEST.id > 1"]
    )
    assert (
        "on (DBT_INTERNAL_DEST.id > 1) and (DBT_INTERNAL_SOURCE.`id` <=> DBT_INTERNAL_DEST.`id` "
        "and DBT_INTERNAL_SOURCE.`day` <=> DBT_INTERNAL_DEST.`day`)\n" in sql
    )
    assert "update set `order by` = DBT_INTERNAL_SOURCE.`order by`\n" in sql


@pytest.mark.parametrize(
    "predicate",
    [
        "DBT_INTERNAL_DEST.day > 1",
        "DBT_INTERNAL_DEST.id > DBT_INTERNAL_SOURCE.ID",
        "dbt_internal_source . `order by`.part = 1 and `DBT_INTERNAL_SOURCE`.`id` < 3",
    ],
)
def test_a_delete_has_what_a_predicate_on_the_key_asks_for(predicate):
    assert merge_sql.passed_by_deletes(predicate, ["id", "`order by`"]) == predicate


@pytest.mark.parametrize("column", ["day", "`day`", " . day", "Day.part"])
def test_a_predicate_on_another_column_holds_no_delete_back(column):
    column = column if column.startswith(" ") else f".{column}"
    predicate = f"DBT_INTERNAL_DEST.id = 1 and DBT_INTERNAL_SOURCE{column} = 1"
    passed = f"DBT_INTERNAL_SOURCE._hiveacid_change = 'delete' or ({predicate})"
    assert merge_sql.passed_by_deletes(predicate, ["id"]) == passed


def test_a_merge_may_update_nothing():
    sql = merge_sql.merge_by_key(TARGET, "db.s", ["id"], [], [])
    assert "update set" not in sql
    assert "then delete\nwhen not matched and" in sql


def test_a_merge_by_row_id_matches_deletes_only():
    sql = merge_sql.merge_by_row_id(TARGET, "db.s", "_row_id", [])
    assert (
        "on (DBT_INTERNAL_SOURCE._hiveacid_change = 'delete') and "
        "(DBT_INTERNAL_SOURCE._row_id = DBT_INTERNAL_DEST._row_id)\n" in sql
    )


@pytest.mark.parametrize(
    ("is_upsert", "condition"), [(True, ""), (False, " where _hiveacid_change = 'delete'")]
)
def test_a_new_version_keeps_the_rows_that_no_change_names(is_upsert, condition):
    sql = merge_sql.rewritten(TARGET, "db.s", ["id"], is_upsert=is_upsert)
    assert sql.splitlines() == [
        "select t.`id`, t.`order by` from db.t t",
        f"left anti join (select distinct `id` from db.s{condition}) s",
        "on s.`id` <=> t.`id`",
        "union all",
        "select cast(s.`id` as int) as `id`, cast(s.`order by` as decimal(5,2)) as `order by` "
        "from db.s s where s._hiveacid_change = 'insert'",
    ]


def test_columns_that_new_rows_do_not_have():
    target = merge_sql.Target(TARGET.name, TARGET.columns, missing=frozenset({"order by"}))
    merge = merge_sql.merge_by_key(target, "db.s", ["id"], None, [])
    assert "then update set `id` = DBT_INTERNAL_SOURCE.`id`\n" in merge
    assert merge.endswith("insert (`id`) values (DBT_INTERNAL_SOURCE.`id`)")
    assert merge_sql.merge_by_row_id(target, "db.s", "_row_id", []).endswith(
        "insert (`id`) values (DBT_INTERNAL_SOURCE.`id`)"
    )
    assert merge_sql.append(target, "db.s") == (
        "insert into db.t (`id`, `order by`)\n"
        "select cast(s.`id` as int) as `id`, cast(null as decimal(5,2)) as `order by` "
        "from db.s s where s._hiveacid_change = 'insert'"
    )
    rewritten = merge_sql.rewritten(target, "db.s", ["id"], is_upsert=True)
    assert rewritten.startswith("select t.`id`, t.`order by` from db.t t\n")
    # As in the MERGE, an updated row keeps what it has.
    assert rewritten.endswith(
        "union all\n"
        "select cast(s.`id` as int) as `id`, t.`order by` as `order by` from db.s s\n"
        "left join db.t t on s.`id` <=> t.`id`\n"
        "where s._hiveacid_change = 'insert'"
    )
    assert "cast(null as" in merge_sql.rewritten(target, "db.s", ["_row_id"], is_upsert=False)
