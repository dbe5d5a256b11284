"""Tables are built beside their targets and leave nothing behind."""

import re
from pathlib import Path

import pytest
import yaml
from dbt.adapters.spark.impl import SparkAdapter
from dbt.tests.util import get_manifest, relation_from_name, run_dbt, write_file

from dbt.adapters.hiveacid.errors import raising_dbt_errors
from dbt.adapters.hiveacid.impl import HiveAcidAdapter
from dbt.adapters.hiveacid.metadata import schemas
from hiveacid.errors import TransactionLostError
from integration.support.ungated import ungated

GOOD = "select id from range({{ var('rows', 3) }})"
BAD = "select assert_true(id < 0) as checked from range(3)"
INCREMENTAL = "{{ config(materialized='incremental') }} " + GOOD
PARTITIONED = "{{ config(partition_by='part') }} select id, id % 2 as part from range(4)"
DELTA = "{{ config(file_format='delta') }} " + GOOD


def count(project, name):
    relation = relation_from_name(project.adapter, name)
    return project.run_sql(f"select count(*) from {relation}", fetch="one")[0]


def tables(project):
    rows = project.run_sql(f"show tables in {project.test_schema}", fetch="all")
    return sorted(row[1] for row in rows)


def directories(project, spark_parameters):
    database = Path(spark_parameters["spark.sql.warehouse.dir"]) / f"{project.test_schema}.db"
    return sorted(path.name for path in database.iterdir())


def lose_the_snapshot(monkeypatch):
    """As if every model had read an ACID source, and the transaction were gone since."""

    @raising_dbt_errors
    def lost(self):
        raise TransactionLostError("Transaction 17 is lost.")

    monkeypatch.setattr(HiveAcidAdapter, "hiveacid_has_read", lambda self: True)
    monkeypatch.setattr(HiveAcidAdapter, "hiveacid_check_snapshot", lost)


class TestTable:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "good.sql": "{{ config(materialized='table') }} " + GOOD,
            "partitioned.sql": "{{ config(materialized='table') }} " + PARTITIONED,
            "kept.sql": INCREMENTAL,
            "delta.sql": "{{ config(materialized='table') }} " + DELTA,
        }

    def test_a_table_is_replaced_and_only_the_table_stays(self, project, spark_parameters):
        run_dbt(["run"])
        run_dbt(["run", "--vars", "rows: 5"])
        assert count(project, "good") == count(project, "delta") == 5
        assert count(project, "kept") == 3 + 5
        run_dbt(["run", "--full-refresh"])
        assert count(project, "good") == count(project, "delta") == count(project, "kept") == 3
        assert count(project, "partitioned") == 4
        names = ["delta", "good", "kept", "partitioned"]
        assert tables(project) == directories(project, spark_parameters) == names

    def test_a_failing_model_keeps_the_former_table(self, project, spark_parameters):
        run_dbt(["run"])
        good = "{{ config(materialized='table') }} " + GOOD
        write_file("{{ config(materialized='table') }} " + BAD, "models", "good.sql")
        try:
            results = run_dbt(["run", "--select", "good"], expect_pass=False)
        finally:
            write_file(good, "models", "good.sql")
        assert "'(id < 0)' is not true!" in results[0].message
        assert "\tat org.apache" not in results[0].message
        assert count(project, "good") == 3
        names = ["delta", "good", "kept", "partitioned"]
        assert tables(project) == directories(project, spark_parameters) == names

    def test_a_hook_that_checks_something_stops_its_model(self, project):
        config = (
            "{{ config(materialized='table', pre_hook='" + BAD.replace("id <", "id >") + "') }} "
        )
        write_file(config + GOOD, "models", "good.sql")
        try:
            results = run_dbt(["run", "--select", "good"], expect_pass=False)
        finally:
            write_file("{{ config(materialized='table') }} " + GOOD, "models", "good.sql")
        assert "'(id > 0)' is not true!" in results[0].message

    def test_nothing_replaces_a_target_once_the_snapshot_is_lost(
        self, project, spark_parameters, monkeypatch
    ):
        run_dbt(["run", "--full-refresh"])
        lose_the_snapshot(monkeypatch)
        for arguments in (["run"], ["run", "--full-refresh"]):
            results = run_dbt([*arguments, "--vars", "rows: 9"], expect_pass=False)
            assert {str(result.message).strip().splitlines()[-1].strip() for result in results} == {
                "[HIVEACID_TRANSACTION_LOST] Transaction 17 is lost. No target is replaced. "
                "Run dbt again."
            }
            assert count(project, "good") == count(project, "kept") == count(project, "delta") == 3
        names = ["delta", "good", "kept", "partitioned"]
        assert tables(project) == directories(project, spark_parameters) == names


