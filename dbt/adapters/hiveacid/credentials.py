"""Keys of a `type: hiveacid` target in profiles.yml, each declared once by `option`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any

import pyspark
from dbt.adapters.contracts.connection import Credentials

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.options import (
    Option,
    declared_options,
    list_problems,
    one_of,
    option,
    parse_flag,
    parse_megabytes,
    parse_seconds,
    parse_secret,
    parse_text,
    positive_seconds,
    read_options,
)
from dbt.adapters.hiveacid.security import NONE, make_security, parse_auth, security_problems
from dbt.adapters.hiveacid.spark.time_zones import SESSION_ZONE, parse_region
from hiveacid.jvm.scratch import DEFAULT_LIMIT
from hiveacid.metastore.security.settings import DEFAULT_HTTP_PATH, Security
from hiveacid.spark_versions import version_of

SESSION = "session"
"""The `method` that runs Spark's driver in dbt's own process (PySpark)."""

OFF = "off"
LAST_NODE, RUN_END = "last_node", "run_end"

_AS_SPARK_4 = {
    "spark.sql.legacy.createHiveTableByDefault": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}
"""Defaults of Spark 4, set on Spark 3. With Spark 3's own, a model without `file_format` would
become a table of text files, and dates before 1582 could not be written."""

# dbt gives these two to every target and removes them before an adapter sees the rest.
_DBT_KEYS = (
    Option("type", "`hiveacid`", "required", required=True),
    Option("threads", "How many models dbt builds at once.", "`1`"),
)


def _parse_footer_cache(value: Any) -> str:
    # YAML reads `off` as false.
    if value is False or str(value).lower() in (OFF, "false"):
        return OFF
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be a directory or `{OFF}`, not {value!r}")
    return value


def _parse_hive_views(value: Any) -> str:
    # YAML reads `4.0` as a number.
    text = str(value) if isinstance(value, float) else value
    return str(one_of("4.0", "3.1", "refuse")(text))


def _parse_as_of(value: Any) -> str | None:
    if isinstance(value, date | datetime):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"must be a time such as 2026-01-31 12:00:00, not {value!r}")
    return value.strip() or None


def _parse_spark_settings(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping of Spark configuration keys")
    return {str(key): _spark_text(setting) for key, setting in value.items()}


def _spark_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(kw_only=True)
class HiveAcidCredentials(Credentials):
    """A target of the profile. There is no `host`: Spark runs in dbt's own process."""

    database: str | None = None  # type: ignore[assignment]
    schema: str = option("The database in which dbt builds its models.", parse_text)
    metastore_uri: str = option(
        "The Hive metastore that holds the sources: `thrift://host:port`, or several of them, "
        "comma-separated, that serve the same metastore.",
        parse_text,
    )
    method: str = option(
        "How Spark is reached. `session`: the driver runs in dbt's own process.",
        one_of(SESSION),
        default=SESSION,
    )
    auth: str = option(
        "How dbt authenticates to the metastore. `kerberos`: a ticket or a keytab, or a delegation "
        "token in the file that `HADOOP_TOKEN_FILE_LOCATION` names. `plain` (or `ldap`): `user` "
        "and `password`. `jwt`: `token` or `token_file`, over HTTP. `delegation_token`: that file "
        "only. `none`: no authentication; the metastore trusts `user`.",
        parse_auth,
        default=NONE,
    )
    user: str | None = option(
        "With `plain` and `ldap`, the user name to log in with. With `none`, the user as whom the "
        "metastore acts.",
        parse_text,
        default=None,
    )
    password: str | None = option(
        "The password of `user`. Never logged.", parse_secret, default=None, secret=True
    )
    token: str | None = option(
        "The JSON web token. Never logged.", parse_secret, default=None, secret=True
    )
    token_file: str | None = option(
        "A file with the JSON web token, read again for each connection, so that the token can be "
        "renewed during a run.",
        parse_text,
        default=None,
    )
    kerberos_service_name: str = option(
        "The first part of the metastore's principal.", parse_text, default="hive"
    )
    kerberos_principal: str | None = option(
        "The principal to log in as, such as `dbt@EXAMPLE.COM`, with the keys in "
        "`kerberos_keytab`. Without both, the ticket cache is used. Spark gets both, too.",
        parse_text,
        default=None,
    )
    kerberos_keytab: str | None = option(
        "The keytab of `kerberos_principal`. Tickets are obtained and renewed with it.",
        parse_text,
        default=None,
    )
    kerberos_server_principal: str | None = option(
        "The metastore's full principal, as in `hive.metastore.kerberos.principal` "
        "(`hive/_HOST@EXAMPLE.COM`): `_HOST` is the canonical name of the host in "
        "`metastore_uri`. Needed where the metastore is in another realm; behind a load balancer "
        "write the host itself (`hive/hms.example.com@EXAMPLE.COM`).",
        parse_text,
        default=None,
    )
    use_ssl: bool = option(
        "Whether the metastore uses TLS (`hive.metastore.use.SSL`).", parse_flag, default=False
    )
    ssl_ca_file: str | None = option(
        "Certificates of the authorities to trust, in PEM. Default: the system's.",
        parse_text,
        default=None,
    )
    ssl_check_hostname: bool = option(
        "Whether the metastore's certificate must name the host in `metastore_uri`.",
        parse_flag,
        default=True,
    )
    use_http_transport: bool = option(
        "Whether the metastore uses HTTP (`metastore.server.thrift.transport.mode`). Implied by "
        "`jwt`.",
        parse_flag,
        default=False,
    )
    http_path: str = option(
        "The URL path of a metastore that uses HTTP.", parse_text, default=DEFAULT_HTTP_PATH
    )
    metastore_timeout: float = option(
        "Timeout of a call to the metastore.",
        positive_seconds("no answer takes no time"),
        unit="seconds",
        default=60.0,
    )
    heartbeat_interval: float | None = option(
        "Interval of the heartbeats that keep the run's transaction alive. Default: a third of the "
        "metastore's transaction timeout. 0 turns heartbeats off.",
        parse_seconds,
        unit="seconds",
        default=None,
    )
    lock_timeout: float = option(
        "How long to wait for the shared locks on the sources. A run waits this long once for each "
        "locked table; further nodes that read the table fail at once, unless it is free by then.",
        parse_seconds,
        unit="seconds",
        default=300.0,
    )
    hold_until: str = option(
        "When to end the run's transaction, which releases the locks on the sources. `last_node`: "
        "after the last node that may read an ACID source. `run_end`: at the end of the run, so "
        "that `on-run-end` hooks can read sources, too.",
        one_of(LAST_NODE, RUN_END),
        default=LAST_NODE,
    )
    hold_warning: float = option(
        "Warn once when the locks on the sources have been held this long. 0 never warns.",
        parse_seconds,
        unit="seconds",
        default=3600.0,
    )
    as_of: str | None = option(
        "Read all ACID tables as of this time, as Spark casts it to a timestamp, such as "
        "`2026-01-31 12:00:00`. Default: the run's own snapshot. For one command: "
        "`as_of: \"{{ var('as_of', '') }}\"`, and `--vars`.",
        _parse_as_of,
        default=None,
    )
    orc_columns: str | None = option(
        "How Hive matches a table's columns to those of ORC files: `position` or `name`. It "
        "matters for files written before a column was renamed or removed: by `name`, a renamed "
        "column is NULL in them. Hive 4 matches by position. Hive 3 matches by name unless its "
        "`orc.force.positional.evolution` is true. Without the key, such files are refused there.",
        one_of("position", "name"),
        default=None,
    )
    old_dates: str | None = option(
        "The calendar of dates before 1582-10-15. `file`: the calendar that the file names, or the "
        "Julian one if it names none, as in versions other than Hive 3.1. `gregorian`: the "
        "Gregorian one if the file names none, as in Hive 3.1. Default: by the metastore's "
        "version.",
        one_of("file", "gregorian"),
        default=None,
    )
    parquet_time_zone: str | None = option(
        "The time zone of the JVM that wrote Parquet files, such as `Europe/Berlin`, for files "
        "that do not name it (Spark, Hive before 3.1.3) or hold instants. Hive shows their "
        "timestamps in the zone of its own JVM. Without the key, a query that needs such a "
        "timestamp fails. Writers that are not Java, such as Impala, store local times.",
        parse_text,
        default=None,
    )
    avro_time_zone: str | None = option(
        "The time zone of Hive's JVM, such as `Europe/Berlin`, for timestamps in Avro files that "
        "do not name their writer's zone (Spark's, Hive's before 3.1.3). Without the key, a query "
        "that needs such a timestamp fails.",
        parse_text,
        default=None,
    )
    hive_time_zone: str | None = option(
        "The time zone of Hive's Java, `UTC` or a region such as `Europe/Berlin`: Hive shows "
        "timestamps of Parquet files that Spark wrote in this zone. Sets "
        "`spark.sql.session.timeZone`, in which models show timestamps, so that Hive shows the "
        "same, and the time zone of Spark's Java (`TZ`), unless Java's options name one. In a "
        "project that has ORC or text targets, build these again when you set or change the key: "
        "Spark reads their timestamps by the clock of its Java. Without both settings, the zone is "
        "that of the machine, and a "
        "[warning](troubleshooting.md#hiveacid_warn_time_zone_not_known) names the first target "
        "that depends on it.",
        parse_region,
        default=None,
    )
    hive_views: str | None = option(
        "The Hive release whose behaviour Hive views get: `4.0` or `3.1`, whatever the metastore's "
        "version. `refuse`: refuse Hive views unless the metastore is that of Hive 4.0 or of "
        "Apache Hive 3. Without the key, other releases of Hive 4 are treated as 4.0, other "
        "releases of Hive 3 as 3.1, with a warning.",
        _parse_hive_views,
        default=None,
    )
    footer_cache: str | None = option(
        "Cache directory for ORC footers, kept from run to run, so that each footer is read once. "
        "Default: `dbt-hiveacid` in the user's cache directory (`$XDG_CACHE_HOME` or `~/.cache`). "
        "`off` turns the cache off.",
        _parse_footer_cache,
        default=None,
    )
    scratch_directory: str | None = option(
        "Directory for copies of the flushed part of source files still being written (streaming "
        "ingest). The copies are removed when the run's snapshot ends. Spark's executors must "
        "reach the directory. Default: `/tmp` of the files' own file system.",
        parse_text,
        default=None,
    )
    open_files_limit: float = option(
        "Maximum total size of these copies. A source that needs more is refused.",
        parse_megabytes,
        unit="megabytes",
        default=DEFAULT_LIMIT,
    )
    # Not `dict[str, str]`: mashumaro since 3.15 turns the values into text, `false` into `False`.
    server_side_parameters: dict[str, Any] = option(
        "Spark configuration, e.g. `spark.master`. Read when Spark starts; runtime settings are "
        "set again for every connection. Spark's own tables, models included, are in the metastore "
        "of `metastore_uri`, unless a catalog setting is given here "
        "(`spark.hadoop.hive.metastore.uris`, `spark.hadoop.javax.jdo.…`, "
        "`spark.sql.catalogImplementation`) or Spark finds a hive-site.xml. A new database is "
        "created below the directory of that metastore's database `default`, unless "
        "`spark.sql.warehouse.dir` is given.",
        _parse_spark_settings,
        factory=dict,
        secret=True,  # It may hold the passwords of a storage system.
    )

    defaults = dict[str, str]()
    """Settings among `server_side_parameters` that the user has not given."""

    @property
    def type(self) -> str:
        """The adapter's name."""
        return "hiveacid"

    @property
    def unique_field(self) -> str:
        """The text that dbt hashes to distinguish one warehouse from another."""
        return self.metastore_uri

    @property
    def security(self) -> Security:
        """How dbt authenticates to the metastore, and how the connection is protected."""
        return make_security({key.name: getattr(self, key.name) for key in _declared()})

    def _connection_keys(self) -> tuple[str, ...]:
        return _shown_keys()

    @classmethod
    def validate(cls, data: Any) -> None:
        """Check all keys and values of a target before dbt reads them.

        Raises:
            AdapterError: a key is unknown, missing or invalid; the message lists all such keys.
        """
        # dbt's test suites write `database` into every profile: accepted, but not documented.
        others = [key.name for key in _DBT_KEYS]
        read = read_options(cls, data, also_allowed=(*others, "database"))
        problems = [*read.problems, *_value_problems(read.values)]
        database, schema = data.get("database"), data.get("schema")
        if database is not None and database != schema:
            problems.append("`database` must be left out: on Spark it is the same as `schema`")
        _refuse(problems)

    def __post_init__(self) -> None:
        given = {key.name: getattr(self, key.name) for key in declared_options(type(self))}
        read = read_options(type(self), given)
        _refuse(read.problems or _value_problems(read.values))
        for name, value in read.values.items():
            setattr(self, name, value)
        # Spark calls a database a schema; dbt-spark's relations refuse a database next to it.
        self.database = None
        # dbt's own macros and dbt-spark's rely on it, on Spark 3 and Spark 4.
        self.server_side_parameters["spark.sql.ansi.enabled"] = "false"
        if self.hive_time_zone is not None:
            self.server_side_parameters[SESSION_ZONE] = self.hive_time_zone
        if version_of(pyspark.__version__).has_older_defaults:
            self.defaults = {
                key: value
                for key, value in _AS_SPARK_4.items()
                if key not in self.server_side_parameters
            }
            self.server_side_parameters |= self.defaults


