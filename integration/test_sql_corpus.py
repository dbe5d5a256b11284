"""The swap, attacked: SQL that names ACID tables anywhere shows Hive's rows, or is refused by name.

Each case of `integration/data/corpus` runs over ACID tables in one snapshot, and over plain copies
in plain Spark.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udtf

import hiveacid
from hiveacid.errors import HiveAcidError
from hiveacid.spark_versions import version_of
from hiveacid.sql.statement import check_syntax
from integration.support.corpus import (
    IS_NEWEST_GRAMMAR,
    TABLES,
    Side,
    Sides,
    make_sides,
)
from integration.support.dbt_project import SMALL
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer, HiveSqlError
from integration.support.sql_files import Case, cases_of, groups_of
from integration.support.ungated import ungated

Sql = Callable[[str], DataFrame]

SHOWN = {**groups_of("corpus/reads.sql"), **groups_of("corpus/commands.sql")}
EXPLAINED = cases_of("corpus/explained.sql")
FAILING = groups_of("corpus/fails.sql")
REFUSED = groups_of("corpus/refused.sql")

SETTINGS = {
    **SMALL,
    "spark.sql.ansi.enabled": "false",
}


LINE = version_of(pyspark.__version__).name

#: So many cases an older Spark may lack, of some 560: more would be an error of the tests.
LACKING = 100

#: Statements that must run for the cases that follow.
TIDIES_UP = ("use ", "reset ", "drop ", "set ", "uncache ")


@dataclass(frozen=True)
class Shown:
    """What a statement shows: the columns with their types, and the rows."""

    columns: list[tuple[str, str]]
    rows: list[tuple[str, ...]]

    def difference(self, other: Shown) -> str:
        """Return what one of two shows and the other does not."""
        if self.columns != other.columns:
            return f"has the columns {self.columns}, not {other.columns}"
        more, less = (
            [row for row in a.rows if row not in b.rows] for a, b in ((self, other), (other, self))
        )
        return f"{len(self.rows)} rows: more {more}, less {less}"


@dataclass(frozen=True)
class Failed:
    """The statement of a case that failed, and how."""

    statement: str
    error: Exception

    def __str__(self) -> str:
        text = " ".join(str(self.error).split())
        return f"{type(self.error).__name__} at {self.statement!r}: {text[:400]}"


_NAMED_BY_TEXT = re.compile(r"identifier\('[^']+'\)(?!\()|of_identifier")
"""Cases that name a table by IDENTIFIER of a text, or read a view that does."""


class RawRead(AssertionError):
    """A transactional table has reached Spark's own readers."""


