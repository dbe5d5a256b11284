"""Why Spark did not start: what it, Java and the shell have printed (PySpark 4.1, Java 17)."""

import pyspark
import pytest
from pyspark.errors import PySparkRuntimeError

from dbt.adapters.hiveacid.spark.start_failure import describe_start_failure
from hiveacid.spark_versions import version_of

LINE = version_of(pyspark.__version__)
EXITED = PySparkRuntimeError(None, "JAVA_GATEWAY_EXITED", {})
NO_HEAP = (
    "Error: Not allowed to specify max heap(Xmx) memory settings through java options (was "
    "-Xmx2g). Use the corresponding --driver-memory or spark.driver.memory configuration instead."
)
FROM_SPARK = """\
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/27 19:42:39 WARN Utils: Set SPARK_LOCAL_IP if you need to bind to another address
Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn or start \
with spark, k8s, or local
\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1065)
\tat org.apache.spark.deploy.SparkSubmit$.main(SparkSubmit.scala)
"""
LOGS = {
    "of its launcher, before all options": (
        f"{NO_HEAP}\n\nWARNING: Using incubator modules: jdk.incubator.vector\n"
        "Usage: spark-submit [options] <app jar | python file | R file> [app arguments]\n\n"
        "Options:\n" + 90 * "  --master MASTER_URL         spark://host:port, yarn,\n",
        NO_HEAP,
        False,
    ),
    "of Spark, before the stack": (
        FROM_SPARK,
        'Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn or '
        "start with spark, k8s, or local",
        False,
    ),
    "of Java, about its memory": (
        "Error occurred during initialization of VM\n"
        "Could not reserve enough space for 943718400000KB object heap\n",
        "Error occurred during initialization of VM\n"
        "Could not reserve enough space for 943718400000KB object heap",
        False,
    ),
    "of a Java that is too old": (
        "Error: LinkageError occurred while loading main class org.apache.spark.launcher.Main\n"
        "\tjava.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main has been …\n"
        "/venv/pyspark/bin/spark-class: line 97: CMD: bad array subscript\n",
        "Error: LinkageError occurred while loading main class org.apache.spark.launcher.Main\n"
        "\tjava.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main has been …",
        True,
    ),
    "of the shell, without a Java": (
        "/venv/pyspark/bin/spark-class: line 71: /nowhere/bin/java: No such file or directory\n"
        "/venv/pyspark/bin/spark-class: line 97: CMD: bad array subscript\n",
        "/venv/pyspark/bin/spark-class: line 71: /nowhere/bin/java: No such file or directory",
        True,
    ),
    "of nobody": ("", "[JAVA_GATEWAY_EXITED]", True),
    "of somebody whom nobody knows": ("one\n" * 50 + "last\n", "one\n" * 14 + "last", False),
}


@pytest.mark.parametrize(("log", "cause", "needs_java"), LOGS.values(), ids=LOGS)
def test_the_message_has_the_first_words(log, cause, needs_java, tmp_path):
    path = tmp_path / "spark.log"
    path.write_text(log, encoding="utf-8")
    told = describe_start_failure(EXITED, path)
    assert told.startswith(f"Spark did not start: {cause}")
    about_java = (
        f"\nSpark {LINE.name} needs Java {LINE.java[0]} or newer: `java -version` (or $JAVA_HOME) "
        "should say so."
    )
    after = f"\nWhat its Java process has printed is in {path}."
    if log:
        assert told == f"Spark did not start: {cause}{after}" + about_java * needs_java
    else:
        assert told.endswith(after + about_java)


def test_a_setting_that_spark_refuses_is_no_matter_of_java(tmp_path):
    refused = ValueError("[INVALID_DRIVER_MEMORY] System memory must be at least …")
    assert describe_start_failure(refused, None) == f"Spark did not start: {refused}"
    log = tmp_path / "spark.log"
    assert describe_start_failure(refused, log) == (
        f"Spark did not start: {refused}\nWhat its Java process has printed is in {log}."
    )


def test_without_a_log_the_words_are_on_the_screen():
    assert f"has ended, see above. Spark {LINE.name} needs Java" in describe_start_failure(
        EXITED, None
    )