@cache
def _declared() -> tuple[Option, ...]:
    return declared_options(HiveAcidCredentials)


@cache
def _shown_keys() -> tuple[str, ...]:
    """Return the keys that `dbt debug` shows. Cached: dbt calls it hundreds of times in a parse."""
    return tuple(key.name for key in declared_options(HiveAcidCredentials) if not key.secret)


def profile_keys() -> tuple[Option, ...]:
    """Return every key that a target may hold, in the order of the documentation."""
    return (*_DBT_KEYS, *declared_options(HiveAcidCredentials))


def _value_problems(values: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with keys that are right one by one."""
    problems = list(security_problems(values))
    zone = values.get("hive_time_zone")
    own = values.get("server_side_parameters", {}).get(SESSION_ZONE, zone)
    if zone is not None and own != zone:
        problems.append(
            f"`hive_time_zone` sets {SESSION_ZONE}: leave {own!r} out of `server_side_parameters`"
        )
    return problems


def _refuse(problems: Collection[str]) -> None:
    if problems:
        allowed = ", ".join(key.name for key in profile_keys())
        # dbt puts the names of the profile and target before the message.
        raise AdapterError(
            f"{list_problems(problems)}\nAllowed keys: {allowed}", code="HIVEACID_INVALID_PROFILE"
        )
