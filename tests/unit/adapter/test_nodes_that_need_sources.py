"""The nodes that may read an ACID source, by what dbt's manifest says of them."""

from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.selected_nodes import find_acid_readers
from hiveacid.metastore.models import TableName

ACID = TableName("shop", "orders")
HIDDEN = "{% if execute %}{{ source('shop', 'orders') }}{% endif %}"
"""A source that dbt does not find when it parses."""


def node(code="select 1", *parents, hook=None, kind="table"):
    hooks = [SimpleNamespace(sql=hook)] if hook else []
    return SimpleNamespace(
        raw_code=code,
        depends_on=SimpleNamespace(nodes=list(parents)),
        config=SimpleNamespace(pre_hook=[], post_hook=hooks, materialized=kind),
    )


class Seed:
    """A seed as dbt has it (`SeedNode`), which must not be asked for its sources."""

    resource_type = "seed"
    raw_code = ""
    depends_on = SimpleNamespace()
    config = SimpleNamespace(pre_hook=[], post_hook=[], materialized="seed")

    @property
    def sources(self):
        raise AssertionError("Seeds cannot depend on other nodes.")


def manifest(**nodes):
    return SimpleNamespace(
        sources={
            name: SimpleNamespace(unique_id=name, schema="Shop", identifier=name)
            for name in ("orders", "flat")
        },
        nodes=nodes,
    )


def found(of):
    return sorted(find_acid_readers(of, [*of.nodes, *of.sources], lambda names: names & {ACID}))


def test_a_node_may_read_an_acid_source_that_it_or_its_ephemeral_parents_depend_on():
    orders = "select * from {{ source('shop', 'orders') }}"
    of = manifest(
        direct=node(orders, "orders"),
        eph=node(orders, "orders", kind="ephemeral"),
        through=node("select * from {{ ref('eph') }}", "eph"),
        after=node("select * from {{ ref('direct') }}", "direct"),
        flat=node("{{ source('shop','flat') }}", "flat"),
    )
    assert found(of) == ["direct", "eph", "orders", "through"]


def test_a_node_may_read_an_acid_source_that_views_show_it():
    orders, ref = "select * from {{ source('shop', 'orders') }}", "select * from {{ ref('x') }}"
    of = manifest(
        stg=node(orders, "orders", kind="view"),
        int=node(ref, "stg", kind="view"),
        mart=node(ref, "int"),
        after=node(ref, "mart"),
        own=node(orders, "orders", kind="our_kind_of_view"),
        through=node(ref, "own"),
        flat=node("{{ source('shop','flat') }}", "flat", kind="view"),
        of_flat=node(ref, "flat"),
    )
    assert found(of) == ["int", "mart", "orders", "own", "stg", "through"]
    readers = find_acid_readers(of, ["mart", "after", "of_flat"], lambda names: names & {ACID})
    assert readers == {"mart"}


@pytest.mark.parametrize(
    "code",
    [
        "select * from shop.orders",
        "SELECT *\nFROM `shop` . `orders` o",
        "select * from {{ ref('a') }} left join spark_catalog.shop.orders using (id)",
        "select * from {{ target.schema }}.orders",
        "select * from shop.{{ var('table') }}",
        "select extract(day from o.at) from shop.orders o",
        "def model(dbt, session): return session.sql('select * from shop.orders')",
    ],
)
def test_a_node_that_names_a_database_may_read_an_acid_table(code):
    of = manifest(
        code=node(code),
        hook=node(hook=code),
        eph=node(code, kind="view"),
        through=node("select * from {{ ref('eph') }}", "eph"),
        has_source=node(code, "flat"),
        plain=node("select 1"),
    )
    assert found(of) == ["code", "eph", "has_source", "hook", "orders", "through"]


@pytest.mark.parametrize(
    "code",
    [
        "select extract(year from o.at), trim(both ' ' from o.name) from {{ ref('a') }} o",
        "select a.x is distinct from b.x from {{ ref('a') }} a",
        "select o.id from {{ ref('a') }} o join {{ ref('b') }} b on o.id = b.id",
        "from pyspark.sql import functions as F\ndef model(dbt, session): return dbt.ref('a')",
        "{# select * from shop.orders #} select 1",
        "-- once: select * from shop.orders\nselect 1",
        "select 'from' as a, b.c from {{ ref('b') }} b",
    ],
)
def test_a_node_that_names_no_database_does_not_count(code):
    assert found(manifest(m=node(code))) == ["orders"]


@pytest.mark.parametrize(
    "code",
    [
        HIDDEN,
        "{% if execute %}{% set t = 'orders' %}{{ builtins.source ('shop', t) }}{% endif %}",
        "{% if execute %}{{ stage('orders') }}{% endif %}",
    ],
)
def test_what_only_a_running_node_knows_does_not_count(code):
    """What such a node reads, when all others have ended, is an error that says so."""
    assert found(manifest(code=node(code), hook=node(hook=code))) == ["orders"]
    advice = "\n-- depends_on: {{ source('shop', 'orders') }}"
    assert found(manifest(code=node(code + advice, "orders"))) == ["code", "orders"]


def test_where_the_manifest_names_a_source_it_is_believed():
    """What such a node reads besides, when all others have ended, is an error that says so."""
    of = manifest(m=node("select * from {{ source('shop', 'flat') }} " + HIDDEN, "flat"))
    assert found(of) == ["orders"]


@pytest.mark.parametrize(
    "code",
    [
        "with source as (select * from {{ ref('a') }}) select * from source",
        "{{ config(tags=['source']) }} select '{{ var(\"source\") }}' as source",
        # These may reach a source, but nobody writes them for that.
        "{{ context['so' ~ 'urce']('shop', 'orders') }}",
        "{{ render(var('query')) }}",
        "{% set s = source %}",
        "{{ 'not Jinja }}",
    ],
)
def test_a_node_that_does_not_call_source_does_not_count(code):
    assert found(manifest(m=node(code))) == ["orders"]


def test_a_seed_is_not_asked_for_sources():
    assert found(manifest(names=Seed())) == ["orders"]


def test_a_data_test_has_no_hooks():
    of = manifest(checks=node(), raw=node("select * from shop.orders"))
    for made in of.nodes.values():
        made.config = SimpleNamespace(severity="error")
    assert found(of) == ["orders", "raw"]
