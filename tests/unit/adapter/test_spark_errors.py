import pytest
from pyspark.errors import PySparkValueError

from dbt.adapters.hiveacid.spark.errors import full_text, short_message

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


def test_the_whole_text_is_kept_for_the_log():
    assert full_text(RuntimeError(STACK)) == STACK


def test_an_old_hive_client_gets_advice():
    message = short_message(RuntimeError(OLD_CLIENT))
    assert message.startswith(OLD_CLIENT)
    assert "spark.sql.hive.metastore.version" in message


def test_errors_of_pyspark_itself():
    error = PySparkValueError(
        errorClass="CANNOT_BE_EMPTY", messageParameters={"item": "the list of files"}
    )
    assert (
        short_message(error)
        == "[CANNOT_BE_EMPTY] At least one the list of files must be specified."
    )
