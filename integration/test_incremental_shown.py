"""A target is rebuilt when rows that it has seen would be shown otherwise now."""

from __future__ import annotations

import pytest

from integration.support.differential import canonical
from integration.support.incremental import Incremental
from integration.support.tables import FULL_ACID, INSERT_ONLY

_BY_KEY = """{{{{ config(materialized='incremental', incremental_strategy='acid_changes',
    unique_key='id') }}}}
select {columns} from {{{{ acid_changes(source('shop', '{source}')) }}}}"""

_MODELS = {
    "of_events": _BY_KEY.format(columns="id, at, p", source="events"),
    "of_log": _BY_KEY.format(columns="id, name", source="log"),
}

_ZONE = "America/New_York"


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_rows_that_are_shown_otherwise_now(incremental: Incremental) -> None:
    hive, project, database = incremental.hive, incremental.project, incremental.database
    hive.script(
        f"""
        CREATE TABLE events (id int, at timestamp) PARTITIONED BY (p string) STORED AS ORC
          TBLPROPERTIES ({FULL_ACID});
        INSERT INTO events VALUES
          (1, timestamp '2024-01-01 12:00:00', 'abcdef'), (2, timestamp '2024-07-01 23:30:00', 'x');
        CREATE TABLE log (id int, name string) STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY});
        INSERT INTO log VALUES (1, 'a'), (2, '-'), (3, NULL);
        """
    )
    project.sources("events", "log")
    project.models(**_MODELS)
    project.add_target("new_york", database, spark={"spark.sql.session.timeZone": _ZONE})

    def warnings_of_run(zone: str, *arguments: str) -> list[str]:
        """What a run warns of; its targets have Hive's rows by the session's clock."""
        incremental.run(*arguments)
        session = incremental.spark.newSession()
        session.conf.set("spark.sql.session.timeZone", zone)
        for table, columns in (("events", "id, cast(at AS string), p"), ("log", "id, name")):
            rows = session.sql(f"select {columns} from {database}.of_{table}").collect()
            expected = hive.query(f"SELECT {columns} FROM {table}")
            assert canonical(rows) == canonical(expected), table
        return [text.removeprefix("HiveAcid adapter: ") for text in incremental.warnings]

    assert warnings_of_run("UTC") == []
    hive.execute("INSERT INTO events VALUES (3, timestamp '2024-07-02 00:10:00', 'x')")
    hive.execute("INSERT INTO log VALUES (4, 'b')")
    assert warnings_of_run("UTC") == []

    hive.execute("ALTER TABLE events PARTITION COLUMN (p varchar(3))")
    hive.execute("ALTER TABLE log SET SERDEPROPERTIES ('serialization.null.format'='-')")
    of_events, of_log = sorted(warnings_of_run("UTC"))
    built_anew = "[HIVEACID_WARN_FULL_REFRESH] Model of_{0} is rebuilt from the whole of {1}.{0}: "
    assert of_events == built_anew.format("events", database) + (
        "the type of its partition columns is p varchar(3), before p string (new write ids: 1-3)."
    )
    assert of_log.startswith(
        built_anew.format("log", database) + "its files are now read differently"
    )
    assert "SET SERDEPROPERTIES" in of_log
    assert warnings_of_run("UTC") == []

    assert warnings_of_run(_ZONE, "--target", "new_york") == [
        built_anew.format("events", database)
        + f"the session's time zone is {_ZONE}, before UTC (new write ids: 1-3)."
    ]
    hive.execute("DELETE FROM events WHERE id = 1")
    assert warnings_of_run(_ZONE, "--target", "new_york") == []
