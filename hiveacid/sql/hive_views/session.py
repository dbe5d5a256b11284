"""Spark sessions in which the text of a Hive view means what it means in Hive."""

from __future__ import annotations

from pyspark.sql import SparkSession

from hiveacid.sql.catalog import SESSION_CATALOG

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.defaultCatalog": SESSION_CATALOG,
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "false",
    "spark.sql.legacy.allowStarWithSingleTableIdentifierInCount": "false",
    "spark.sql.legacy.bangEqualsNot": "false",
    "spark.sql.legacy.castComplexTypesToString.enabled": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.legacy.createEmptyCollectionUsingStringType": "false",
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.inSubqueryNullability": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.lpadRpadAlwaysReturnString": "false",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""Spark settings under which Spark evaluates everything that was tried as Hive does.

These are all settings of Spark's `SQLConf` that change the meaning of SQL text: the settings that
its parser and its analyzer read. A new session has other values if the application was started with
other values.
"""

_ZONE = "spark.sql.session.timeZone"


def session_of_hive(session: SparkSession) -> SparkSession:
    """Return a new session that evaluates as Hive does, in the time zone of `session`."""
    other = session.newSession()
    for key, value in {**SETTINGS, _ZONE: str(session.conf.get(_ZONE))}.items():
        other.conf.set(key, value)
    return other
