"""Keys of the profile for secured metastores."""

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from hiveacid.metastore.security.settings import (
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    Tls,
    UserName,
)

MINIMAL = {"schema": "marts", "metastore_uri": "thrift://metastore:9083"}
KEYTAB = {"kerberos_principal": "dbt@A", "kerberos_keytab": "/dbt.keytab"}


def read(**keys):
    data = {**MINIMAL, **keys}
    HiveAcidCredentials.validate(data)
    return HiveAcidCredentials.from_dict(data)


@pytest.mark.parametrize(
    ("keys", "security"),
    [
        ({}, Security()),
        ({"auth": "NOSASL"}, Security()),
        ({"user": "ann"}, Security(UserName("ann"))),
        ({"auth": "KERBEROS"}, Security(Kerberos())),
        (
            {"auth": "kerberos", **KEYTAB, "kerberos_service_name": "hms"},
            Security(Kerberos("hms", "dbt@A", "/dbt.keytab")),
        ),
        (
            {"auth": "kerberos", "kerberos_server_principal": "hive/_HOST@A"},
            Security(Kerberos(server_principal="hive/_HOST@A")),
        ),
        ({"auth": "LDAP", "user": "a", "password": 1}, Security(Password("a", "1"))),
        ({"auth": "jwt", "token": "t"}, Security(Jwt("t"), None, "metastore")),
        (
            {"auth": "jwt", "token_file": "t", "http_path": "hms", "use_ssl": "true"},
            Security(Jwt(file="t"), Tls(), "hms"),
        ),
        ({"auth": "delegation_token"}, Security(DelegationToken())),
        (
            {"use_ssl": True, "ssl_ca_file": "ca.pem", "ssl_check_hostname": "False"},
            Security(tls=Tls("ca.pem", False)),
        ),
        (
            {"user": "ann", "use_http_transport": True},
            Security(UserName("ann"), None, "metastore"),
        ),
    ],
)
def test_the_keys_make_the_librarys_settings(keys, security):
    assert read(**keys).security == security


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"auth": "sasl"}, "`auth` must be one of none, kerberos, plain, jwt, delegation_token"),
        ({"auth": 7}, "`auth` must be one of"),
        ({"password": "s3cret"}, "`password` needs `auth: plain`, and `auth` is none"),
        ({"token": "s3cret"}, "`token` needs `auth: jwt`, and `auth` is none"),
        (KEYTAB, "`kerberos_keytab` needs `auth: kerberos`, and `auth` is none"),
        ({"auth": "kerberos", "user": "a"}, "`user` needs `auth: none or plain`"),
        (
            {"auth": "kerberos", "kerberos_keytab": "a"},
            "go together; without both, the ticket cache",
        ),
        ({"auth": "plain"}, "`auth: plain` needs `user` and `password`"),
        ({"auth": "jwt"}, "`auth: jwt` needs one of `token` and `token_file`"),
        ({"auth": "jwt", "token": "s3cret", "token_file": "b"}, "needs one of `token` and"),
        ({"ssl_ca_file": "ca.pem"}, "`ssl_ca_file` needs `use_ssl: true`"),
        ({"use_ssl": "yes"}, "`use_ssl` must be true or false, not 'yes'"),
        (
            {"auth": "kerberos", "use_http_transport": True},
            "`use_http_transport` does not work with `auth: kerberos`",
        ),
        (
            {"auth": "kerberos", "kerberos_server_principal": "hive"},
            "must be as hive/_HOST@EXAMPLE.COM, not 'hive'",
        ),
        ({"auth": "plain", "user": "a", "password": ["s3cret"]}, "`password` must be a text in"),
        ({"auth": "jwt", "token": {"s3cret": 1}}, "`token` must be a text in quotes"),
    ],
)
def test_what_does_not_go_together(keys, problem):
    with pytest.raises(DbtRuntimeError) as error:
        read(**keys)
    assert problem in error.value.msg
    assert "s3cret" not in error.value.msg


def test_all_problems_are_told_at_once():
    with pytest.raises(DbtRuntimeError) as error:
        read(auth="plain", ssl_ca_file="a", lock_timeout="soon")
    for problem in ("`auth: plain` needs", "`ssl_ca_file` needs", "`lock_timeout` must be"):
        assert problem in error.value.msg


def test_secrets_are_shown_nowhere():
    plain = read(auth="plain", user="ann", password="s3cret")
    jwt = read(auth="jwt", token="s3cret")
    for credentials in (plain, jwt):
        shown = dict(credentials.connection_info())
        assert "s3cret" not in f"{shown}{credentials!r}{credentials}{credentials.security!r}"
    assert dict(plain.connection_info())["user"] == "ann"
