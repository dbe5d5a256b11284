"""Translation of the text of a Hive view from Hive SQL to Spark SQL.

sqlglot only parses and generates. The table in `functions` decides, by name, what each function
means. Syntax that was not tried in Hive next to Spark is refused with its reason. Casts are checked
where the types are known, in Spark's plan (`casts`). Only this module, `functions` and `rewrites`
need sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp
from sqlglot.dialects.hive import Hive
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parser import Parser

from hiveacid.metastore.models import HiveSql, HiveView, TableName
from hiveacid.sql.catalog import SESSION_CATALOG
from hiveacid.sql.hive_views.functions import Order, function_of, reason_against, translated
from hiveacid.sql.hive_views.opened import Translation
from hiveacid.sql.hive_views.refusals import DiffersError
from hiveacid.sql.hive_views.rewrites import Call, call, cast, without_old_days

_NULLS_FIRST = "nulls_are_small"
"""sqlglot's name for an order with NULL first in ascending order."""

_NODES = frozenset(
    """
    Add Alias Aliases And Anonymous Between BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Boolean
    Bracket CTE Case Cast Cluster Column Concat Cube DPipe DataType DataTypeParam Distinct
    Distribute Div Dot EQ Except Exists Extract From GT GTE Group GroupingSets Having Identifier If
    In IntDiv Intersect Is Join LT LTE Lateral Like Limit Literal Mod Mul NEQ Neg Not Null
    NullSafeEQ NullSafeNEQ Offset Or Order Ordered Paren RegexpLike Rollup Select Sort Star Sub
    Subquery Table TableAlias TryCast Tuple Union Var Where Window WindowSpec With
    """.split()
)
"""sqlglot nodes that mean the same in Hive and in Spark. Other nodes are refused."""

_COMPARISONS = (
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.In,
    exp.Between,
)
_PREDICATES = (*_COMPARISONS, exp.Is, exp.Like, exp.RegexpLike)
_SUMS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.DPipe)
_PARTS_OF_TIME = frozenset("YEAR QUARTER MONTH WEEK DAY DAYOFWEEK HOUR MINUTE".split())
_TYPE = re.compile(
    r"(tinyint|smallint|int|integer|bigint|float|double|boolean|string|binary|date|timestamp"
    r"|decimal(\(\d+(, ?\d+)?\))?|(var)?char\((?P<length>\d+)\))",
    re.IGNORECASE,
)
_SUFFIXES = {"SMALLINT": ("S", 16), "INT": ("", 32), "BIGINT": ("L", 64)}
"""Suffixes of Spark's literals by type, and the bits of the type. Of a literal `3Y` Spark does not
take the digits."""

_SPARKS_LONG = ("DECIMAL(20)", "DECIMAL(20, 0)")
"""Type to which Spark, but not Hive, casts a bigint next to a decimal (`casts`)."""

_VIRTUAL = frozenset("input__file__name block__offset__inside__file row__id grouping__id".split())
_SHOWN = 60

Node = Any
"""A node of a sqlglot tree. Its base class has another name in each version of sqlglot."""


