"""dbt.tests.adapter.grants."""

import pytest
from dbt.tests.adapter.grants.test_incremental_grants import BaseIncrementalGrants
from dbt.tests.adapter.grants.test_invalid_grants import BaseInvalidGrants
from dbt.tests.adapter.grants.test_model_grants import BaseModelGrants
from dbt.tests.adapter.grants.test_seed_grants import BaseSeedGrants
from dbt.tests.adapter.grants.test_snapshot_grants import BaseSnapshotGrants

NO_GRANT = "The statement or clause: GRANT is not valid"

no_grants = pytest.mark.skip(
    reason="Spark itself has no privileges; its parser refuses GRANT, REVOKE and SHOW GRANT "
    f"({NO_GRANT!r})."
)


@no_grants
class TestModelGrants(BaseModelGrants):
    pass


@no_grants
class TestIncrementalGrants(BaseIncrementalGrants):
    pass


@no_grants
class TestSeedGrants(BaseSeedGrants):
    pass


@no_grants
class TestSnapshotGrants(BaseSnapshotGrants):
    pass


class TestInvalidGrants(BaseInvalidGrants):
    @pytest.fixture(scope="class", autouse=True)
    def get_test_users(self, project):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DBT_TEST_USER_2", "user_2")
            yield ["user_2"]

    def grantee_does_not_exist_error(self):
        """What Spark says to any grant."""
        return NO_GRANT

    def privilege_does_not_exist_error(self):
        """The table is there by now, and dbt asks for its grants first: SHOW GRANT ON ..."""
        return "[PARSE_SYNTAX_ERROR] Syntax error at or near 'on'"
