"""What pytest takes from the top-level conftest only."""

import os

import hypothesis
import pytest
from dbt_common.tests import enable_test_caching

# dbt's fixtures of a project and a profile; the page on dbt's own tests.
pytest_plugins = ["dbt.tests.fixtures.project", "tests.functional.conformance.report"]

# So that their assertions show what differs.
pytest.register_assert_rewrite(
    "integration.changes", "integration.differential", "integration.dbt_project"
)

# Each test's project has dbt's and our macros anew: dbt keeps what it has parsed of them.
enable_test_caching()

# What CI says of a commit must not depend on luck; a developer's runs look for new examples.
# Nor on what else its machine has to do.
hypothesis.settings.register_profile(
    "ci", derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")
