"""A model that needs more than single changed rows is refused, before its target is wrong."""

from __future__ import annotations

import pytest

from integration.support.dbt_project import node_results
from integration.support.differential import canonical
from integration.support.incremental import Incremental

_CONFIG = "materialized='incremental', incremental_strategy='acid_changes', unique_key='{key}'"
_CHANGES = "{{ acid_changes(source('shop', 'part')) }}"

_NEWEST = f"""
select day, id, v
from (
    select *, row_number() over (partition by day order by id desc) as rn
    from {_CHANGES}
) x
where rn = 1"""
_COUNTED = f"select count(*) as n, max(id) as id from {_CHANGES}"

_REFUSED = (
    "[HIVEACID_CHANGES_NOT_ROW_WISE] Model {model} reads acid_changes of {database}.part through "
    "{operator} in the compiled SQL, which needs unchanged rows, too. Later runs see changed rows "
    "only, so the target would be wrong. Make the model `materialized: table`, or set "
    "`acid_changes_row_wise: assume` if each row comes from one row of the table."
)


def _model(sql: str, key: str = "id", config: str = "") -> str:
    return f"{{{{ config({_CONFIG.format(key=key)}{config}) }}}}{sql}"


@pytest.fixture
def parts(incremental: Incremental) -> Incremental:
    """A table of parts, and a table of names that does not change."""
    incremental.hive.script(
        """
        CREATE TABLE part (id int, day string, v int, tags array<string>) STORED AS ORC
          TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
        INSERT INTO part SELECT 2, 'mon', 20, array('a', 'b');
        INSERT INTO part SELECT 3, 'tue', 30, array('c');
        CREATE EXTERNAL TABLE names (day string, name string) STORED AS ORC;
        INSERT INTO names VALUES ('mon', 'Monday'), ('wed', 'Wednesday');
        """
    )
    incremental.project.sources("part", "names")
    return incremental


def _errors(incremental: Incremental, *arguments: str) -> dict[str, str]:
    """The errors of a run by their models, without the line that dbt puts before them."""
    result = incremental.project.invoke("run", *arguments)
    return {
        node.node.name: " ".join(str(node.message).split("\n", 1)[1].split())
        for node in node_results(result)
        if str(node.status) == "error"
    }


def test_a_model_that_compares_rows_is_refused_from_the_first_run_on(parts: Incremental) -> None:
    parts.project.models(newest=_model(_NEWEST, "day"), counted=_model(f"\n{_COUNTED}"))
    expected = {
        "newest": _REFUSED.format(
            model="newest",
            database=parts.database,
            operator="row_number() window (line 4, pos 14)",
        ),
        "counted": _REFUSED.format(
            model="counted",
            database=parts.database,
            operator="count() without GROUP BY (line 2, pos 7)",
        ),
    }
    for arguments in ([], ["--full-refresh"], ["--empty"]):
        assert _errors(parts, *arguments) == expected
    catalog = parts.spark.newSession().catalog
    assert not any(catalog.tableExists(parts.table(name)) for name in expected)

    # A target that is there stays as it is.
    parts.project.models(newest=_model(f"\nselect day, id, v from {_CHANGES}", "day"))
    parts.run("--select", "newest")
    before = parts.rows("newest", "day, id, v")
    parts.project.models(newest=_model(_NEWEST, "day"))
    parts.hive.execute("INSERT INTO part SELECT 1, 'mon', 10, array('d')")
    assert _errors(parts, "--select", "newest") == {"newest": expected["newest"]}
    assert parts.rows("newest", "day, id, v") == before

    # Why: with the author's word for it, the late row takes the place of the newest one.
    assume = ", acid_changes_row_wise='assume'"
    parts.project.models(
        newest=_model(_NEWEST, "day", assume), counted=_model(f"\n{_COUNTED}", config=assume)
    )
    parts.run("--full-refresh")
    assert parts.rows("newest", "day, id") == [("mon", "2"), ("tue", "3")]
    parts.hive.execute("INSERT INTO part SELECT 0, 'mon', 0, array('e')")
    parts.run()
    assert parts.rows("newest", "day, id") == [("mon", "0"), ("tue", "3")]
    assert parts.rows("counted", "n, id") == [("1", "0"), ("3", "3")]


def test_row_wise_models_of_many_shapes_follow_their_source(parts: Incremental) -> None:
    names = "{{ source('shop', 'names') }}"
    queries = {
        "filtered": "SELECT id, v * 2 AS twice FROM {part} WHERE v > 10",
        "exploded": "SELECT id, tag FROM {part} LATERAL VIEW explode(tags) t AS tag",
        "joined": "SELECT p.id, n.name FROM {part} p LEFT JOIN {names} n ON n.day = p.day",
        "known": "SELECT id, day FROM {part} WHERE day IN (SELECT day FROM {names})",
        "both": "SELECT id, 'odd' AS kind FROM {part} WHERE id % 2 = 1 "
        "UNION ALL SELECT id, 'even' FROM {part} WHERE id % 2 = 0",
    }
    keys = {"exploded": "tag"}
    parts.project.models(
        **{
            name: _model("\n" + query.format(part=_CHANGES, names=names), keys.get(name, "id"))
            for name, query in queries.items()
        }
    )

    def assert_like_hive() -> None:
        session = parts.spark.newSession()
        for name, query in queries.items():
            session.sql(f"use {parts.database}")
            expected = canonical(parts.hive.query(query.format(part="part", names="names")))
            assert canonical(session.table(parts.table(name)).collect()) == expected, name

    parts.run()
    assert_like_hive()
    parts.hive.execute("INSERT INTO part SELECT 4, 'wed', 5, array('d', 'e')")
    parts.hive.execute("UPDATE part SET day = 'wed', v = 11 WHERE id = 2")
    parts.hive.execute("DELETE FROM part WHERE id = 3")
    parts.run()
    assert_like_hive()


def test_the_sql_of_a_rebuild_is_checked(parts: Incremental) -> None:
    sql = (
        "\nselect {% if var('anew', false) and not is_incremental() %} distinct {% endif %} id, v "
        f"from {_CHANGES}"
    )
    parts.project.models(once=_model(sql))
    parts.run()
    parts.hive.execute("INSERT INTO part SELECT 4, 'wed', 5, array('d')")
    parts.project.succeed("run-operation", "hiveacid_reset_state", "--args", "{model: once}")
    errors = _errors(parts, "--vars", "anew: true")
    assert "through DISTINCT (line 2, pos 0) in the compiled SQL" in errors["once"]
    assert parts.rows("once", "id, v") == [("2", "20"), ("3", "30")]
    parts.run()
    assert parts.rows("once", "id, v") == [("2", "20"), ("3", "30"), ("4", "5")]


def test_changes_by_write_id_next_to_acid_changes_are_a_source_of_their_own(
    parts: Incremental,
) -> None:
    sql = (
        "\nselect p.id, c._commit_version from {changes} p "
        "left join table_changes('{database}.part', 0{until}) c on c.id = p.id + 1"
    )
    # The table joined with itself is not row-wise.
    assume = ", acid_changes_row_wise='assume'"
    given = {"changes": _CHANGES, "database": parts.database}
    parts.project.models(
        growing=_model(sql.format(until="", **given), config=assume),
        fixed=_model(sql.format(until=", 1", **given), config=assume),
    )
    errors = _errors(parts)
    assert errors.keys() == {"growing"}, "the changes up to a write id stay what they are"
    assert "[HIVEACID_SEVERAL_CHANGING_SOURCES] Model growing" in errors["growing"]