class TestDeadRun:
    """A run was killed between the two renames of its switch."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"kept.sql": INCREMENTAL + " {% if is_incremental() %} where true {% endif %}"}

    def test_only_a_run_brings_its_target_back(self, project):
        run_dbt(["run"])
        schema, backup = project.test_schema, "kept__dbt_backup_0123abcd"
        project.run_sql(f"alter table {schema}.kept rename to {schema}.{backup}")
        run_dbt(["compile"])
        run_dbt(["docs", "generate"])
        assert tables(project) == [backup]
        run_dbt(["run"])
        assert tables(project) == ["kept"]
        assert count(project, "kept") == 3 + 3


class TestBusySchema:
    """Another run's table goes while Spark lists the schema."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "kept.sql": INCREMENTAL,
            "lake.sql": "{{ config(materialized='incremental', file_format='delta') }} " + GOOD,
            "seen.sql": "{{ config(materialized='view') }} " + GOOD,
        }

    def test_the_other_tables_are_known(self, project, monkeypatch):
        run_dbt(["run"])
        # What dbt-spark makes of Spark's error.
        monkeypatch.setattr(SparkAdapter, "list_relations_without_caching", lambda *_: [])
        listed = schemas.table_names

        def with_one_that_goes(session, schema):
            # It is Spark that must not find it.
            monkeypatch.setattr(schemas, "table_names", listed)
            return listed(session, schema) | {"gone"}

        monkeypatch.setattr(schemas, "table_names", with_one_that_goes)
        run_dbt(["run"])
        assert count(project, "kept") == count(project, "lake") == 3 + 3


class TestNewTableWithoutSnapshot:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "good.sql": "{{ config(materialized='table') }} " + GOOD,
            "delta.sql": "{{ config(materialized='table') }} " + DELTA,
        }

    def test_no_target_appears_once_the_snapshot_is_lost(self, project, monkeypatch):
        lose_the_snapshot(monkeypatch)
        run_dbt(["run"], expect_pass=False)
        assert tables(project) == []


class TestTableAndView:
    @pytest.fixture(scope="class")
    def models(self):
        return {"changing.sql": "{{ config(materialized=var('as')) }} " + GOOD}

    def test_a_table_takes_the_place_of_a_view_and_back(self, project):
        for kind in ("view", "table", "view", "table"):
            run_dbt(["run", "--vars", f"as: {kind}"])
            assert count(project, "changing") == 3
            assert tables(project) == ["changing"]


OWN_MATERIALIZATIONS = """
{% materialization test, default %}
  {% do context.update({'sql': 'select id from range(2)'}) %}
  {{ return(dbt.materialization_test_default()) }}
{% endmaterialization %}

{% materialization table, adapter='spark' %}
  {%- set relation = this.incorporate(type='table') -%}
  {%- call statement('main') -%}
    create table {{ relation }} as select 'own' as made_by
  {%- endcall -%}
  {{ return({'relations': [relation]}) }}
{% endmaterialization %}

{% materialization view, default %}
  {% do exceptions.raise_compiler_error("dbt prefers dbt-spark's") %}
{% endmaterialization %}
"""