@dataclass(frozen=True)
class Corpus:
    """The two sides, who runs statements on them, and what Hive shows of the ACID one."""

    sides: Sides
    acid: Sql
    copy: Sql
    raw: Sql
    hive: HiveClient
    session: SparkSession
    lacking: list[Case] = field(default_factory=list)
    """Cases that need what this line of Spark lacks."""

    def assert_right(self, cases: list[Case], judge: Callable[[Case], str | None]) -> None:
        """Assert that a judge has nothing to say about any of the cases."""
        found = []
        for case in cases:
            if not self.is_in_grammar(case):
                self.lacking.append(case)
                continue
            problem = judge(case)
            if problem is not None:
                found.append(f"{case.text}\n        {problem}")
        assert not found, "\n".join(found)

    def is_in_grammar(self, case: Case) -> bool:
        """Return whether this line of Spark can parse a case, and has stored what the case names.

        All cases are in the newest grammar.
        """
        if IS_NEWEST_GRAMMAR:
            return True
        if any(re.search(rf"{re.escape(name)}\b", case.text) for name in self.sides.lacking):
            return False
        try:
            for text in case.fill(self.sides.acid.placeholders()):
                check_syntax(self.session, text)
        except ParseException:
            return False
        return True

    def compare(self, case: Case) -> str | None:
        """Return in what a case over the ACID tables differs from the case over the copies."""
        return self.difference(case, *self.both(case))

    def difference(
        self, case: Case, acid: list[Shown] | Failed, copy: list[Shown] | Failed
    ) -> str | None:
        """Return in what the outcomes of a case on both sides differ."""
        if isinstance(copy, Failed):
            if isinstance(acid, Failed) and self.is_lacking(case, acid, copy):
                return None
            return f"fails in plain Spark: {copy}\n        and over the ACID tables: {acid}"
        if isinstance(acid, Failed):
            return str(acid)
        for ours, expected in zip(acid, copy, strict=True):
            if str(ours) != self.sides.neutral(str(expected)):
                return ours.difference(expected)
        return None

    def compare_errors(self, case: Case) -> str | None:
        """Return in what the error of a case differs from the error over the copies."""
        acid, copy = self.both(case)
        if not isinstance(copy, Failed):
            return f"does not fail in plain Spark: {copy}"
        if not isinstance(acid, Failed):
            return f"does not fail: {acid}"
        if LINE in case.notes.get("other_words", "").split():
            return None
        ours, expected = (protocol(self.sides, failed.error) for failed in (acid, copy))
        return None if ours == expected else f"{ours}\n        not {expected}"

    def accept_refusal(self, case: Case, words: str) -> str | None:
        """Return why the outcome of a case is no refusal of ours with these words."""
        outcome = run(self.acid, self.sides.acid, case)
        if not isinstance(outcome, Failed):
            if not (self.takes_text_for_name and _NAMED_BY_TEXT.search(case.text)):
                return f"is not refused: {outcome}"
            if case.text.startswith("explain"):
                plan = "\n".join(str(shown) for shown in outcome)
                return ", ".join(scanned(plan, self.sides.acid.tables)) or None
            return self.difference(case, outcome, run(self.copy, self.sides.copy, case))
        if not isinstance(outcome.error, HiveAcidError):
            copy = None if IS_NEWEST_GRAMMAR else run(self.copy, self.sides.copy, case)
            if isinstance(copy, Failed) and self.is_lacking(case, outcome, copy):
                return None
            return f"{outcome}\n        and over the copies: {copy}"
        return None if re.search(words, str(outcome.error)) else f"does not say {words}: {outcome}"

    @cached_property
    def takes_text_for_name(self) -> bool:
        """Whether Spark's parser takes IDENTIFIER of a text for the name in the text.

        Then the name is as good as one that is written out: nothing has to be refused.
        """
        plan = check_syntax(self.session, "select * from identifier('a_table')")
        return "UnresolvedIdentifier" not in str(plan.toString())

    def is_lacking(self, case: Case, acid: Failed, copy: Failed) -> bool:
        """Return whether an older line lacks what a case needs, such as a function.

        Then plain Spark fails over the copies as well, for the same reason.
        """
        ours, expected = (reason(self.sides, failed.error) for failed in (acid, copy))
        if IS_NEWEST_GRAMMAR or ours != expected:
            return False
        self.lacking.append(case)
        return True

    def both(self, case: Case) -> list[list[Shown] | Failed]:
        """Run a case on both sides."""
        return [
            run(self.acid, self.sides.acid, case),
            run(self.copy, self.sides.copy, case),
        ]

    def contents(self) -> dict[str, object]:
        """Return all that Hive and the file system know of the ACID tables."""
        acid = self.sides.acid
        found: dict[str, object] = {}
        for table in (*TABLES, "grown"):
            name = f"{acid.tables}.{table}"
            found[name] = canonical(self.hive.query(f"SELECT * FROM {name}"))
            found[f"description of {name}"] = self.hive.query(f"DESCRIBE FORMATTED {name}")
        found["files"] = sorted(map(str, Path(acid.placeholders()["database"]).rglob("*")))
        return found


