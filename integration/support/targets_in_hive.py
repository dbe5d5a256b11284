"""Each type in each format of a target: models that write it, and Hive's answers.

A model's rows are compared with what Hive shows of its table, column by column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject
from integration.support.differential import NULL, canonical
from integration.support.hive import HiveClient, HiveServer, HiveSqlError, hive_3
from integration.support.hive.jars import HIVE_VERSION

PAGE = Path(__file__).parents[2] / "docs" / "targets-in-hive.md"
VERSIONS = (HIVE_VERSION, hive_3.VERSION)

NEW_YORK = "America/New_York"
ZONES = (
    ("UTC", "UTC"),
    (NEW_YORK, NEW_YORK),
    (NEW_YORK, "UTC"),
    ("Europe/Berlin", "America/Los_Angeles"),
)
"""Time zones of dbt, as the profile has Hive's, and of Hive."""

FORMATS = {"parquet": "Parquet", "orc": "ORC", "hive": "text"}
"""Formats that Hive reads, by the values of `file_format`."""

TIMES = (
    "2026-01-31 23:59:59.123456",
    "2026-07-01 00:00:00",
    "1969-12-31 23:59:59.5",
    "1901-01-01 00:00:00",
    "2262-05-01 00:00:00",
    "9999-12-30 00:00:00",
)
FROM_1582 = ("1899-12-31 12:00:00", "1850-06-01 00:00:00", "1582-10-15 00:00:00")
BEFORE_1582 = ("1582-10-04 12:00:00", "1500-03-01 00:00:00", "0001-01-03 00:00:00")

_NESTED = ("size({c})", "{c}[0]", "{c}[1]", "{c}[2]")
"""What is compared of an array: Hive's clients get a whole one as a text of Hive's. Not `is null`,
which Hive 3.1.3 takes for false of every nested column, whoever wrote it."""


@dataclass(frozen=True)
class Case:
    """Values of one type, as SQL of Spark's. `shown` is what is compared of the column `{c}`."""

    type: str
    values: tuple[str, ...]
    shown: tuple[str, ...] = ("{c}",)
    of: str = ""
    """Which of the type's values these are."""

    @property
    def title(self) -> str:
        """The heading of its row in the document."""
        return f"`{self.type}`{self.of and f', {self.of}'}"


def _cast(type_: str, *values: str) -> tuple[str, ...]:
    return tuple(f"cast({value} as {type_})" for value in values)


def _times(name: str, times: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}'{time}'" for time in times)


def _days(times: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"date'{time[:10]}'" for time in times)


_AS_TEXT = ("cast({c} as string)",)

CASES = (
    Case("boolean", ("true", "false")),
    Case("tinyint", ("127Y", "-128Y")),
    Case("smallint", ("32767S", "-32768S")),
    Case("int", ("2147483647", "-2147483648")),
    Case("bigint", ("9223372036854775807L", "0L")),
    Case("float", _cast("float", "'NaN'", "'-Infinity'", "-0.0D", "1.5D")),
    Case("double", _cast("double", "'NaN'", "'Infinity'", "0.1D", "1e20D")),
    Case("decimal(9,2)", _cast("decimal(9,2)", "-1.25", "9999999.99")),
    Case("decimal(18,6)", _cast("decimal(18,6)", "123456789012.000001")),
    Case("decimal(38,18)", _cast("decimal(38,18)", "'12345678901234567890.000000000000000001'")),
    Case("string", ("''", "' ü😀 '", r"'a\\b'", "'NULL'", r"'a\tb'")),
    Case(
        "string",
        (r"'a\nb'", r"'a\rb'", "concat('a', chr(1), 'b')", r"'\\N'"),
        of="with line breaks, delimiters or `\\N`",
    ),
    Case("char(5)", _cast("char(5)", "'ab'", "''")),
    Case("varchar(5)", _cast("varchar(5)", "'ab '", "''")),
    Case("binary", ("X'FF00410A'", "X''")),
    Case("date", _days((*TIMES, *FROM_1582))),
    Case("date", _days(BEFORE_1582), of="before 1582-10-15"),
    Case("timestamp", _times("timestamp_ltz", TIMES), _AS_TEXT),
    Case("timestamp", _times("timestamp_ltz", FROM_1582), _AS_TEXT, of="before 1900"),
    Case("timestamp", _times("timestamp_ltz", BEFORE_1582), _AS_TEXT, of="before 1582-10-15"),
    Case("array<int>", ("array(1, null, 3)", "cast(array() as array<int>)"), _NESTED),
    Case("array<int>", ("array(cast(null as int))",), _NESTED, of="of one NULL"),
    Case("array<string>", ("array('')",), _NESTED, of="of one empty string"),
    Case("array<string>", ("array('a', null, '')",), _NESTED),
    Case("array<decimal(9,2)>", ("array(cast(1.25 as decimal(9,2)), null)",), _NESTED),
    Case("array<date>", ("array(date'2026-01-31', null)",), _NESTED),
    Case(
        "array<timestamp>",
        ("array(timestamp_ltz'2026-01-31 23:59:59.123456', null)",),
        ("size({c})", "cast({c}[0] as string)", "{c}[1]"),
    ),
    Case(
        "map<string,int>",
        ("map('a', 1, 'b', null)", "cast(map() as map<string,int>)"),
        ("size({c})", "{c}['a']", "{c}['b']"),
    ),
    Case(
        "struct<a:int,b:string>",
        ("named_struct('a', 1, 'b', 'x')", "named_struct('a', cast(null as int), 'b', '')"),
        ("{c}.a", "{c}.b"),
    ),
    Case(
        "array<struct<d:decimal(9,2)>>",
        ("array(named_struct('d', cast(1.25 as decimal(9,2))))",),
        ("size({c})", "{c}[0].d"),
    ),
)