class TestOwnMaterializations:
    """dbt's rule for dbt-spark says which of the project's materializations are called."""

    @pytest.fixture(scope="class")
    def macros(self):
        return {"own.sql": OWN_MATERIALIZATIONS}

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "made.sql": "{{ config(materialized='table') }} " + GOOD,
            "seen.sql": "{{ config(materialized='view') }} " + GOOD,
        }

    @pytest.fixture(scope="class")
    def tests(self):
        return {"passes.sql": "select id from {{ ref('seen') }} where id < 0"}

    def test_they_take_the_place_of_the_adapters(self, project):
        run_dbt(["run"])
        assert project.run_sql("select * from {schema}.made", fetch="one")[0] == "own"
        assert count(project, "seen") == 3

    @pytest.mark.parametrize("flags", [(), ("--store-failures",)])
    def test_a_test_is_the_projects_with_stored_failures_too(self, project, flags):
        run_dbt(["run", "--select", "seen"])
        (result,) = run_dbt(["test", *flags], expect_pass=False)
        assert (result.status, result.failures) == ("fail", 2)


class TestTableThatWouldBecomeAViewOfRawFiles:
    @pytest.fixture(scope="class")
    def models(self):
        raw = "select i from {{ target.schema }}.{{ var('of') }}"
        identifier = "select i from identifier('{{ target.schema }}.acid')"
        query = (
            "{% if var('of', none) is none %} select 1 as i {% elif var('of') == 'identifier' %} "
            f"{identifier} {{% else %}} {raw} {{% endif %}}"
        )
        return {"kept.sql": "{{ config(materialized=var('as')) }} " + query}

    @pytest.mark.parametrize("of", ["acid", "over_acid", "identifier"])
    def test_it_stays_a_table(self, project, spark, of):
        schema = project.test_schema
        spark.sql(
            f"create table if not exists {schema}.acid (i int) clustered by (i) into 2 buckets "
            "stored as orc tblproperties ('transactional' = 'true')"
        )
        with ungated(spark):
            spark.sql(f"create or replace view {schema}.over_acid as select i from {schema}.acid")
        run_dbt(["run", "--vars", "as: table"])
        (result,) = run_dbt(["run", "--vars", f"{{as: view, of: {of}}}"], expect_pass=False)
        # With it dbt would not drop the schema.
        spark.sql(f"drop table {schema}.acid")
        hidden = "hides which tables the statement reads"
        # The metastore of this project's profile is another one than Spark's.
        no_table = f"The metastore has no table {schema}.acid"
        assert (hidden if of == "identifier" else no_table) in result.message
        assert count(project, "kept") == 1


class TestLocationRoot:
    @pytest.fixture(scope="class")
    def location_root(self, tmp_path_factory):
        return tmp_path_factory.mktemp("external data")

    @pytest.fixture(scope="class")
    def models(self):
        return {"outside.sql": GOOD, "outside_parts.sql": PARTITIONED}

    @pytest.fixture(scope="class")
    def project_config_update(self, location_root):
        return {"models": {"+materialized": "table", "+location_root": str(location_root)}}

    def test_each_build_has_a_directory_and_only_the_last_stays(self, project, location_root):
        seen = set()
        for rows in (3, 4):
            run_dbt(["run", "--vars", f"rows: {rows}"])
            assert count(project, "outside") == rows
            assert count(project, "outside_parts") == 4
            (build,) = (location_root / "outside").iterdir()
            assert re.fullmatch(f"{project.test_schema}__dbt_build_[0-9a-f]{{8}}", build.name)
            seen.add(build)
        assert len(seen) == 2

    def test_a_failing_model_leaves_no_directory(self, project, location_root):
        run_dbt(["run"])
        builds = list((location_root / "outside").iterdir())
        write_file(BAD, "models", "outside.sql")
        try:
            run_dbt(["run", "--select", "outside"], expect_pass=False)
        finally:
            write_file(GOOD, "models", "outside.sql")
        assert list((location_root / "outside").iterdir()) == builds
        assert count(project, "outside") == 3