def translate(
    view: HiveView, hive: HiveSql, is_catalog: Callable[[str], bool] = lambda name: False
) -> Translation:
    """Translate the query of a view. Raises nothing: the result has the first problem.

    Args:
        view: the view.
        hive: the version and the SQL settings of the metastore's Hive.
        is_catalog: returns whether Spark has a catalog of a name, which means a database in Hive.
    """
    try:
        tree = _parse(view.text, "nulls_are_large" if hive.nulls_last else _NULLS_FIRST)
    except (SqlglotError, RecursionError) as error:
        first = str(error).partition("\n")[0].strip()
        return Translation(view, hive, None, ("The text", f"sqlglot cannot parse it ({first})"))
    type_dependent = _type_dependent(tree)
    problem = None
    try:
        _refuse_other_releases(hive)
        _translate(tree, view, hive)
    except DiffersError as error:
        problem = (str(error.args[0]), str(error.args[1]))
    for table in tree.find_all(exp.Table):
        if table.db and not table.catalog and is_catalog(table.db):
            table.set("catalog", exp.to_identifier(SESSION_CATALOG))
    try:
        sql = tree.sql(dialect="spark", comments=False, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        return Translation(view, hive, None, problem or ("The text", str(error)))
    return Translation(view, hive, sql, problem, type_dependent)


def _refuse_other_releases(hive: HiveSql) -> None:
    """Refuse a release of Hive that was not tried.

    Raises:
        DiffersError: no release that was tried is taken in its place.
    """
    if hive.release is None:
        raise DiffersError(
            "Its Hive",
            "views were compared in Hive 4.0.1 and 3.1.3, and the metastore is that of Hive "
            f"{hive.version}, which may evaluate them differently. Set `hive_views` to choose "
            "one of the two",
        )


def _type_dependent(tree: Node) -> frozenset[str]:
    """Return the kinds of Spark's expressions in a query that differ from Hive for some types."""
    called = {str(it.this).lower() for it in tree.find_all(exp.Anonymous)}
    kinds = {kind for name in called if (kind := function_of(name).by_types) is not None}
    return frozenset(kinds | ({"Multiply"} if tree.find(exp.Mul) is not None else set()))


def tables_in(view: HiveView) -> frozenset[TableName]:
    """Return the tables and views that a view names; none if its text cannot be parsed."""
    try:
        tree = _parse(view.text, _NULLS_FIRST)
    except (SqlglotError, RecursionError):
        return frozenset()
    found = (TableName(it.db, it.name) for it in tree.find_all(exp.Table) if it.db and it.name)
    return frozenset(found)


class _Grammar(Hive.Parser):  # type: ignore[misc,valid-type]
    """Hive's grammar, with each function under its own name and each type as it is written.

    sqlglot's parser maps functions to its own classes, and drops the length of `varchar`.
    """

    FUNCTIONS: dict[str, Any] = {}
    FUNCTION_PARSERS = {
        name: parser
        for name, parser in Hive.Parser.FUNCTION_PARSERS.items()
        if name in ("CAST", "EXTRACT")
    }

    def _parse_types(self, *arguments: Any, **options: Any) -> Any:
        return Parser._parse_types(self, *arguments, **options)


def _parse(text: str, order: str) -> Node:
    dialect = Hive()
    dialect.NULL_ORDERING = order
    trees = _Grammar(dialect=dialect).parse(dialect.tokenize(text), text)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise SqlglotError("it is not one query")
    return trees[0]


def _translate(tree: Node, view: HiveView, hive: HiveSql) -> None:
    """Change a tree of Hive SQL into a tree of Spark SQL, in place.

    Raises:
        DiffersError: with the part of the text, and the reason.
    """
    for select in list(tree.find_all(exp.Select)):
        select.set("hint", None)
    nodes = list(tree.walk())
    for node in nodes:
        if type(node).__name__ not in _NODES:
            raise DiffersError(_part(node), _why_unknown(node))
        _refuse_precedence(node)
    # Innermost nodes first, so that replacements are not translated again.
    for node in reversed(nodes):
        part = _part(node)
        try:
            _translate_node(node, view, hive)
        except DiffersError as error:
            raise DiffersError(part, str(error)) from error


def _refuse_precedence(node: Node) -> None:
    """Refuse operators whose precedence in Spark differs from Hive's (`IdentifiersParser.g`)."""
    for child in node.iter_expressions():
        of_predicates = isinstance(node, _PREDICATES) and isinstance(child, _PREDICATES)
        of_null = isinstance(node, exp.Is) and (
            isinstance(child, exp.Binary) or isinstance(child.unnest(), _PREDICATES)
        )
        both = (*_SUMS, *_BITS)
        of_sums = (
            isinstance(node, both) and isinstance(child, both) and type(node) is not type(child)
        )
        of_bits = of_sums and (isinstance(node, _BITS) or isinstance(child, _BITS))
        if of_predicates or of_null or of_bits:
            raise DiffersError(
                _part(node), "operators have another precedence in Spark; write parentheses"
            )


def _refuse_arbitrary_rows(window: exp.Window) -> None:
    name = str(window.this.this).lower() if isinstance(window.this, exp.Anonymous) else ""
    by_rows = function_of(name).order is Order.OF_ROWS
    spec = window.args.get("spec")
    is_of_rows = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    if window.args.get("order") is None and (by_rows or is_of_rows):
        raise DiffersError("without ORDER BY the order of the window's rows is arbitrary")


def _why_unknown(node: Node) -> str:
    # `current_date` and the like are nodes of their own.
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(node).__name__).lower()
    reason = reason_against(name)
    return f"it {reason}" if reason else "it was not compared between Hive and Spark"