_NO_FORM_IN_TEXT = {"`array<int>`, of one NULL", "`array<string>`, of one empty string"}
_JULIAN_IN_ORC = {"`date`, before 1582-10-15", "`timestamp`, before 1582-10-15"}


def unequal(name: str, version: str, zone: str) -> set[str]:
    """Return the cases that a Hive shows differently in its own time zone, by format.

    ORC's writer moves fractions of the last second before 1970 in UTC by a second (ORC-763), and
    Hive 3.1 counts days before 1582 in the Gregorian calendar, ORC's files in the Julian one.
    """
    if name == "hive":
        return _NO_FORM_IN_TEXT
    if name == "parquet":
        return set()
    shifted = {"`timestamp`"} if zone.rpartition("/")[2] in ("UTC", "GMT") else set()
    return shifted | (_JULIAN_IN_ORC if version == hive_3.VERSION else set())


HIDDEN = (
    Case("timestamp_ntz", ("timestamp_ntz'2026-01-31 23:59:59.123456'",), _AS_TEXT),
    Case("interval year to month", ("interval '1-2' year to month",)),
    Case("interval day to second", ("interval '1 02:03:04.5' day to second",)),
    Case("void", ("null",)),
)
"""Types that Hive's metastore does not know."""


def query_of(cases: Iterable[Case]) -> str:
    """Return a query of Spark's with a column a case, and one row more than the most values."""
    columns = {f"c{i}": case for i, case in enumerate(cases)}
    count = max(len(case.values) for case in columns.values()) + 1
    rows = (
        ", ".join(
            f"{case.values[i] if i < len(case.values) else 'null'} as {name}"
            for name, case in columns.items()
        )
        for i in range(count)
    )
    return "\nunion all ".join(f"select {i} as id, {row}" for i, row in enumerate(rows))


_CONFIG = "{{{{ config(file_format='{}') }}}}\n"


def whole_models() -> dict[str, str]:
    """Return the models by name, one a format with all types that Hive has."""
    return {f"all_{it}": _CONFIG.format(it) + query_of(CASES) for it in FORMATS}


def hidden_models() -> dict[str, str]:
    """Return the models by name, one a format and type that Hive does not have."""
    return {
        f"hidden_{number}_{it}": _CONFIG.format(it) + query_of([case])
        for number, case in enumerate(HIDDEN)
        for it in FORMATS
    }


def write(
    hive: HiveServer, schema: str, zone: str, path: Path, models: Mapping[str, str]
) -> tuple[str, set[str]]:
    """Run models in a dbt and a Spark of their own, whose profile names a time zone as Hive's.

    Return what dbt printed, and the models that failed.
    """
    project = DbtProject(
        path,
        hive,
        schema,
        threads=2,
        profile={"hive_time_zone": zone},
        spark={"spark.sql.session.timeZone": None, "spark.driver.extraJavaOptions": None},
    )
    project.models(**models)
    with project.start("run") as running:
        output, _ = running.communicate()
    results = project.run_results()
    return output, {it["unique_id"] for it in results if it["status"] != "success"}


@dataclass(frozen=True)
class Shown:
    """What Hive shows of a column: whether it fails, or a value that differs from the model's."""

    fails: bool = False
    differing: tuple[str, str] | None = None

    @property
    def is_equal(self) -> bool:
        """Whether Hive shows what the model shows."""
        return not self.fails and self.differing is None

    def __str__(self) -> str:
        """Return a cell of the document."""
        if self.fails:
            return "error"
        if self.differing is None:
            return "equal"
        return " → ".join(f"`{text}`" if text else "empty" for text in self.differing)


