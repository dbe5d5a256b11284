"""The library's errors as dbt shows them."""

from dbt.adapters.hiveacid.errors import as_dbt_error
from hiveacid.errors import MetastoreSecurityError, MetastoreUnavailableError


def test_an_error_of_a_login_names_keys_of_the_profile_too():
    said = str(as_dbt_error(MetastoreSecurityError("Set Kerberos(principal=…, keytab=…).")))
    assert "[HIVEACID_METASTORE_LOGIN_FAILED] Set Kerberos(principal=…, keytab=…).\n" in said
    assert "In a profile `security` is auth, use_ssl" in said and "kerberos_principal" in said
    assert "profile" not in str(as_dbt_error(MetastoreUnavailableError("No answer.")))