def _translate_node(node: Node, view: HiveView, hive: HiveSql) -> None:
    if isinstance(node, exp.Anonymous):
        _translate_call(node, view, hive)
    elif isinstance(node, exp.Cast):
        _translate_cast(node)
    elif isinstance(node, exp.Neg):
        # Spark, too, takes `-3` for a literal, but not `-(3)`.
        if isinstance(node.this.unnest(), exp.Literal):
            node.set("this", node.this.unnest())
    elif isinstance(node, exp.Select):
        _translate_select(node)
    elif isinstance(node, exp.Literal):
        _translate_literal(node)
    elif isinstance(node, _COMPARISONS):
        _refuse_trailing_blanks(node.iter_expressions())
    elif isinstance(node, exp.Case):
        if node.this is not None:
            _refuse_trailing_blanks(it.this for it in node.args["ifs"])
    elif isinstance(node, exp.Distribute | exp.Cluster):
        # sqlglot parses an order of NULL here, which Spark's grammar lacks. It orders no rows.
        for ordered in node.expressions:
            if isinstance(ordered, exp.Ordered):
                ordered.replace(ordered.this)
    else:
        _refuse_odd(node)
        if isinstance(node, exp.Extract) and hive.is_hive_3:
            value = node.expression
            node.set("expression", without_old_days(value, _place_of(node, view)))


def _translate_call(node: exp.Anonymous, view: HiveView, hive: HiveSql) -> None:
    name = str(node.this).lower()
    function = function_of(name)
    parent = node.parent
    if isinstance(parent, exp.Dot) and parent.expression is node:
        raise DiffersError("it is a user-defined function")
    if name == "nullif":
        _refuse_trailing_blanks(node.expressions)
    if function.order is Order.ARBITRARY and not (
        isinstance(parent, exp.Anonymous)
        and function_of(str(parent.this).lower()).order is Order.IGNORED
    ):
        raise DiffersError("the order in its result is arbitrary; use sort_array(…)")
    if not function.distinct and any(isinstance(it, exp.Distinct) for it in node.expressions):
        raise DiffersError("it was not compared between Hive and Spark with DISTINCT")
    of = Call(list(node.expressions), _place_of(node, view))
    node.replace(translated(function, of, is_hive_3=hive.is_hive_3))


def _place_of(node: Node, view: HiveView) -> str:
    """Return where a part of a view stands, for an error: its column, or the part itself.

    Spark compares the expressions of GROUP BY and DISTINCT with the columns: there the same part
    has the same error wherever it stands.
    """
    select = node.parent_select
    names_columns = (
        select is not None
        and select.find_ancestor(exp.Select, exp.CTE) is None
        and not (select.args.get("group") or select.args.get("distinct"))
    )
    for index, column in enumerate(select.expressions if names_columns else ()):
        if any(it is node for it in column.walk()):
            has_all = len(select.expressions) == len(view.columns) and not select.is_star
            name = view.columns[index].name if has_all else column.alias_or_name
            return f"{view.name}, {f'column {name}' if name else _part(node)}"
    return f"{view.name}, {_part(node)}"


def _translate_cast(node: exp.Cast) -> None:
    written = node.to.sql(dialect="spark")
    number = _whole_number(node, written)
    if number is not None:
        # Next to a decimal a literal has the precision of its digits, a cast that of its type.
        node.replace(number)
        return
    match = _TYPE.fullmatch(written)
    if match is None:
        raise DiffersError(f"casts to {written} were not compared between Hive and Spark")
    if written in _SPARKS_LONG:
        # Spark's analyzer adds an equal cast next to a decimal, and `casts` changes all equal
        # casts to Hive's type. The outer cast keeps the type as it is written.
        node.replace(cast(node.copy(), written))
        return
    length = match["length"]
    if length is not None:
        one, letters = exp.Literal.number(1), exp.Literal.number(int(length))
        short = call("SUBSTRING", cast(node.this, "string"), one, letters)
        # Values of `char` are read without trailing blanks.
        node.replace(short if match[4] else call("RTRIM", short))