Rows = list[tuple[str, ...]]


def rows_of_model(spark: SparkSession, zone: str) -> list[Rows]:
    """Return what the models show of each case, in a session of this time zone."""
    return rows_in_spark(spark, zone, f"({query_of(CASES)})")


def rows_in_spark(spark: SparkSession, zone: str, table: str) -> list[Rows]:
    """Return what Spark shows of each case in a table, in a session of this time zone."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    session.conf.set("spark.sql.ansi.enabled", "false")
    return [
        canonical(session.sql(f"select id, {_shown(case, i)} from {table}").collect())
        for i, case in enumerate(CASES)
    ]


def compare(hive: HiveClient, table: str, expected: Sequence[Rows]) -> list[Shown]:
    """Return what Hive shows of each case in a table, next to what the model shows.

    Vectorized, too, for columns that are not nested: of others Hive then shows NULLs in Parquet as
    other values, also in its own tables.
    """
    flat = [i for i, case in enumerate(CASES) if "<" not in case.type]
    hive.execute("SET hive.vectorized.execution.enabled=true")
    hive.execute("SET hive.fetch.task.conversion=none")
    found = _compared(hive, table, dict(enumerate(expected)), flat)
    hive.execute("SET hive.vectorized.execution.enabled=false")
    fetched = _compared(hive, table, dict(enumerate(expected)), range(len(CASES)))
    return [found[i] if it.is_equal and i in found else it for i, it in fetched.items()]


def _compared(
    hive: HiveClient, table: str, expected: Mapping[int, Rows], cases: Sequence[int]
) -> dict[int, Shown]:
    """Ask for some cases at once, and for each alone where Hive fails."""
    columns = ", ".join(_shown(CASES[i], i) for i in cases)
    try:
        rows = hive.query(f"SELECT id, {columns} FROM {table}")
    except HiveSqlError:
        if len(cases) == 1:
            return {cases[0]: Shown(fails=True)}
        return {i: _compared(hive, table, expected, [i])[i] for i in cases}
    found, first = {}, 1
    for i in cases:
        after = first + len(CASES[i].shown)
        shown = canonical((row[0], *row[first:after]) for row in rows)
        found[i] = Shown(differing=_first_difference(expected[i], shown))
        first = after
    return found


def _shown(case: Case, number: int) -> str:
    return ", ".join(text.format(c=f"c{number}") for text in case.shown)


def _first_difference(rows: Rows, shown: Rows) -> tuple[str, str] | None:
    if len(shown) != len(rows):
        return f"{len(rows)} rows", f"{len(shown)} rows"
    for row, other in zip(rows, shown, strict=True):
        for value, seen in zip(row, other, strict=True):
            if value != seen:
                return _printed(value), _printed(seen)
    return None


def _printed(text: str) -> str:
    return "NULL" if text == NULL else repr(text)[1:-1]


Answers = dict[tuple[str, str, str, str], list[Shown]]
"""What Hive shows, by its version, dbt's time zone, Hive's, and the format."""


def types_table(answers: Answers) -> str:
    """Return the table of types: dbt and Hive are in one time zone."""
    columns = [(name, version) for name in FORMATS for version in VERSIONS]
    head = " | ".join(f"{FORMATS[name]}, Hive {version}" for name, version in columns)
    lines = [f"| | {head} |", "|---|" + "---|" * len(columns)]
    for i, case in enumerate(CASES):
        cells = [str(answers[version, "UTC", "UTC", name][i]) for name, version in columns]
        lines.append(f"| {case.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def zones_table(answers: Answers) -> str:
    """Return the table of time zones: timestamps and dates of each format."""
    lines = [
        "| dbt | Hive | type | " + " | ".join(FORMATS.values()) + " |",
        "|---|---|---|---|---|---|",
    ]
    for dbt, hive in ZONES:
        for i, case in enumerate(CASES):
            if case.type not in ("date", "timestamp"):
                continue
            cells = []
            for name in FORMATS:
                by_version = {it: str(answers[it, dbt, hive, name][i]) for it in VERSIONS}
                same = len(set(by_version.values())) == 1
                cells.append(
                    by_version[VERSIONS[0]]
                    if same
                    else "; ".join(f"Hive {it}: {text}" for it, text in by_version.items())
                )
            lines.append(f"| {dbt} | {hive} | {case.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_tables(page: str, answers: Answers) -> str:
    """Return the page with tables between its marks."""
    for name, table in (("types", types_table(answers)), ("zones", zones_table(answers))):
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    return page
