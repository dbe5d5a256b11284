"""What a run of random histories with dbt runs did, as text."""

from __future__ import annotations

import datetime as dt
from collections import Counter

from integration.support.histories.hives import histories_hive
from integration.support.histories.incremental import FedHistories
from integration.support.histories.report import listed, ran, shared, write_section
from integration.support.histories.targets import MODELS


def summary(histories: FedHistories, seconds: float) -> str:
    """A short account for a log."""
    lines = [
        f"Incremental histories with seed {histories.seed}: {_counts(histories)} in {seconds:.0f} "
        "s.",
        f"Operations: {listed(histories.tally.operations)}.",
        f"Sources: {listed(histories.kinds)}.",
        f"Comparisons: {listed(histories.compared)}.",
        f"Ways: {listed(_ways(histories))}.",
    ]
    lines += [
        f"Failed in Hive: {failure.reason[:500]}" for failure in histories.tally.failed_in_hive
    ]
    return "\n".join(lines)


def write_runs(histories: FedHistories, seconds: float, today: dt.date) -> None:
    """Write the section on dbt runs in the Hive that is chosen."""
    version, tally = histories_hive(), histories.tally
    paragraphs = [
        f"{ran(today, histories.seed, seconds)}: {_counts(histories)}.",
        f"What the runs did to the {len(MODELS)} models: {listed(_ways(histories))}.",
        *shared(tally, version),
    ]
    write_section(f"dbt runs on Hive {version}", paragraphs)


def _counts(histories: FedHistories) -> str:
    tally = histories.tally
    runs = sum(n for name, n in tally.operations.items() if name.startswith("dbt"))
    return (
        f"{tally.tables} histories, {tally.operations.total() - runs} operations, {runs} dbt runs, "
        f"{histories.compared.total()} comparisons of a target, {len(tally.mismatches)} "
        f"mismatches, {len(tally.failed_in_hive)} failures of Hive"
    )


def _ways(histories: FedHistories) -> Counter[str]:
    """Return how often models took each way."""
    ways = Counter[str]()
    for (_, way), count in histories.ways.items():
        ways[way] += count
    return ways