def _whole_number(node: exp.Cast, type_: str) -> Node | None:
    """Return the literal that equals the cast of a whole number to an integer type, if any."""
    value = node.this.unnest()
    literal = value.this.unnest() if isinstance(value, exp.Neg) else value
    if type_ not in _SUFFIXES or not isinstance(literal, exp.Literal) or not literal.is_int:
        return None
    suffix, bits = _SUFFIXES[type_]
    number = -int(literal.name) if value is not literal else int(literal.name)
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    # In ORDER BY a number would be a position, and Hive keeps the types of `-3S` and `-3L`.
    if isinstance(around, exp.Ordered | exp.Group) or (suffix and isinstance(around, exp.Neg)):
        return None
    fits = -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
    return exp.Literal.number(f"{number}{suffix}") if fits else None


def _translate_select(node: exp.Select) -> None:
    for index, column in enumerate(node.expressions):
        if isinstance(column, exp.Dot):
            name = column.name
        elif isinstance(column, exp.Alias | exp.Aliases | exp.Column | exp.Star):
            continue
        elif str(column.this).lower() in ("explode", "posexplode", "inline", "stack"):
            continue
        else:
            name = f"_c{index}"
        column.replace(exp.alias_(column.copy(), name, quoted=True))
    group = node.args.get("group")
    if group is not None and any(isinstance(it, exp.Literal) for it in group.expressions):
        raise DiffersError(
            "whether GROUP BY treats a number as a column depends on hive.groupby.position.alias"
        )
    _refuse_arbitrary_limit(node)


def _translate_literal(node: exp.Literal) -> None:
    # Hive drops trailing zeros of a decimal literal, which changes its type.
    if not node.is_string and re.fullmatch(r"\d*\.\d*", str(node.this)):
        whole, _, digits = str(node.this).partition(".")
        digits = digits.rstrip("0")
        node.set("this", f"{whole or '0'}.{digits}" if digits else f"{whole or '0'}BD")


def _refuse_trailing_blanks(compared: Iterable[Node]) -> None:
    for value in compared:
        inner = value.unnest()
        while isinstance(inner, exp.Cast):  # Hive treats the cast of a literal as the literal.
            inner = inner.this.unnest()
        if isinstance(inner, exp.Literal) and inner.is_string and inner.name[-1:] == " ":
            raise DiffersError("Hive ignores blanks at the end where it compares char")
        if isinstance(inner, exp.Tuple):
            _refuse_trailing_blanks(inner.expressions)


def _refuse_odd(node: Node) -> None:
    if isinstance(node, exp.RegexpLike):
        pattern = node.expression
        if not (isinstance(pattern, exp.Literal) and pattern.is_string and pattern.name):
            raise DiffersError("the pattern must be a literal, and not be empty")
    elif isinstance(node, exp.Extract) and node.name.upper() not in _PARTS_OF_TIME:
        raise DiffersError(f"it must be one of {', '.join(sorted(_PARTS_OF_TIME))}")
    elif isinstance(node, exp.WindowSpec) and str(node.args.get("kind")).upper() == "RANGE":
        ends = (node.args.get("start"), node.args.get("end"))
        if any(isinstance(end, exp.Expression) for end in ends):
            raise DiffersError("Spark overflows in a range around the present value")
    elif isinstance(node, exp.Window):
        _refuse_arbitrary_rows(node)
    elif isinstance(node, exp.Column) and node.name.lower() in _VIRTUAL:
        raise DiffersError("only Hive has virtual columns")
    elif isinstance(node, exp.Intersect | exp.Union | exp.Except):
        sides = (node.this, node.expression)
        mixed = (isinstance(it, exp.SetOperation) for it in sides)
        if any(mixed) and any(
            isinstance(it, exp.Intersect) != isinstance(node, exp.Intersect)
            for it in sides
            if isinstance(it, exp.SetOperation)
        ):
            raise DiffersError("INTERSECT has another precedence in Spark; use subqueries")
        _refuse_arbitrary_limit(node)


def _refuse_arbitrary_limit(node: Node) -> None:
    limit = node.args.get("limit")
    if limit is not None and node.args.get("order") is None:
        raise DiffersError("LIMIT without ORDER BY shows arbitrary rows")


def _part(node: Node) -> str:
    text = node.sql(dialect="hive", comments=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
