from datetime import date, datetime

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid import credentials as module
from dbt.adapters.hiveacid.credentials import HiveAcidCredentials, profile_keys
from hiveacid.metastore.models import HIVE_VIEWS

MINIMAL = {"schema": "marts", "metastore_uri": "thrift://metastore:9083"}


def read(**keys):
    data = {**MINIMAL, **keys}
    HiveAcidCredentials.validate(data)
    return HiveAcidCredentials.from_dict(data)


def test_defaults():
    credentials = read()
    assert credentials.type == "hiveacid"
    assert credentials.method == "session"
    assert credentials.metastore_timeout == 60
    assert credentials.heartbeat_interval is None
    assert credentials.lock_timeout == 300
    assert credentials.database is None


def test_every_problem_is_told_at_once_with_the_allowed_keys():
    data = {
        "metastore_uri": "thrift://metastore:9083",
        "host": "spark.example.org",
        "method": "thrift",
        "lock_timeout": "soon",
        "metastore_timeout": -1,
        "server_side_parameters": ["spark.master"],
    }
    with pytest.raises(DbtRuntimeError) as error:
        HiveAcidCredentials.validate(data)
    message = error.value.msg
    assert "`host` is not a key of this adapter" in message
    assert "`schema` is missing" in message
    assert "`method` must be one of session, not 'thrift'" in message
    assert "`lock_timeout` must be a number of seconds, 0 or more, not 'soon'" in message
    assert "`metastore_timeout` must be a number of seconds, 0 or more, not -1" in message
    assert "`server_side_parameters` must be a mapping" in message
    assert message.endswith(
        "Allowed keys: type, threads, schema, metastore_uri, method, auth, user, password, token, "
        "token_file, kerberos_service_name, kerberos_principal, kerberos_keytab, "
        "kerberos_server_principal, use_ssl, ssl_ca_file, ssl_check_hostname, use_http_transport, "
        "http_path, metastore_timeout, heartbeat_interval, lock_timeout, hold_until, hold_warning, "
        "as_of, orc_columns, old_dates, parquet_time_zone, avro_time_zone, hive_time_zone, "
        "hive_views, footer_cache, scratch_directory, open_files_limit, server_side_parameters"
    )


def test_how_much_is_copied_of_files_that_are_being_written():
    assert (read().open_files_limit, read().scratch_directory) == (512.0, None)
    assert read(open_files_limit="1.5").open_files_limit == 1.5
    with pytest.raises(DbtRuntimeError, match="`open_files_limit` must be a number of megabytes"):
        read(open_files_limit=-1)


def test_the_release_of_hive_that_views_are_read_as():
    assert read().hive_views is None
    assert [read(hive_views=word).hive_views for word in HIVE_VIEWS] == list(HIVE_VIEWS)
    # YAML reads `4.0` as a number.
    assert (read(hive_views=4.0).hive_views, read(hive_views="3.1").hive_views) == ("4.0", "3.1")
    with pytest.raises(DbtRuntimeError, match="`hive_views` must be one of 4.0, 3.1, refuse, not "):
        read(hive_views="4.1")


def test_a_database_that_is_not_the_schema_is_refused():
    with pytest.raises(DbtRuntimeError, match="`database` must be left out"):
        read(database="other")
    assert read(database="marts").database is None


@pytest.mark.parametrize(
    "given, as_of",
    [
        ("2026-01-31 12:00:00", "2026-01-31 12:00:00"),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 12), "2026-01-31 12:00:00"),
        # `"{{ var('as_of', '') }}"` without the variable.
        ("", None),
        (" ", None),
    ],
)
def test_the_time_as_of_which_a_run_reads(given, as_of):
    assert read(as_of=given).as_of == as_of


@pytest.mark.parametrize("off", ["off", False, "false", "OFF"])
def test_the_cache_of_footers_can_be_turned_off(off):
    assert read(footer_cache=off).footer_cache == "off"


def test_the_cache_of_footers_is_a_directory():
    assert read().footer_cache is None
    assert read(footer_cache="/srv/cache").footer_cache == "/srv/cache"
    for wrong in (True, 1, " ", ["/srv"]):
        with pytest.raises(DbtRuntimeError, match="`footer_cache` must be a directory or `off`"):
            read(footer_cache=wrong)


def test_durations_may_come_as_text_from_environment_variables():
    assert read(lock_timeout="30").lock_timeout == 30


