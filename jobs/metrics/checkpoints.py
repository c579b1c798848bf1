"""Find the checkpoints among the objects of an output folder. Pure."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

_CHECKPOINT = re.compile(r"(?:^|/)(?:checkpoints?|ckpts?)(?:[/_.-]|\d)|checkpoint|\.ckpt|\.(?:pt|pth|h5|keras)$", re.I)
"""Names that Keras, PyTorch, Lightning, Trainer and JAX give to checkpoints.

AIP_CHECKPOINT_DIR is <folder>/checkpoints/ (docs: "Environment variables for special Cloud Storage directories", read
2026-11-21).
"""
SAME = timedelta(seconds=60)
"""Files written within this time belong to one checkpoint, which is dated by the last of them."""
MAX_CHECKPOINTS = 50

Checkpoint = tuple[datetime, str, int]
"""(when its last file was written, that file's name, bytes of all its files)"""


def checkpoints_in(files: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Return the newest checkpoints among files (time, name, bytes), oldest first."""
    found: list[Checkpoint] = []
    for at, name, size in sorted(each for each in files if _CHECKPOINT.search(each[1])):
        if found and at - found[-1][0] <= SAME:
            found[-1] = (at, name, found[-1][2] + size)
        else:
            found.append((at, name, size))
    return found[-MAX_CHECKPOINTS:]
