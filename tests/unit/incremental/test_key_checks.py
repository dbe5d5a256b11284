import pytest
from pyspark.sql import Row

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.key_checks import check_new_key
from dbt.adapters.hiveacid.targets.state import TargetState
from tests.unit.incremental.runs import Statements, context

STORED = ["id", "day", "amount"]


@pytest.mark.parametrize(
    ("known", "config", "is_looked_at"),
    [
        (TargetState("c", "i", "l", 1, {}, unique_key=("day", "id")), {}, False),
        (TargetState("c", "i", "l", 1, {}, unique_key=("id",)), {}, True),
        # That of a model that had no key, or of one from before it was kept.
        (TargetState("c", "i", "l", 1, {}), {}, True),
        (TargetState("c", "i", "l", 1, {}), {"incremental_strategy": "merge"}, False),
        (TargetState("c", "i", "l", 1, {}), {"unique_key": ["id", "new"]}, False),
    ],
)
def test_a_new_key_has_to_tell_the_rows_apart_that_are_there(known, config, is_looked_at):
    statements = Statements()
    run = context(statements, **{"file_format": "delta", "unique_key": ["Id", "`day`"], **config})
    statements.query = lambda sql: [{"key": Row(id=3, day=1), "times": 2}]
    if not is_looked_at:
        check_new_key(run, known, STORED)
        return
    with pytest.raises(
        IncrementalError, match=r"2 rows with the same value .* \(id = 3, day = 1\)"
    ):
        check_new_key(run, known, STORED)
    statements.query = lambda sql: statements.queries.append(sql) or []
    check_new_key(run, known, STORED)
    assert "group by `Id`, `day` having count(*) > 1" in statements.queries[0]
