"""Which nodes of an analysed plan make a row from several rows of a relation."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from hiveacid.jvm.plans import PlanTree
from hiveacid.sql.row_wise import CrossRowNode, CrossRowOperator, PlanFacts, cross_row_nodes


@dataclass(frozen=True)
class Node:
    """A node of a plan. Nodes of the kind `changes` are the relation, of `table` its table."""

    kind: str
    inputs: tuple[Node, ...] = ()
    subqueries: tuple[Node, ...] = field(default=())


def node(kind: str, *inputs: Node, subqueries: tuple[Node, ...] = ()) -> Node:
    return Node(kind, inputs, subqueries)


CHANGES, TABLE, OTHER = Node("changes"), Node("table"), Node("LocalRelation")


def tree(root: Node) -> PlanTree:
    nodes: list[Node] = []

    def visit(it: Node) -> int:
        number = len(nodes)
        nodes.append(it)
        inputs[number] = tuple(visit(child) for child in it.inputs)
        subqueries[number] = tuple(visit(query) for query in it.subqueries)
        return number

    inputs: dict[int, tuple[int, ...]] = {}
    subqueries: dict[int, tuple[int, ...]] = {}
    visit(root)
    numbers = range(len(nodes))
    return PlanTree(
        [it.kind for it in nodes], [inputs[i] for i in numbers], [subqueries[i] for i in numbers]
    )


def found(root: Node, *, is_keyed: bool = False, join_type: str = "INNER") -> list[CrossRowNode]:
    plan = tree(root)
    facts = PlanFacts(plan.of_kind("changes"), plan.of_kind("table"), join_type=lambda _: join_type)
    return list(cross_row_nodes(plan, facts, is_keyed=is_keyed))


def names(root: Node, *, is_keyed: bool = False, join_type: str = "INNER") -> list[str]:
    return [it.name for it in found(root, is_keyed=is_keyed, join_type=join_type)]


def test_columns_filters_and_generators_are_row_wise() -> None:
    plan = node("Sort", node("Project", node("Generate", node("Filter", CHANGES))))
    assert found(plan) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Distinct", "DISTINCT"),
        ("Except", "EXCEPT"),
        ("Intersect", "INTERSECT"),
        ("GlobalLimit", "LIMIT"),
        ("Offset", "OFFSET"),
        ("Sample", "TABLESAMPLE"),
        ("ScriptTransformation", "TRANSFORM"),
        ("NewInSparkFive", "NewInSparkFive"),
    ],
)
def test_an_operator_above_the_rows_is_found(kind: str, name: str) -> None:
    inputs = (node("Project", CHANGES), *([OTHER] if kind in ("Except", "Intersect") else []))
    assert found(node("Project", node(kind, *inputs))) == [CrossRowNode(1, name)]


@pytest.mark.parametrize("kind", ["Window", "Aggregate"])
def test_windows_and_aggregates_are_named_by_their_expressions(kind: str) -> None:
    assert found(node(kind, node("Filter", CHANGES))) == [CrossRowNode(0)]


def test_an_operator_elsewhere_is_none_of_ours() -> None:
    dimension = node("Aggregate", node("Distinct", OTHER))
    assert found(node("Project", node("Join", CHANGES, dimension))) == []
    filtered = node("Filter", CHANGES, subqueries=(dimension,))
    assert found(filtered) == []


def test_a_limit_of_0_gives_no_row_of_anything() -> None:
    plan = tree(node("GlobalLimit", node("LocalLimit", CHANGES)))
    facts = PlanFacts(plan.of_kind("changes"), is_limit_0=lambda _: True)
    assert list(cross_row_nodes(plan, facts, is_keyed=False)) == []


def test_a_union_is_row_wise_where_each_branch_is() -> None:
    assert names(node("Union", node("Filter", CHANGES), node("Project", CHANGES))) == []
    assert names(node("Union", CHANGES, node("Distinct", CHANGES))) == ["DISTINCT"]
    assert names(node("Distinct", node("Union", CHANGES, CHANGES))) == ["UNION without ALL"]


def test_rows_of_others_accumulate_without_a_key() -> None:
    plan = node("Union", CHANGES, OTHER)
    assert names(plan) == ["UNION ALL with other rows and no unique_key"]
    assert names(plan, is_keyed=True) == []


@pytest.mark.parametrize("kind", ["Join", "Union", "Except"])
def test_the_table_itself_is_no_other_relation(kind: str) -> None:
    what = {"Union": "UNION ALL", "Except": "EXCEPT", "Join": "JOIN"}[kind]
    for inputs in ((CHANGES, node("Filter", TABLE)), (TABLE, CHANGES)):
        assert names(node(kind, *inputs), is_keyed=True) == [f"{what} with {{table}}"]


def test_a_join_with_itself_is_found_also_through_a_common_table_expression() -> None:
    assert names(node("Join", CHANGES, node("Project", CHANGES))) == ["JOIN with itself"]
    definition = node("CTERelationDef", CHANGES)
    references = node("CTERelationRef"), node("Project", node("CTERelationRef"))
    plan = tree(node("WithCTE", definition, node("Join", *references)))
    (defined,) = plan.of_kind("CTERelationDef")
    definitions = dict.fromkeys(plan.of_kind("CTERelationRef"), defined)
    facts = PlanFacts(plan.of_kind("changes"), definitions=definitions)
    assert [it.name for it in cross_row_nodes(plan, facts, is_keyed=True)] == ["JOIN with itself"]


@pytest.mark.parametrize(
    ("type_", "on_left", "on_right"),
    [
        ("INNER", None, None),
        ("CROSS", None, None),
        ("LEFT OUTER", None, "LEFT OUTER JOIN on the right side"),
        ("RIGHT OUTER", "RIGHT OUTER JOIN", None),
        ("FULL OUTER", "FULL OUTER JOIN", "FULL OUTER JOIN on the right side"),
        ("LEFT SEMI", None, "LEFT SEMI JOIN on the right side"),
        ("LEFT ANTI", None, "LEFT ANTI JOIN on the right side"),
    ],
)
def test_a_join_must_not_keep_rows_of_others_by_the_lack_of_a_match(
    type_: str, on_left: str | None, on_right: str | None
) -> None:
    assert names(node("Join", CHANGES, OTHER), join_type=type_) == [on_left] * bool(on_left)
    assert names(node("Join", OTHER, CHANGES), join_type=type_) == [on_right] * bool(on_right)


def test_a_subquery_over_the_rows_is_found_and_numbered() -> None:
    plan = node("Filter", OTHER, subqueries=(OTHER, node("Aggregate", CHANGES)))
    assert found(plan) == [CrossRowNode(0, subquery=1), CrossRowNode(3)]
    lateral = node("LateralJoin", OTHER, subqueries=(node("Filter", CHANGES),))
    assert found(lateral) == [CrossRowNode(0, subquery=0)]
    of_table = node("Filter", CHANGES, subqueries=(node("Aggregate", TABLE),))
    assert found(of_table) == [CrossRowNode(0, "subquery of {table}", 0)]


def test_an_operator_is_shown_with_its_place() -> None:
    assert str(CrossRowOperator(3, 12, "GROUP BY")) == "GROUP BY (line 3, pos 12)"
    assert str(CrossRowOperator(0, 0, "GROUP BY")) == "GROUP BY"
