"""Table of Hive functions, with their equivalents in Spark SQL.

Each entry was tried: Hive 4.0.1 and Spark evaluated the same expressions over the same rows
(docs/hive-quirks.md has the differences, integration/test_hive_views.py runs the expressions). A
function that is not in the table was not tried, and is refused: a different result would be wrong
rows without an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from sqlglot import exp

from hiveacid.sql.hive_views import rewrites
from hiveacid.sql.hive_views.refusals import DiffersError
from hiveacid.sql.hive_views.rewrites import Call, Rewrite, call, without_old_days


class Order(Enum):
    """How a function depends on an order."""

    NONE = "nothing"
    ARBITRARY = "its result has an order that neither Hive nor Spark promises"
    IGNORED = "the order in an array does not change its result"
    OF_ROWS = "it depends on the order of the rows in a window"


@dataclass(frozen=True)
class Function:
    """A Hive function: the calls that were tried, and the equivalent in Spark SQL.

    Attributes:
        name: its name in Hive.
        arities: the numbers of arguments with which it was tried: `1 2`, or `2+` for two and more.
        rewrite: makes the Spark expression for a call; None if the same call is equal in Spark.
        distinct: whether it was tried with DISTINCT.
        order: how it depends on an order.
        by_types: the kind of Spark's expression for it, if it differs for some types.
        dates: how many of its first arguments are dates, which Hive 3 counts in two calendars.
        hive_3: the reason why it is refused in Hive 3.
        refused: the reason why it is refused in every Hive.
    """

    name: str
    arities: str = ""
    rewrite: Rewrite | None = None
    distinct: bool = False
    order: Order = Order.NONE
    by_types: str | None = None
    dates: int = 0
    hive_3: str | None = None
    refused: str | None = None

    def takes(self, number: int) -> bool:
        """Return whether it was tried with this number of arguments."""
        if self.arities.endswith("+"):
            return number >= int(self.arities[:-1])
        return str(number) in self.arities.split()

    @property
    def arguments(self) -> str:
        """The numbers of arguments, in words."""
        if self.arities.endswith("+"):
            return f"{self.arities[:-1]} arguments or more"
        plural = "" if self.arities == "1" else "s"
        return f"{' or '.join(self.arities.split())} argument{plural}"


def _equal(arities: str, names: str) -> Iterator[Function]:
    return (Function(name, arities) for name in names.split())


def _of_dates(arities: str, names: str) -> Iterator[Function]:
    return (replace(it, dates=1) for it in _equal(arities, names))


def _refused(reason: str, names: str) -> Iterator[Function]:
    return (Function(name, refused=reason) for name in names.split())


_ZONE = "depends on the time zone of Hive's session, which the metastore does not know"
_CLOCK = "depends on the moment and on the session in which Hive evaluates it"
_SPREAD = "is that of the population in Hive, and that of a sample in Spark"
_DIGITS = "may differ in the last digit between Hive's and Spark's arithmetic"

TABLE = (
    # Equal if the types of the arguments are the same
    *_equal("0", "dense_rank percent_rank rank"),
    *_equal(
        "1",
        """
        bin ceil ceiling char_length character_length crc32 explode factorial floor hex hour inline
        isnotnull isnull lcase length lower ltrim md5 minute negative octet_length posexplode
        positive reverse rtrim second sha sha1 space trim ucase upper
        """,
    ),
    *_equal("1 2", "bround round"),
    *_equal("1+", "array"),
    *_equal(
        "2",
        """
        find_in_set format_number nullif nvl percentile repeat shiftleft shiftright
        shiftrightunsigned
        """,
    ),
    *_equal("2 3", "locate"),
    *_equal("2+", "coalesce concat elt map named_struct"),
    *_equal("3", "regexp_replace substring_index translate"),
    *_equal("3+", "stack"),
    *_of_dates("1", "day dayofmonth dayofweek month quarter weekofyear year"),
    *_of_dates("2", "date_add date_sub"),
    Function("abs", "1", by_types="Abs"),
    Function("avg", "1", distinct=True, by_types="Average"),
    Function("concat_ws", "2+", by_types="ConcatWs"),
    Function("count", "1", distinct=True),
    Function("cume_dist", "0", hive_3="it is a whole number in Hive 3"),
    Function("datediff", "2", dates=2),
    Function("first_value", "1 2", order=Order.OF_ROWS),
    Function("lag", "1 2 3", order=Order.OF_ROWS),
    Function("last_value", "1 2", order=Order.OF_ROWS),
    Function("lead", "1 2 3", order=Order.OF_ROWS),
    Function("max", "1", distinct=True),
    Function("min", "1", distinct=True),
    Function("months_between", "2", dates=2),
    Function("ntile", "1", order=Order.OF_ROWS),
    Function("row_number", "0", order=Order.OF_ROWS),
    Function("size", "1", order=Order.IGNORED),
    Function("sum", "1", distinct=True),
    # Rewritten, or equal under a condition
    Function("add_months", "2", rewrites.add_months, dates=1),
    Function("array_contains", "2", rewrites.array_contains, order=Order.IGNORED),
    Function("collect_list", "1", order=Order.ARBITRARY),
    Function("collect_set", "1", order=Order.ARBITRARY),
    Function("date", "1", rewrites.to_date),
    Function("date_format", "2", rewrites.date_format, dates=1),
    Function("get_json_object", "2", rewrites.get_json_object),
    Function("greatest", "2+", rewrites.null_if_any_is("GREATEST")),
    Function("instr", "2", rewrites.instr),
    Function("last_day", "1", rewrites.string_of("LAST_DAY"), dates=1),
    Function("least", "2+", rewrites.null_if_any_is("LEAST")),
    Function("lpad", "3", rewrites.pad("LPAD")),
    Function("next_day", "2", rewrites.string_of("NEXT_DAY"), dates=1),
    Function("pmod", "2", rewrites.pmod, by_types="Pmod"),
    Function("regexp_extract", "2 3", rewrites.regexp_extract),
    Function("replace", "3", rewrites.replace),
    Function("rpad", "3", rewrites.pad("RPAD")),
    Function("sha2", "2", rewrites.sha2),
    Function("sort_array", "1", rewrites.sort_array, order=Order.IGNORED),
    Function("split", "2", rewrites.split),
    Function("sqrt", "1", rewrites.sqrt),
    Function("struct", "1+", rewrites.struct),
    Function("substr", "2 3", rewrites.substring),
    Function("substring", "2 3", rewrites.substring),
    Function("to_date", "1", rewrites.to_date),
    Function("trunc", "2", rewrites.trunc, dates=1),
    # Refused
    *_refused(
        _ZONE,
        "from_unixtime unix_timestamp to_unix_timestamp from_utc_timestamp to_utc_timestamp",
    ),
    *_refused(
        _CLOCK, "current_date current_timestamp current_user logged_in_user current_database"
    ),
    *_refused(_SPREAD, "variance stddev std"),
    *_refused(
        _DIGITS,
        """
        acos asin atan cbrt corr cos covar_pop covar_samp degrees exp ln log log10 log2 pow power
        radians sin stddev_pop stddev_samp tan var_pop var_samp regr_slope regr_r2
        """,
    ),
    *_refused("is empty in Hive for a map that is NULL", "map_keys map_values"),
    *_refused("is another number each time", "rand"),
    *_refused("is another text each time", "uuid"),
    *_refused("is Java's hash in Hive and Murmur3 in Spark", "hash"),
    *_refused("does not exist in Spark", "murmur_hash"),
    *_refused("is a byte in Hive and a code point in Spark", "ascii"),
    *_refused("is empty in Hive for some numbers above 127", "chr"),
    *_refused("differs for texts with letters other than A to Z", "soundex"),
    *_refused("treats blanks differently", "conv"),
    *_refused("treats texts with characters other than hexadecimal digits differently", "unhex"),
    *_refused("shows a path in Spark and NULL in Hive for texts that are not URLs", "parse_url"),
    *_refused("fails in Spark where a key is repeated", "str_to_map"),
    *_refused("has another type for decimals", "sign"),
    *_refused("is approximated differently", "percentile_approx"),
    *_refused("differs from Spark's", "percentile_disc"),
    *_refused("has line breaks in some releases of Spark", "base64"),
    *_refused("treats some letters and tabs differently", "initcap"),
    *_refused("counts letters outside of Unicode's first plane as two in Hive", "levenshtein"),
)
"""Every function that was tried, once."""

_BY_NAME = {it.name: it for it in TABLE}
_UNTRIED = "was not compared between Hive and Spark, so it may differ"


def function_of(name: str) -> Function:
    """Return a function by its name; one that is not in the table is refused as not tried."""
    return _BY_NAME.get(name) or Function(name, refused=_UNTRIED)


def reason_against(name: str) -> str | None:
    """Return the reason why a function is refused in every Hive; None without one in the table."""
    return _BY_NAME[name].refused if name in _BY_NAME else None


def translated(function: Function, of: Call, *, is_hive_3: bool) -> exp.Expression:
    """Return the Spark expression for a call of a Hive function.

    Raises:
        DiffersError: no expression is equal, or the call was not tried.
    """
    if function.refused is not None:
        raise DiffersError(f"it {function.refused}")
    if not function.takes(len(of.arguments)):
        raise DiffersError(
            f"it was compared between Hive and Spark with {function.arguments}, not with "
            f"{len(of.arguments)}"
        )
    if is_hive_3:
        of = _in_hive_3(function, of)
    if function.rewrite is None:
        return call(function.name.upper(), *of.arguments)
    return function.rewrite(of)


def _in_hive_3(function: Function, of: Call) -> Call:
    """Return a call with the result that a call has in Hive 3.

    Raises:
        DiffersError: there is none.
    """
    if function.hive_3 is not None:
        raise DiffersError(function.hive_3)
    dates, others = of.arguments[: function.dates], of.arguments[function.dates :]
    return replace(of, arguments=[*(without_old_days(it, of.where) for it in dates), *others])
