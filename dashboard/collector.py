"""Python's garbage collector, set for a process that serves until it is stopped."""

import gc

MANY = 20_000
"""New objects before the collector looks: a page makes tens of thousands, and nearly all are gone without it."""


def settle() -> None:
    """Leave alone what is loaded by now, for it stays until the end, and look at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MANY, 20, 20)
