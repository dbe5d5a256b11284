"""What a `type: hiveacid` target in profiles.yml may hold.

Each key is declared once, as a field of `HiveAcidCredentials`: its default, its unit and its
meaning. The checks here and the table in the documentation (`profile_keys`) read them from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

METHODS = ("session",)
"""How Spark is reached: `session` runs the driver in dbt's own process (pyspark)."""

OFF = "off"
LAST_NODE, RUN_END = "last_node", "run_end"


def _key(
    meaning: str,
    *,
    unit: str = "",
    default: Any = MISSING,
    factory: Any = MISSING,
    never_0: str = "",
) -> Any:
    """`never_0` is the reason why a duration must be more than 0 seconds, if it must."""
    metadata = {"meaning": meaning, "unit": unit, "never_0": never_0}
    return field(default=default, default_factory=factory, metadata=metadata)


@dataclass(frozen=True)
class ProfileKey:
    """One key of the profile, as the documentation shows it. `unit` is empty where none applies."""

    name: str
    required: bool
    default: Any
    unit: str
    meaning: str


# dbt gives these two to every target and takes them away before an adapter sees the rest.
_DBT_KEYS = (
    ProfileKey("type", True, None, "", "`hiveacid`"),
    ProfileKey("threads", False, 1, "", "How many models dbt builds at once."),
)


@dataclass(kw_only=True)
class HiveAcidCredentials(Credentials):
    """A target of the profile. There is no `host`: Spark runs in dbt's own process."""

    database: str | None = None  # type: ignore[assignment]
    schema: str = _key("The database in which dbt builds its models.")
    metastore_uri: str = _key(
        "The Hive metastore that holds the sources: `thrift://host:port`, or several of them, "
        "comma-separated, that serve the same metastore."
    )
    method: str = _key(
        "How Spark is reached. `session`: the driver runs in dbt's own process.", default="session"
    )
    metastore_timeout: float = _key(
        "How long a call to the metastore may take.",
        unit="seconds",
        default=60.0,
        never_0="no answer takes no time",
    )
    heartbeat_interval: float | None = _key(
        "How often the run's transaction is kept alive. Without it, a third of the metastore's own "
        "transaction timeout; 0 turns heartbeats off.",
        unit="seconds",
        default=None,
    )
    lock_timeout: float = _key(
        "How long to wait for the shared locks on the sources. A run waits so long once for a "
        "table that stays locked; further nodes that read it fail at once, unless it is free.",
        unit="seconds",
        default=300.0,
    )
    hold_until: str = _key(
        "When the run's transaction ends, which releases the locks on the sources. `last_node`: "
        "once the last node that may read an ACID source has ended. `run_end`: with the run, so "
        "that `on-run-end` hooks can read sources, too.",
        default=LAST_NODE,
    )
    hold_warning: float = _key(
        "Warn, once, when the locks on the sources have been held so long. 0 never warns.",
        unit="seconds",
        default=3600.0,
    )
    footer_cache: str | None = _key(
        "The directory in which what ORC files say about themselves is kept from run to run, so "
        "that each file's footer is read once. Without it, `dbt-hiveacid` in the user's cache "
        "directory (`$XDG_CACHE_HOME` or `~/.cache`); `off` keeps nothing.",
        default=None,
    )
    server_side_parameters: dict[str, str] = _key(
        "Spark configuration, e.g. `spark.master`. Read when Spark starts; what Spark lets change "
        "later is set again for every connection. Spark's own tables, the models' among them, are "
        "in the metastore of `metastore_uri`, unless a setting of the catalog is given here "
        "(`spark.hadoop.hive.metastore.uris`, `spark.hadoop.javax.jdo.…`, "
        "`spark.sql.catalogImplementation`) or Spark finds a hive-site.xml. A new database is put "
        "below the directory of that metastore's database `default`, unless "
        "`spark.sql.warehouse.dir` is given.",
        factory=dict,
    )

    @property
    def type(self) -> str:
        """The adapter's name."""
        return "hiveacid"

    @property
    def unique_field(self) -> str:
        """What dbt hashes to tell one warehouse from another."""
        return self.metastore_uri

    def _connection_keys(self) -> tuple[str, ...]:
        # server_side_parameters may hold a storage system's secrets: never shown.
        return (
            "method",
            "schema",
            "metastore_uri",
            "metastore_timeout",
            "heartbeat_interval",
            "lock_timeout",
            "hold_until",
            "hold_warning",
            "footer_cache",
        )

    @classmethod
    def validate(cls, data: Any) -> None:
        """Check a target's keys and values, all of them, before they are read.

        Raises:
            DbtRuntimeError: naming every key that is unknown, missing or wrong.
        """
        problems = _problems(data)
        if problems:
            listing = "".join(f"\n  - {problem}" for problem in problems)
            raise DbtRuntimeError(f"{listing}\nAllowed keys: {', '.join(_names())}")

    def __post_init__(self) -> None:
        # Spark calls a database a schema; dbt-spark's relations refuse a database beside it.
        self.database = None
        self.server_side_parameters = {
            str(key): _spark_text(value) for key, value in self.server_side_parameters.items()
        }
        # YAML reads `off` as false.
        if str(self.footer_cache).lower() in ("off", "false"):
            self.footer_cache = OFF
        # dbt's own macros (as dbt-spark's) count on it, on Spark 3 and Spark 4 alike.
        self.server_side_parameters["spark.sql.ansi.enabled"] = "false"