class TestLocationRootOfTheDatabase:
    @pytest.fixture(scope="class")
    def models(self):
        return {"moved.sql": "{{ config(location_root=var('root', none)) }} " + GOOD}

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+materialized": "table"}}

    def test_a_build_is_not_put_into_the_table_that_it_replaces(self, project, spark_parameters):
        run_dbt(["run"])
        database = Path(spark_parameters["spark.sql.warehouse.dir"]) / f"{project.test_schema}.db"
        root = yaml.safe_dump({"root": str(database)})
        (result,) = run_dbt(["run", "--vars", root], expect_pass=False)
        assert (
            f"inside of file:{database}/moved, the directory of the managed table of the same "
            "name. The new rows would be removed with that table."
        ) in result.message
        assert count(project, "moved") == 3
        assert tables(project) == directories(project, spark_parameters) == ["moved"]


class TestPlainSources:
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "sources.yml": """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: there}, {name: missing}]
""",
            "reads.sql": "select * from {{ source('raw', 'there') }}",
            "lacks.sql": "select * from {{ source('raw', 'missing') }}",
            "changed.sql": """
{{ config(enabled=var('changed', false), materialized='incremental',
          incremental_strategy='acid_changes') }}
select i from {{ acid_changes(source('raw', 'there')) }}
""",
        }

    def test_a_source_that_is_no_acid_table_is_sparks_own(self, project, empty_metastore):
        project.run_sql(f"create table {project.test_schema}.there using parquet as select 1 as i")
        results = run_dbt(["run"], expect_pass=False)
        by_name = {result.node.name: result for result in results}
        assert by_name["reads"].status == "success"
        there = by_name["reads"].node.compiled_code
        assert there == f"select * from {project.test_schema}.there"
        message = by_name["lacks"].message
        assert "[TABLE_OR_VIEW_NOT_FOUND]" in message
        assert (
            f"{project.test_schema}.missing is a source. The metastore {empty_metastore.uri} does "
            "not have it either. Check the source's schema and name; it may just"
            " have been dropped."
        ) in message

    def test_parse_ls_and_compile_do_not_ask_the_metastore(self, project, empty_metastore):
        before = list(empty_metastore.calls)
        run_dbt(["parse"])
        run_dbt(["ls"])
        compiled = run_dbt(["compile", "--no-populate-cache", "--vars", "changed: true"])
        sql = {result.node.name: result.node.compiled_code.strip() for result in compiled}
        there = f"{project.test_schema}.there"
        assert sql["reads"] == f"select * from {there}"
        target = f"{project.test_schema}.changed"
        assert sql["changed"] == f"select i from acid_changes('{there}', '{target}')"
        assert empty_metastore.calls == before
        run_dbt(["docs", "generate", "--no-compile"])
        asked = set(empty_metastore.calls[len(before) :])
        # Neither a transaction nor a lock: these two tell what is committed.
        told = {"get_open_txns", "get_valid_write_ids"}
        assert asked <= {"get_table_objects_by_name_req", "getVersion", *told}
        manifest = get_manifest(project.project_root)
        relation_name = manifest.sources["source.test.raw.there"].relation_name
        assert relation_name == f"{project.test_schema}.there"


class TestSnapshot:
    @pytest.fixture(scope="class")
    def snapshots(self):
        return {
            "history.sql": """
{% snapshot history %}
  {{ config(unique_key='id', strategy='check', check_cols=['v'], file_format='delta') }}
  select id, {{ var('v', 0) }} as v from range({{ var('rows', 3) }})
{% endsnapshot %}
"""
        }

    def test_rows_of_acid_sources_are_read_before_the_snapshot_changes(
        self, project, spark_parameters, monkeypatch
    ):
        monkeypatch.setattr(HiveAcidAdapter, "hiveacid_has_read", lambda self: True)
        run_dbt(["snapshot"])
        assert count(project, "history") == 3
        run_dbt(["snapshot", "--vars", "{rows: 4, v: 1}"])
        assert count(project, "history") == 3 + 4
        lose_the_snapshot(monkeypatch)
        results = run_dbt(["snapshot", "--vars", "{rows: 5, v: 2}"], expect_pass=False)
        assert "Transaction 17 is lost" in results[0].message
        assert count(project, "history") == 3 + 4
        assert tables(project) == directories(project, spark_parameters) == ["history"]

    def test_no_snapshot_appears_once_the_transaction_is_lost(self, project, monkeypatch):
        project.run_sql(f"drop table if exists {project.test_schema}.history")
        lose_the_snapshot(monkeypatch)
        run_dbt(["snapshot"], expect_pass=False)
        assert tables(project) == []


