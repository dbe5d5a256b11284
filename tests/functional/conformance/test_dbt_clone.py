"""dbt.tests.adapter.dbt_clone: Delta is what Spark can clone."""

from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)

from tests.functional.conformance.formats import Delta


class TestClonePossibleDelta(Delta, BaseClonePossible):
    pass


class TestCloneNotPossibleDelta(Delta, BaseCloneNotPossible):
    pass


class TestCloneSameSourceAndTargetDelta(Delta, BaseCloneSameSourceAndTarget):
    pass


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass
