"""Seeds of tests that choose at random."""

import os
import random


def fresh_seed(variable: str) -> int:
    """Return the seed that an environment variable names, else a fresh one."""
    return int(os.environ.get(variable) or random.SystemRandom().randrange(2**32))
