"""dbt.tests.adapter.functions: user-defined functions."""

import pytest
from dbt.tests.adapter.functions.test_udfs import (
    CanFindScalarFunctionRelation,
    DeterministicUDF,
    ErrorForUnsupportedType,
    NonDeterministicUDF,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
    SqlUDFDefaultArgSupport,
    StableUDF,
    UDFsBasic,
)

#: tests/functional/test_sql_functions.py is about what is ours.
pytestmark = pytest.mark.conformance("made by dbt-spark alone")


class TestUDFsBasic(UDFsBasic):
    pass


class TestDeterministicUDF(DeterministicUDF):
    def check_function_volatility(self, sql):
        """Spark's word for it is DETERMINISTIC; Postgres' is IMMUTABLE."""
        assert " DETERMINISTIC" in sql
        assert "NOT DETERMINISTIC" not in sql


class TestNonDeterministicUDF(NonDeterministicUDF):
    def check_function_volatility(self, sql):
        """Spark's word for it is NOT DETERMINISTIC; Postgres' is VOLATILE."""
        assert "NOT DETERMINISTIC" in sql


class TestStableUDF(StableUDF):
    def check_function_volatility(self, sql):
        """Spark has no word for it, of which dbt warns; Postgres' is STABLE."""
        assert "DETERMINISTIC" not in sql
        assert "STABLE" not in sql


class TestErrorForUnsupportedType(ErrorForUnsupportedType):
    pass


class TestPythonUDFNotSupported(PythonUDFNotSupported):
    pass


class TestPythonUDFRuntimeVersionRequired(PythonUDFRuntimeVersionRequired):
    pass


class TestPythonUDFEntryPointRequired(PythonUDFEntryPointRequired):
    pass


class TestSqlUDFDefaultArgSupport(SqlUDFDefaultArgSupport):
    expect_default_arg_support = True


class TestCanFindScalarFunctionRelation(CanFindScalarFunctionRelation):
    pass
