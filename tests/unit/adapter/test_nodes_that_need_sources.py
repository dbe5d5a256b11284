"""Which nodes may read an ACID source, by what dbt knows and by what their texts say."""

from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.selected_nodes import needing
from hiveacid.metastore.models import TableName

ACID = TableName("shop", "orders")


def node(code="select 1", *parents, sources=(), hook=None, ephemeral=False):
    hooks = [SimpleNamespace(sql=hook)] if hook else []
    return SimpleNamespace(
        raw_code=code,
        sources=[list(source) for source in sources],
        depends_on=SimpleNamespace(nodes=list(parents)),
        config=SimpleNamespace(pre_hook=[], post_hook=hooks),
        is_ephemeral_model=ephemeral,
    )


class Seed:
    """A seed as dbt has it (`SeedNode`), which is not to be asked for its sources."""

    resource_type = "seed"
    raw_code = ""
    depends_on = SimpleNamespace(macros=[])
    config = SimpleNamespace(pre_hook=[], post_hook=[])
    is_ephemeral_model = False

    @property
    def sources(self):
        raise AssertionError("Seeds cannot depend on other nodes.")


def macro(name, sql, package="shop"):
    text = f"{{% macro {name}(x) %}}{sql}{{% endmacro %}}"
    return SimpleNamespace(name=name, macro_sql=text, package_name=package)


def manifest(macros=(), **nodes):
    return SimpleNamespace(
        sources={
            name: SimpleNamespace(unique_id=name, schema="Shop", identifier=name)
            for name in ("orders", "flat")
        },
        nodes=nodes,
        macros={f"{made.package_name}.{made.name}": made for made in macros},
    )


def found(of):
    return sorted(needing(of, [*of.nodes, *of.sources], lambda names: names & {ACID}))


def test_a_node_needs_an_acid_source_that_it_or_its_ephemeral_parents_depend_on():
    orders = "select * from {{ source('shop', 'orders') }}"
    of = manifest(
        direct=node(orders, "orders", sources=[("shop", "orders")]),
        eph=node(orders, "orders", sources=[("shop", "orders")], ephemeral=True),
        through=node("select * from {{ ref('eph') }}", "eph"),
        after=node("select * from {{ ref('direct') }}", "direct"),
        flat=node("{{ source('shop','flat') }}", "flat", sources=[("shop", "flat")]),
    )
    assert found(of) == ["direct", "eph", "orders", "through"]


UNCERTAIN = [
    "{% if execute %}{{ source('shop', 'orders') }}{% endif %}",
    "{% set t = 'orders' %}{{ source('shop', t) }}",
    "{{ builtins.source('shop', 'orders') }}",
    "{{ context['so' ~ 'urce']('shop', 'orders') }}",
    "{{ render(var('query')) }}",
    "{{ config(meta={'a': {'b': 1}}) }}{% set s = source %}",
    "{{ 'not Jinja }}",
]


@pytest.mark.parametrize("code", UNCERTAIN)
def test_what_dbt_cannot_know_counts(code):
    of = manifest(
        code=node(code),
        hook=node(hook=code),
        eph=node(code, ephemeral=True),
        through=node("select * from {{ ref('eph') }}", "eph"),
        plain=node("select 1"),
    )
    assert found(of) == ["code", "eph", "hook", "orders", "through"]


@pytest.mark.parametrize(
    "code",
    [
        "with source as (select * from {{ ref('a') }}) select * from source",
        "-- source('shop', 'orders')\nselect {# source('shop', 'orders') #} 1",
        "{{ config(tags=['source']) }} select '{{ var(\"source\") }}' as source",
    ],
)
def test_the_word_alone_does_not_count(code):
    assert found(manifest(m=node(code))) == ["orders"]


def test_macros_that_speak_of_sources_count_where_they_are_named():
    of = manifest(
        [
            macro("stage", "select * from {{ source('shop', x) }}"),
            macro("spark__fill", "{{ stage(x) }}"),
            macro("plain", "{{ x }}"),
            macro("default__run_hooks", "{{ source }}", package="dbt"),
        ],
        named=node("{{ stage('orders') }}"),
        dispatched=node("{{ fill('orders') }}"),
        hooked=node(hook="{{ stage('orders') }}"),
        other=node("{{ plain('orders') }} stage fill"),
    )
    assert found(of) == ["dispatched", "hooked", "named", "orders"]


@pytest.mark.parametrize("name", ["source", "create_table_as", "materialization_own_default"])
def test_a_macro_that_dbt_calls_by_itself_counts_everywhere(name):
    macros = [
        macro(name, "{{ builtins.source('shop', x) }}"),
        macro("spark__create_table_as", "", package="dbt_spark"),
    ]
    assert found(manifest(macros, m=node())) == ["flat", "m", "orders"]


def test_a_seed_needs_no_source_and_is_not_asked_for_any():
    assert found(manifest(names=Seed())) == ["orders"]
