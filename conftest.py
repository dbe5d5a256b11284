"""What pytest takes from the top-level conftest only."""

import pytest

# dbt's fixtures of a project and a profile.
pytest_plugins = ["dbt.tests.fixtures.project"]

# So that their assertions show what differs.
pytest.register_assert_rewrite("integration.differential", "integration.dbt_project")