@pytest.fixture(scope="module")
def corpus(
    hive: HiveServer,
    hive_session: HiveClient,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Corpus]:
    name, directory = f"test_{uuid.uuid4().hex[:8]}", tmp_path_factory.mktemp("corpus")
    with make_sides(hive, hive_session, spark, name, directory) as sides:
        acid, copy, raw = (make_session(spark, s) for s in (sides.acid, sides.copy, sides.acid))
        tables = [f"{sides.acid.tables}.orders"]
        snapshot = hiveacid.snapshot(acid, hive.metastore_uri, tables)
        with snapshot, ungated(raw):
            yield Corpus(sides, snapshot.sql, copy.sql, raw.sql, hive_session, acid)


def make_session(spark: SparkSession, side: Side) -> SparkSession:
    """Return a session whose current database is the one of a side's tables."""
    session = spark.newSession()
    for key, value in SETTINGS.items():
        session.conf.set(key, value)
    function: Any = udtf(counting_rows(), returnType="n int, names string")
    session.udtf.register("corpus_rows", function)
    session.sql(f"use {side.tables}")
    return session


def counting_rows() -> type:
    """Return the table function `corpus_rows`: how many rows its argument has, and their text.

    Python's workers cannot import the module of a test, but a class in a function is sent to them.
    """

    class CountRows:
        def __init__(self) -> None:
            self._rows: list[str] = []

        def eval(self, row: object) -> None:
            self._rows.append(str(row))

        def terminate(self) -> Iterator[tuple[int, str]]:
            yield len(self._rows), "; ".join(sorted(self._rows))

    return CountRows


def run(sql: Sql, side: Side, case: Case) -> list[Shown] | Failed:
    """Return what the statements of a case show, or the first failure."""
    shown: list[Shown] = []
    statements = case.fill(side.placeholders())
    for text in statements:
        try:
            shown.append(show(sql(text), side))
        except (PySparkException, Py4JJavaError, HiveAcidError, RawRead) as error:
            for later in statements[len(shown) + 1 :]:
                if later.startswith(TIDIES_UP):
                    sql(later)
            return Failed(text, error)
    return shown


def show(frame: DataFrame, side: Side) -> Shown:
    """Return what a statement shows. Raises RawRead if its plan reads a table as Spark's own."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    tables = set(scanned(plan, side.tables)) - {"plain"}
    if side.is_acid and tables:
        raise RawRead(f"Spark itself reads {sorted(tables)}")
    columns = [(field.name, field.dataType.simpleString()) for field in frame.schema]
    return Shown(columns, canonical(frame.collect()))


def scanned(plan: str, database: str) -> list[str]:
    """Return the tables of a database that stand as relations of Spark's in the text of a plan."""
    name = rf"(?:`?spark_catalog`?\.)?`?{database}`?\.`?(.+?)`?[,\[ ]"
    return re.findall(rf"(?:HiveTableRelation \[|Scan hive |FileScan \w+ |Relation ){name}", plan)


def protocol(sides: Sides, error: Exception) -> str:
    """Return what an error of Spark's says, without what differs between two runs."""
    # After the message come the plan, or the frames of Java.
    text = re.split(r";\n|\n\tat |JVM stacktrace", sides.neutral(str(error)))[0]
    text = re.sub(r"calling o\d+", "calling", text)
    # The nearest names first, which depends on the names of the databases.
    text = re.sub(r"(Did you mean one of the following\?) \[.*?\]", r"\1", text)
    numbered = re.sub(r"#\d+L?", "#", text)
    return f"{type(error).__name__}: {numbered}"


def reason(sides: Sides, error: Exception) -> str:
    """Return Spark's name of an error, and what it says before it shows parts of the plan."""
    text = protocol(sides, error)
    named = re.search(r"\[[A-Z_.]+\][^(#;\n]*", text)
    return named.group() if named else text


