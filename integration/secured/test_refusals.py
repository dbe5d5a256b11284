"""What is wrong or missing: the exact words within ten seconds, and no transaction left."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hiveacid.errors import MetastoreUnavailableError
from hiveacid.metastore.security.settings import Kerberos, Security
from integration.secured.ask import TICKET, connect, refusal, speak
from integration.support.hive.kdc import CLIENT, REALM
from integration.support.hive.secured import SecuredHive


def test_no_ticket(secured: SecuredHive, cache: Path) -> None:
    assert refusal(secured.metastore_uri, TICKET) == (
        f"Kerberos: No Kerberos credentials available (default cache: FILE:{cache})\n"
        "There is no Kerberos ticket: run kinit, or set Kerberos(principal=…, keytab=…)."
    )


def test_an_expired_ticket(secured: SecuredHive, cache: Path) -> None:
    secured.kdc.kinit(cache, lifetime=2)
    time.sleep(3)
    assert refusal(secured.metastore_uri, TICKET) == (
        "Kerberos: Ticket expired\n"
        "The Kerberos ticket has expired: run kinit (the running process takes the new ticket), "
        "or set Kerberos(principal=…, keytab=…)."
    )
    secured.kdc.kinit(cache)
    assert speak(secured.metastore_uri, TICKET) == "GSSAPI with auth-conf"


def test_a_wrong_service_name(secured: SecuredHive, cache: Path) -> None:
    secured.kdc.kinit(cache)
    assert refusal(secured.metastore_uri, Security(Kerberos("nobody"))) == (
        "Kerberos: Server nobody/localhost@EXAMPLE.COM not found in Kerberos database\n"
        "The KDC knows no such service: check `service_name` of Kerberos and the host in "
        "metastore_uri, or set Kerberos(server_principal=…) to hive.metastore.kerberos.principal "
        "of hive-site.xml."
    )


def test_a_service_that_is_not_the_metastore(secured: SecuredHive, cache: Path) -> None:
    secured.kdc.kinit(cache)
    stranger = Security(Kerberos(server_principal=f"stranger@{REALM}"))
    assert refusal(secured.metastore_uri, stranger) == (
        "it refused the GSSAPI login: GSS initiate failed\n"
        f"The ticket for stranger@{REALM} is not for this metastore, or the clocks differ: set "
        "Kerberos(server_principal=…) to hive.metastore.kerberos.principal of the metastore's "
        "hive-site.xml. Its log has the reason."
    )


def test_a_wrong_realm(secured: SecuredHive, cache: Path) -> None:
    secured.kdc.kinit(cache)
    wrong = Security(Kerberos(server_principal="hive/localhost@NOWHERE.COM"))
    reason, advice = refusal(secured.metastore_uri, wrong).splitlines()
    assert reason.startswith("Kerberos: ") and "NOWHERE.COM" in reason, reason
    keytab = str(secured.kdc.keytab("dbt"))
    unknown = Security(Kerberos(principal="dbt@NOWHERE.COM", keytab=keytab))
    assert refusal(secured.metastore_uri, unknown) == (
        f"the keytab {keytab} has no key of dbt@NOWHERE.COM; it has keys of {CLIENT}\n"
        "Set `principal` of Kerberos to a principal of the keytab."
    )


def test_a_keytab_that_is_not_there(secured: SecuredHive, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.keytab")
    security = Security(Kerberos(principal=CLIENT, keytab=missing))
    assert refusal(secured.metastore_uri, security) == (
        f"the keytab {missing} cannot be read: No such file or directory\n"
        "Check `keytab` of Kerberos, and that the user of this process may read the file."
    )


def test_a_keytab_without_the_principal(secured: SecuredHive) -> None:
    keytab = str(secured.kdc.keytab("stranger"))
    security = Security(Kerberos(principal=CLIENT, keytab=keytab))
    assert refusal(secured.metastore_uri, security) == (
        f"the keytab {keytab} has no key of {CLIENT}; it has keys of stranger@{REALM}\n"
        "Set `principal` of Kerberos to a principal of the keytab."
    )


def test_a_keytab_of_old_keys(secured: SecuredHive, tmp_path: Path) -> None:
    # As of a principal whose password was changed after the export: another one's keys.
    old = tmp_path / "old.keytab"
    old.write_bytes(secured.kdc.keytab("old").read_bytes().replace(b"old", b"dbt"))
    started = time.monotonic()
    security = Security(Kerberos(principal=CLIENT, keytab=str(old)))
    reason, advice = refusal(secured.metastore_uri, security).splitlines()
    assert reason.startswith("Kerberos: ")
    assert advice.startswith("The keytab is stale: ")
    assert time.monotonic() - started < 10


def test_no_kdc(
    secured: SecuredHive, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "krb5.conf"
    known = secured.kdc.conf.read_text()
    conf.write_text(
        "\n".join(
            "  kdc = 127.0.0.1:1" if " kdc = " in line else line for line in known.splitlines()
        )
    )
    monkeypatch.setenv("KRB5_CONFIG", str(conf))
    keytab = str(secured.kdc.keytab("dbt"))
    # Another name of the file is another cache in memory.
    moved = tmp_path / "dbt.keytab"
    moved.write_bytes(Path(keytab).read_bytes())
    security = Security(Kerberos(principal=CLIENT, keytab=str(moved)))
    assert refusal(secured.metastore_uri, security) == (
        f"Kerberos: Cannot contact any KDC for realm '{REALM}'\n"
        "Check the realm and krb5.conf ($KRB5_CONFIG): the KDC of the realm must be named "
        "there and must answer."
    )


def test_a_plain_client(secured: SecuredHive) -> None:
    started = time.monotonic()
    with pytest.raises(MetastoreUnavailableError) as error:
        connect(secured.metastore_uri, Security()).get_config_value("metastore.nothing", "")
    assert time.monotonic() - started < 10
    message = error.value.message
    assert "Kerberos" in message and ("set `security`" in message)


def test_a_kerberos_client_at_a_plain_metastore(secured: SecuredHive, cache: Path) -> None:
    secured.kdc.kinit(cache)
    uri = secured.start_metastore({})
    assert refusal(uri, TICKET) == (
        "it asks for no login: it speaks plain Thrift\n"
        "Leave the login out of `security`, or check that metastore_uri is the secured metastore."
    )
    assert speak(uri, Security()) == "no authentication"