def profile_keys() -> tuple[ProfileKey, ...]:
    """Every key that a target may hold, in the order of the documentation."""
    return (*_DBT_KEYS, *(_profile_key(f) for f in _declared()))


def _declared() -> list[Field[Any]]:
    return [f for f in fields(HiveAcidCredentials) if "meaning" in f.metadata]


def _profile_key(f: Field[Any]) -> ProfileKey:
    required = f.default is MISSING and f.default_factory is MISSING
    default = None if f.default is MISSING else f.default
    return ProfileKey(f.name, required, default, f.metadata["unit"], f.metadata["meaning"])


def _names() -> list[str]:
    return [key.name for key in profile_keys()]


def _problems(data: Mapping[str, Any]) -> list[str]:
    found = [f"`{key}` is not a key of this adapter" for key in data if key not in _known()]
    for declared in _declared():
        key, value = _profile_key(declared), data.get(declared.name)
        if value is None:
            if key.required:
                found.append(f"`{key.name}` is missing: {key.meaning}")
        elif key.unit == "seconds" and not _is_duration(value):
            found.append(f"`{key.name}` must be a number of seconds, 0 or more, not {value!r}")
        elif (reason := declared.metadata["never_0"]) and float(value) == 0:
            found.append(f"`{key.name}` must be more than 0 seconds: {reason}")
    if data.get("footer_cache") not in (None, False) and not _is_text(data["footer_cache"]):
        found.append(f"`footer_cache` must be a directory or `off`, not {data['footer_cache']!r}")
    method = data.get("method", "session")
    if method not in METHODS:
        found.append(f"`method` must be one of {', '.join(METHODS)}, not {method!r}")
    hold_until = data.get("hold_until", LAST_NODE)
    if hold_until not in (LAST_NODE, RUN_END):
        found.append(f"`hold_until` must be {LAST_NODE} or {RUN_END}, not {hold_until!r}")
    parameters = data.get("server_side_parameters")
    if parameters is not None and not isinstance(parameters, Mapping):
        found.append("`server_side_parameters` must be a mapping of Spark configuration keys")
    database, schema = data.get("database"), data.get("schema")
    if database is not None and database != schema:
        found.append("`database` must be left out: on Spark it is the same as `schema`")
    return found


def _known() -> set[str]:
    # dbt's test suites write `database` into every profile; it is checked, not advertised.
    return {*_names(), "database"}


def _is_duration(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and float(value) >= 0
    except (TypeError, ValueError):
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _spark_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
