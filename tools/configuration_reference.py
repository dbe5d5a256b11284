"""Write docs/configuration.md from the declarations of the options. `make reference` runs it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dbt.adapters.hiveacid.credentials import profile_keys
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.options import Option, declared_options
from dbt.adapters.hiveacid.sources.options import OPTIONS_KEY, SourceOptions
from dbt.adapters.hiveacid.targets.acid_config import AcidTargetConfig

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "configuration.md"
PROFILES = ROOT / "examples" / "profiles.yml"

TEXT = """\
# Configuration

<!-- Written by tools/configuration_reference.py (`make reference`); change it there. -->

## Profile

A target of `type: hiveacid` in `profiles.yml` has these keys and no others. There is no `host`: \
Spark runs in dbt's own process.

{profile}

Two targets, one with the models' tables in a Hive 4 metastore, one with a catalog of Spark's own. \
With Kerberos or a password: [production](production.md).

```yaml
{example}
```

Hive's client jars, Delta and Iceberg: [installing](install.md). `dbt debug` does not show Spark's \
settings, which may hold secrets. What only a new Spark can take (`spark.master`, `spark.jars`, \
memory) counts for the first dbt command of a process.

## Models

Models have the configuration of dbt-spark (`file_format`, `partition_by`, `location_root`, \
`incremental_strategy`, …). With `location_root` each build of a `table` gets a directory of its \
own below `<location_root>/<model>`, and the previous one is removed after the switch. It must not \
be the directory of the model's database. Delta, Iceberg and Hudi tables are in \
`<location_root>/<alias>`, as with dbt-spark: models of one alias in two schemas or targets need \
different roots.

Keys of [incremental models](incremental.md) over `acid_changes`; wrong ones are refused:

{incremental}

Keys of models that are [Hive ACID tables](writing.md#in-dbt) (`file_format: acid`):

{acid}

## Sources

That a table is an ACID table is read from the metastore. Options of a source stand under \
`config: {{{key}: …}}` or `meta: {{{key}: …}}` of its YAML; `config` wins, and unknown ones are \
refused. In compiled SQL, `partitions` and `static` stand behind the table's name, in `with (…)`; \
the SQL of Spark 3.5 has no such clause, and the table function `acid_table(…)` takes them.

{options}
"""


def reference() -> str:
    """Return the text of docs/configuration.md."""
    return TEXT.format(
        profile=options_table(profile_keys()),
        example=_first_targets(),
        key=OPTIONS_KEY,
        options=options_table(declared_options(SourceOptions)),
        acid=options_table(declared_options(AcidTargetConfig)),
        incremental=options_table(declared_options(IncrementalConfig)),
    )


def _first_targets() -> str:
    """Return the example's targets without security; docs/production.md shows the others."""
    text = PROFILES.read_text(encoding="utf-8")
    return text.partition("    # A cluster with Kerberos")[0].rstrip()


def options_table(options: Iterable[Option]) -> str:
    """Return a Markdown table with a row for each option."""
    rows = ["| key | default | unit | meaning |", "|---|---|---|---|"]
    for o in options:
        rows.append(f"| `{o.name}` | {o.shown_default} | {o.unit} | {o.meaning} |")
    return "\n".join(rows)


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