@pytest.mark.parametrize("table", TABLES)
def test_spark_itself_shows_other_rows(corpus: Corpus, table: str) -> None:
    """Else no test here could fail."""
    expected = canonical(corpus.copy(f"select * from {corpus.sides.copy.tables}.{table}").collect())
    frame = corpus.raw(f"select * from {corpus.sides.acid.tables}.{table}")
    assert scanned(frame._jdf.queryExecution().analyzed().toString(), corpus.sides.acid.tables)
    assert canonical(frame.collect()) != expected
    shown = corpus.hive.query(f"SELECT * FROM {corpus.sides.acid.tables}.{table}")
    assert len(expected) == len(shown) > 0


@pytest.mark.parametrize("group", SHOWN)
def test_shows_what_plain_copies_show(corpus: Corpus, group: str) -> None:
    corpus.assert_right(SHOWN[group], corpus.compare)


@pytest.mark.parametrize("group", FAILING)
def test_errors_of_spark_speak_of_the_users_names(corpus: Corpus, group: str) -> None:
    corpus.assert_right(FAILING[group], corpus.compare_errors)


def test_stored_views_are_read_by_no_one_else(corpus: Corpus) -> None:
    acid = corpus.sides.acid
    view = f"{acid.targets}.guarded"
    corpus.acid(f"create view {view} as select id from {acid.tables}.orders")
    assert corpus.acid(f"select * from {view}").count() == 4
    with pytest.raises(AnalysisException, match="UNRESOLVED_ROUTINE.*hiveacid_snapshot"):
        corpus.raw(f"select * from {view}").collect()
    with pytest.raises(HiveSqlError, match="hiveacid_snapshot"):
        corpus.hive.query(f"SELECT * FROM {view}")


@pytest.mark.parametrize("case", EXPLAINED, ids=lambda case: case.name)
def test_explained_plans_read_no_table_as_sparks_own(corpus: Corpus, case: Case) -> None:
    acid = corpus.sides.acid
    (text,) = case.fill(acid.placeholders())
    plan = "\n".join(row[0] for row in corpus.acid(text).collect())
    assert "Error occurred" not in plan
    assert set(scanned(plan, acid.tables)) == set()


@pytest.fixture(scope="module")
def contents(corpus: Corpus) -> dict[str, object]:
    """What was there before statements were refused."""
    return corpus.contents()


@pytest.mark.parametrize("group", REFUSED)
def test_is_refused_by_name(corpus: Corpus, contents: dict[str, object], group: str) -> None:
    words = re.escape(corpus.sides.acid.tables)
    if group == "opaque":
        words += r"|IDENTIFIER|EXECUTE IMMEDIATE|BEGIN"
    corpus.assert_right(REFUSED[group], lambda case: corpus.accept_refusal(case, words))


def test_is_refused_by_a_lake_itself(corpus: Corpus, contents: dict[str, object]) -> None:
    def accept(case: Case) -> str | None:
        outcome = run(corpus.acid, corpus.sides.acid, case)
        is_error = isinstance(outcome, Failed) and not isinstance(outcome.error, RawRead)
        return None if is_error else str(outcome)

    corpus.assert_right(cases_of("corpus/refused_by_lakes.sql"), accept)


def test_what_was_refused_has_changed_nothing(corpus: Corpus, contents: dict[str, object]) -> None:
    assert corpus.contents() == contents


@pytest.mark.skipif(IS_NEWEST_GRAMMAR, reason="this line of Spark has all of the grammar")
def test_an_older_spark_lacks_few_cases(corpus: Corpus) -> None:
    """What it lacks is neither compared nor refused; the tests above cover the rest."""
    assert 0 < len(corpus.lacking) <= LACKING


def test_so_many_cases_are_equal_and_refused() -> None:
    """Each case is run by a test above, which fails unless the case ends as its group says."""
    equal, failing, refusals = (
        sum(map(len, groups.values())) for groups in (SHOWN, FAILING, REFUSED)
    )
    assert (equal, failing, refusals) == (387, 50, 165)