SEEN = """
{{% snapshot seen_{name} %}}
  {{{{ config(unique_key='id', strategy='check', check_cols=['v'], file_format='delta',
             hard_deletes='{name}') }}}}
  select * from {{{{ ref('base') }}}}
{{% endsnapshot %}}
"""


class TestSnapshotOfFewerRows:
    @pytest.fixture(scope="class")
    def models(self):
        rows = "select id, 0 as v, timestamp '2020-01-01' as at from range({{ var('rows', 3) }})"
        return {"base.sql": "{{ config(materialized='table', event_time='at') }} " + rows}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {f"{name}.sql": SEEN.format(name=name) for name in ("invalidate", "new_record")}

    @pytest.mark.parametrize("flags", [["--empty"], ["--sample", "3 days"]])
    def test_what_is_not_shown_is_not_deleted(self, project, flags):
        def current(name):
            return count(project, f"seen_{name} where dbt_valid_to is null")

        run_dbt(["build"])
        names = ("invalidate", "new_record")
        assert [current(name) for name in names] == [3, 3]
        command = "snapshot" if "--empty" in flags else "build"
        run_dbt([command, "--select", "resource_type:snapshot", *flags])
        assert [current(name) for name in names] == [3, 3]
        assert [count(project, f"seen_{name}") for name in names] == [3, 3]

    def test_what_is_gone_is(self, project):
        run_dbt(["build", "--vars", "rows: 2"])
        assert count(project, "seen_invalidate where dbt_valid_to is null") == 2
        assert count(project, "seen_new_record where dbt_is_deleted = 'True'") == 1


OWN_STRATEGY = """
{% macro get_incremental_latest_sql(arguments) %}
  insert overwrite {{ arguments['target_relation'] }}
  select {{ arguments['dest_columns'] | map(attribute='quoted') | join(', ') }}
  from {{ arguments['temp_relation'] }}
{% endmacro %}
"""


class TestOwnStrategy:
    @pytest.fixture(scope="class")
    def macros(self):
        return {"latest.sql": OWN_STRATEGY}

    @pytest.fixture(scope="class")
    def models(self):
        return {"latest.sql": "{{ config(incremental_strategy='latest') }} " + INCREMENTAL}

    def test_a_macro_of_the_project_writes_the_rows(self, project):
        run_dbt(["run"])
        run_dbt(["run", "--vars", "rows: 2"])
        assert count(project, "latest") == 2


class TestSqlHeader:
    @pytest.fixture(scope="class")
    def models(self):
        header = (
            "{% call set_sql_header(config) %} set spark.dbt.one=1; set time zone 'Asia/Kolkata'; "
            "{% endcall %} select current_timezone() as zone, '${spark.dbt.one}' as one"
        )
        return {
            "built.sql": "{{ config(materialized='table') }} " + header,
            "added.sql": "{{ config(materialized='incremental') }} " + header,
            "other.sql": "{{ config(materialized='table') }} select current_timezone() as zone",
        }

    def test_its_statements_hold_for_the_model_alone(self, project):
        for _ in range(2):
            run_dbt(["run", "--threads", "1"])
        for name in ("built", "added"):
            rows = project.run_sql(f"select distinct * from {{schema}}.{name}", fetch="all")
            assert [tuple(row) for row in rows] == [("Asia/Kolkata", "1")], name
        (zone,) = project.run_sql("select zone from {schema}.other", fetch="one")
        assert zone != "Asia/Kolkata"