def test_an_answer_takes_time():
    with pytest.raises(DbtRuntimeError, match="`metastore_timeout` must be more than 0 seconds"):
        read(metastore_timeout="0")
    assert read(lock_timeout=0).lock_timeout == 0


def test_spark_parameters_become_text_and_ansi_is_off_as_in_dbt_spark(monkeypatch):
    monkeypatch.setattr("pyspark.__version__", "4.1.4")
    parameters = read(
        server_side_parameters={
            "spark.ui.enabled": False,
            "spark.sql.shuffle.partitions": 4,
            "spark.sql.ansi.enabled": True,
        }
    ).server_side_parameters
    assert parameters == {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.ansi.enabled": "false",
    }


def test_spark_3_has_the_defaults_of_spark_4_unless_the_profile_says_otherwise(monkeypatch):
    monkeypatch.setattr("pyspark.__version__", "3.5.9")
    written, by_default = (
        f"spark.sql.{it}"
        for it in ("parquet.datetimeRebaseModeInWrite", "legacy.createHiveTableByDefault")
    )
    parameters = read(server_side_parameters={written: "LEGACY"}).server_side_parameters
    assert (parameters[written], parameters[by_default]) == ("LEGACY", "false")


def test_debug_shows_no_spark_parameters_for_they_may_hold_secrets():
    credentials = read(server_side_parameters={"spark.hadoop.fs.s3a.secret.key": "hush"})
    shown = dict(credentials.connection_info())
    assert shown["metastore_uri"] == "thrift://metastore:9083"
    assert "hush" not in str(shown)


def test_debug_shows_every_other_key():
    shown = [key.name for key in profile_keys() if not key.secret]
    assert [*read()._connection_keys()] == shown[2:], "dbt shows type and threads itself"


@pytest.mark.parametrize("wrong", [["thrift://a:1"], {"host": "a"}, True])
def test_an_address_is_a_text(wrong):
    with pytest.raises(DbtRuntimeError, match="`metastore_uri` must be a text, not"):
        read(metastore_uri=wrong)


def test_credentials_that_dbt_has_not_validated_are_checked_as_well():
    with pytest.raises(DbtRuntimeError, match="`lock_timeout` must be a number of seconds"):
        HiveAcidCredentials(**MINIMAL, lock_timeout=-1)


def test_the_documented_keys_are_the_read_ones():
    keys = {key.name: key for key in profile_keys()}
    assert [key.name for key in keys.values() if key.required] == [
        "type",
        "schema",
        "metastore_uri",
    ]
    assert keys["lock_timeout"].unit == "seconds"
    assert all(key.meaning for key in keys.values())


def test_the_time_zone_of_hive_is_that_of_the_session():
    zone = "spark.sql.session.timeZone"
    assert zone not in read().server_side_parameters
    assert read(hive_time_zone="Europe/Berlin").server_side_parameters[zone] == "Europe/Berlin"
    same = read(hive_time_zone="UTC", server_side_parameters={zone: "UTC"})
    assert same.server_side_parameters[zone] == "UTC"
    with pytest.raises(DbtRuntimeError, match="`hive_time_zone` sets .*: leave 'UTC' out of"):
        read(hive_time_zone="Europe/Berlin", server_side_parameters={zone: "UTC"})


def test_the_time_zone_of_hive_is_a_region():
    for region in ("UTC", "Asia/Tokyo", "America/Argentina/Buenos_Aires", "Etc/GMT+3"):
        assert read(hive_time_zone=region).hive_time_zone == region
    for wrong in ("PST", "JST", "EST5EDT", "+02:00", "Europe/Berlim", "America/Argentina", 2, ""):
        with pytest.raises(DbtRuntimeError, match="`hive_time_zone` must be `UTC` or a region"):
            read(hive_time_zone=wrong)


def test_settings_of_the_adapter_are_known_as_such(monkeypatch):
    monkeypatch.setattr(module.pyspark, "__version__", "3.5.9")
    key = "spark.sql.parquet.datetimeRebaseModeInWrite"
    assert read().defaults[key] == read().server_side_parameters[key] == "CORRECTED"
    assert key not in read(server_side_parameters={key: "EXCEPTION"}).defaults
    monkeypatch.setattr(module.pyspark, "__version__", "4.1.4")
    assert read().defaults == {}
