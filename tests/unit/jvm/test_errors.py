import pytest
from pyspark.errors import PySparkException, PySparkValueError

from hiveacid.jvm.errors import full_text, short_message, unless_missing, with_statement

ANALYSIS = """[TABLE_OR_VIEW_NOT_FOUND] The table or view `a`.`b` cannot be found. SQLSTATE: 42P01;\
 line 1 pos 14;
'Project [*]
+- 'UnresolvedRelation [a, b], [], false
"""

STACK = """Job aborted due to stage failure: Task 0 failed
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2898)
\tat java.base/java.lang.Thread.run(Thread.java:840)"""

OLD_CLIENT = "Unable to fetch table orders. Invalid method name: 'get_table'"


@pytest.mark.parametrize(
    "text, expected",
    [
        (ANALYSIS, ANALYSIS.partition(";\n'")[0]),
        (STACK, "Job aborted due to stage failure: Task 0 failed"),
        ("Permission denied; user=me", "Permission denied; user=me"),
        ("", "RuntimeError"),
    ],
)
def test_plans_and_stacks_are_left_out(text, expected):
    assert short_message(RuntimeError(text)) == expected


def test_an_error_shows_the_beginning_of_the_statement():
    assert with_statement("No.", "\nselect 1\n\n  \nfrom t ") == (
        "No.\nWhile running:\n  select 1\n  from t"
    )
    for long in ("\n".join(f"line {i}" for i in range(50)), "x" * 2000):
        told = with_statement("No.", long).splitlines()
        assert len(told) <= 15 and max(map(len, told)) < 1600
        assert told[-1] == "  … (all of it is in dbt's debug log)"
    shown = "[PARSE_SYNTAX_ERROR]\n== SQL ==\nselect 1 form t\n---^^^"
    assert with_statement(shown, "select 1 form t") == shown


def test_the_whole_text_is_kept_for_the_log():
    assert full_text(RuntimeError(STACK)) == STACK


def test_an_old_hive_client_gets_advice():
    message = short_message(RuntimeError(OLD_CLIENT))
    assert message.startswith(OLD_CLIENT)
    assert "spark.sql.hive.metastore.version" in message


def test_errors_of_pyspark_itself():
    # Not by the names of the arguments, which PySpark 4 has changed.
    error = PySparkValueError(None, "CANNOT_BE_EMPTY", {"item": "the list of files"})
    assert (
        short_message(error)
        == "[CANNOT_BE_EMPTY] At least one the list of files must be specified."
    )


class Told(PySparkException):
    """An error of Spark's of some condition."""

    def __init__(self, condition):
        Exception.__init__(self, condition)
        self._condition = condition

    def getCondition(self):
        return self._condition

    getErrorClass = getCondition


@pytest.mark.parametrize("condition", ["TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"])
def test_what_is_not_there_is_none(condition):
    def look_up():
        raise Told(condition)

    assert unless_missing(look_up) is None
    assert unless_missing(lambda: "table") == "table"


@pytest.mark.parametrize(
    "error",
    [Told(None), Told("INSUFFICIENT_PERMISSIONS"), ConnectionError("the metastore is away")],
)
def test_a_catalog_that_fails_is_no_missing_table(error):
    def look_up():
        raise error

    with pytest.raises(type(error)) as raised:
        unless_missing(look_up)
    assert raised.value is error


def test_a_metastore_that_refuses_managed_tables_is_named_with_what_to_do():
    error = RuntimeError("MetaException(message:Table t failed strict managed table checks due to")
    told = short_message(error)
    assert "metastore.strict.managed.tables" in told and "set location_root" in told


def test_arrows_fractions_before_1970_are_explained() -> None:
    """The text is Java's: `test_reader_types` meets it in a file that Arrow has written."""
    error = RuntimeError("java.lang.IllegalArgumentException: nanos > 999999999 or < 0")
    assert "[HIVEACID_ORC_FRACTION_BEFORE_1970]" in short_message(error)
