"""List the checkpoints in a job's output folder while it runs and somebody views it. No file is read or written.

A failure is recorded with the job's metrics and never changes the job's state.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from jobs import bounds, vertex
from jobs.clients import client
from jobs.models import Job, JobMetrics
from jobs.observation import cadence
from jobs.spec.body import output_folder

MAX_OBJECTS = 3_000
PAUSE = timedelta(minutes=1)
MAX_NAME_CHARACTERS = 400
FOLDERS = ("checkpoints", "")
"""Subfolders of the output folder: where AIP_CHECKPOINT_DIR points, and if that is empty the whole output folder."""
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


def list_checkpoints(job: Job, *, now: datetime) -> None:
    """List the checkpoints of a running job, at most once a minute, and keep the newest.

    A tuning job has none, because each of its trials has its own folder.
    """
    folder = output_folder(job.spec).rstrip("/")
    if not folder or job.started_at is None or job.trial_seconds is not None:
        return
    kept = JobMetrics.objects.filter(job=job).first() or JobMetrics(job=job)
    if kept.checkpoints_read_at is not None and now - kept.checkpoints_read_at < PAUSE:
        return
    kept.checkpoints_read_at, kept.checkpoints_error = now, ""
    try:
        with vertex.at_most(cadence.PROBE_SECONDS):
            kept.checkpoints = checkpoints_below(folder, job.acts_as)
    except vertex.VertexError as error:
        kept.checkpoints_error = bounds.bounded(f"The output folder could not be listed: {error}", 500)
    if kept._state.adding:
        kept.save()
    else:
        kept.save(update_fields=["checkpoints", "checkpoints_read_at", "checkpoints_error"])


def checkpoints_below(folder: str, acts_as: str) -> list[tuple[float, str, int]]:
    """Return (seconds since 1970, name, bytes) of the newest checkpoints in a folder, oldest first. Raise VertexError.

    `folder` has no slash at its end; `acts_as` is the account that lists it.
    """
    for below in FOLDERS:
        files = client(acts_as).objects(f"{folder}/{below}", limit=MAX_OBJECTS)
        found = checkpoints_in((each.updated, each.name, each.size) for each in files)
        if found:
            return [(at.timestamp(), bounds.bounded(name, MAX_NAME_CHARACTERS), size) for at, name, size in found]
    return []


def checkpoints_in(files: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Return the newest checkpoints among files (time, name, bytes), oldest first."""
    found: list[Checkpoint] = []
    for at, name, size in sorted(each for each in files if _CHECKPOINT.search(each[1])):
        if found and at - found[-1][0] <= SAME:
            found[-1] = (at, name, found[-1][2] + size)
        else:
            found.append((at, name, size))
    return found[-MAX_CHECKPOINTS:]
