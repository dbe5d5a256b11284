"""Samples: tests of which `make test` runs a part, others with each fresh seed.

With SAMPLES=some one of n runs, as SAMPLES_SEED chooses; without it, as in `make long`, all run.
`@pytest.mark.sampled(n)` chooses from the functions of a file that are marked so, or from all
classes, `@pytest.mark.sampled(n, family)` from all functions of a family.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable

import pytest

from integration.support.seeds import fresh_seed

_SEED = fresh_seed("SAMPLES_SEED")
# The workers of pytest-xdist must choose the same tests.
os.environ["SAMPLES_SEED"] = str(_SEED)


def takes_samples() -> bool:
    """Return whether this run takes samples."""
    return os.environ.get("SAMPLES") == "some"


def sample_header() -> list[str]:
    """Return what pytest says of the sample before the tests."""
    return [f"sample: SAMPLES_SEED={_SEED}"] if takes_samples() else []


def take_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are not in the sample."""
    if not takes_samples():
        return
    families: dict[tuple[str, int], set[str]] = {}
    for item in items:
        if (one_in := _one_in(item)) is not None:
            family, unit = _family_and_unit(item)
            families.setdefault((family, one_in), set()).add(unit)
    chosen = {
        (family, unit)
        for (family, one_in), units in families.items()
        for unit in choose(units, one_in, f"{_SEED}/{family}")
    }
    left_out = {
        item for item in items if _one_in(item) is not None and _family_and_unit(item) not in chosen
    }
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def choose(units: Iterable[str], one_in: int, seed: str) -> list[str]:
    """Return one of so many units, at least one."""
    ordered = sorted(units)
    return random.Random(seed).sample(ordered, math.ceil(len(ordered) / one_in))


def _one_in(item: pytest.Item) -> int | None:
    mark = item.get_closest_marker("sampled")
    if mark is None or item.get_closest_marker("long") is not None:
        return None
    return int(mark.args[0])


def _family_and_unit(item: pytest.Item) -> tuple[str, str]:
    """Return what is chosen from, and what is chosen as a whole.

    The tests of a class share what they need, so that a class is chosen as a whole.
    """
    group = item.getparent(pytest.Class)
    if group is not None:
        return "classes", group.nodeid
    mark = item.get_closest_marker("sampled")
    assert mark is not None
    return str(mark.args[1]) if len(mark.args) > 1 else item.path.name, item.nodeid
