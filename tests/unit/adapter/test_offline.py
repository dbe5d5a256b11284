"""Commands that read the project alone, on a machine without Java and without a metastore."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

PROGRAM = """
import json, sys
from dbt.cli.main import dbtRunner

for command in json.loads(sys.argv[1]):
    result = dbtRunner().invoke(command)
    assert result.success, f"{command}: {result.exception or result.result}"
"""
FILES = {
    "dbt_project.yml": "{name: shop, version: '1.0', profile: shop, "
    "flags: {send_anonymous_usage_stats: false}}",
    "models/sources.yml": "sources: [{name: shop, schema: shop, tables: [{name: orders, "
    "columns: [{name: id, data_tests: [unique]}]}]}]",
    "models/orders.sql": "{{ config(materialized='table') }} select * from "
    "{{ source('shop', 'orders') }}",
    "models/changed.sql": "{{ config(materialized='incremental', unique_key='id', "
    "incremental_strategy='acid_changes') }} select * from "
    "{{ acid_changes(source('shop', 'orders')) }} {% if is_incremental() %} where true {% endif %}",
    "models/all_changes.sql": "{{ config(materialized='incremental', unique_key='id', "
    "incremental_strategy='acid_changes') }} select * from "
    "{{ acid_changes(source('shop', 'orders')) }}",
    "models/shown.sql": "{{ config(materialized='view') }} select * from {{ ref('orders') }}",
    "snapshots/history.yml": "snapshots: [{name: history, relation: \"source('shop', 'orders')\", "
    "config: {unique_key: id, strategy: check, check_cols: all, file_format: delta}}]",
}


@pytest.fixture
def metastore() -> Iterator[socket.socket]:
    """An address at which somebody listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def test_parse_ls_and_docs_without_a_catalog_ask_nobody(
    tmp_path: Path, metastore: socket.socket
) -> None:
    target = {
        "type": "hiveacid",
        "schema": "marts",
        "metastore_uri": f"thrift://127.0.0.1:{metastore.getsockname()[1]}",
    }
    profile = yaml.safe_dump({"shop": {"target": "dev", "outputs": {"dev": target}}})
    for name, text in {**FILES, "profiles.yml": profile}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    # is_incremental() asks Spark's catalog whether the table is there, as on dbt-spark.
    compiled = ["compile", "--no-populate-cache", "--exclude", "changed"]
    without_catalog = ["docs", "generate", "--empty-catalog", "--no-compile"]
    commands = (["parse"], ["ls"], compiled, without_catalog)
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        cwd=tmp_path,
        # No java on the PATH: Spark could not start.
        env={**environment, "PATH": str(tmp_path), "DBT_PROFILES_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "target" / "catalog.json").exists()
    assert not (tmp_path / "logs" / "spark.log").exists()
    with pytest.raises(BlockingIOError):
        metastore.accept()
