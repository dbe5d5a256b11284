"""What a run of random histories with dbt runs did, as text."""

from __future__ import annotations

import datetime as dt
from collections import Counter

from integration.support.histories.incremental import FedHistories
from integration.support.histories.report import endings, listed, table
from integration.support.histories.targets import MODELS


def summary(histories: FedHistories, seconds: float) -> str:
    """A short account for a log."""
    ways = Counter[str]()
    for (_, way), count in histories.ways.items():
        ways[way] += count
    lines = [
        f"Incremental histories with seed {histories.seed}: {_counts(histories)} in {seconds:.0f} "
        "s.",
        f"Operations: {listed(histories.tally.operations)}.",
        f"Sources: {listed(histories.kinds)}.",
        f"Comparisons: {listed(histories.compared)}.",
        f"Ways: {listed(ways)}.",
    ]
    lines += [
        f"Failed in Hive: {failure.reason[:500]}" for failure in histories.tally.failed_in_hive
    ]
    return "\n".join(lines)


def document(histories: FedHistories, seconds: float, today: dt.date) -> str:
    """The content of docs/incremental-histories.md."""
    tally = histories.tally
    lines = [
        "# Random histories with dbt runs",
        "",
        "Random operations in a real Hive 4.0.1, with dbt runs between them. One table feeds "
        "incremental models of every kind. After each run, and after a `dbt run --full-refresh` at "
        "the end, each target must have the rows that Hive answers to the model's query; a model "
        "with `max_write_ids` once it has nothing left to do. `make long` runs them and writes "
        "this page; one history with a fresh seed is part of `make test`.",
        "",
        f"The last long run: {today.isoformat()}, seed {histories.seed}, {seconds / 60:.0f} "
        f"minutes, {_counts(histories)}.",
        "",
        *_ways(histories),
        "",
        *table("operation", tally.operations),
        "",
        *table("source", tally.shapes),
    ]
    return "\n".join([*lines, *endings(tally)]) + "\n"


def _counts(histories: FedHistories) -> str:
    tally = histories.tally
    runs = sum(n for name, n in tally.operations.items() if name.startswith("dbt"))
    return (
        f"{tally.tables} histories, {tally.operations.total() - runs} operations, {runs} dbt runs, "
        f"{histories.compared.total()} comparisons of a target, {len(tally.mismatches)} "
        f"mismatches, {len(tally.failed_in_hive)} failed in Hive"
    )


def _ways(histories: FedHistories) -> list[str]:
    """How often each model took which way."""
    ways = sorted({way for _, way in histories.ways})
    counts = [[str(histories.ways[model, way] or "") for model in MODELS] for way in ways]
    compared = [str(histories.compared[model]) for model in MODELS]
    return [
        "| what a run did | " + " | ".join(f"`{model}`" for model in MODELS) + " |",
        "|---|" + "---:|" * len(MODELS),
        *(f"| {way} | {' | '.join(row)} |" for way, row in zip(ways, counts, strict=True)),
        f"| comparisons | {' | '.join(compared)} |",
    ]
