"""How many examples hypothesis tries of a property."""

import os

from hypothesis import settings


def examples(count: int) -> settings:
    """Return settings for so many examples; in CI, where they are always the same, a third."""
    return settings(max_examples=count // 3 if os.environ.get("CI") else count, deadline=None)
