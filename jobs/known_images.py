"""Cached facts about the container images and the output folder that a form names. A worker looks up unknown ones.

A page never waits for Artifact Registry or Cloud Storage. It shows what is stored and asks a worker for the rest; the
worker calls as the service account of the team. An answer is reused for the time in `FRESH`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from jobs.bounds import is_storable
from jobs.cache import Recent
from jobs.models import ImageReading, Team
from jobs.spec.cloud_storage import SCHEME
from jobs.spec.images import MAX_NAME_LENGTH, ImageState, ImageStatus, registry_image

FRESH = {
    ImageStatus.FOUND: timedelta(hours=1),
    ImageStatus.NO_IMAGE: timedelta(minutes=1),
    ImageStatus.NO_REPOSITORY: timedelta(minutes=1),
    ImageStatus.CHECKPOINTS: timedelta(minutes=5),
    ImageStatus.NO_CHECKPOINTS: timedelta(minutes=5),
    ImageStatus.UNKNOWN: timedelta(minutes=5),
}
"""How long an answer is reused. A missing image is checked again soon, because people push it and look again."""
MAX_AGE = timedelta(days=1)
"""Older answers are not shown."""
PATIENCE = timedelta(seconds=30)
"""How long to wait for an answer; after this time the image is asked about again."""
MINUTE = timedelta(minutes=1)
MAX_ASKED_A_MINUTE = 20
"""Lookups per team. People type few names a minute, and each takes up to three calls."""
MAX_KEPT = 200
"""Stored readings per team; the ones asked about longest ago are deleted first."""
KEPT = timedelta(days=30)
LOOKED_UP_EVERY = 2
"""Seconds for which a process caches readings, since a form is assessed at almost every key press."""


class Known(NamedTuple):
    """What is known of images and folders, by name; a state without a status is pending.

    `is_asked`: a worker has lookups to do.
    """

    states: Mapping[str, ImageState] = {}
    is_asked: bool = False


def known_images(team: Team, names: Iterable[str], *, now: datetime) -> Known:
    """Return what is known of the images and folders that can be looked up, and ask a worker for the rest.

    This takes one query if all are known. Those that could not be looked up, or not recently enough, are left out.
    """
    wanted = {name for name in names if is_storable(name) and (is_folder(name) or registry_image(name) is not None)}
    if not wanted:
        return Known()
    rows = {row.name: row for row in _readings.get((team.pk, team.acts_as, frozenset(wanted)), now)}
    unknown = sorted(name for name in wanted if _is_unknown(rows.get(name), now))
    asked = _ask(team, unknown, rows, now) if unknown else []
    rows |= {row.name: row for row in asked}
    states = {name: state for name, row in rows.items() if (state := _state(row, now)) is not None}
    return Known(states, bool(asked))


def is_folder(name: str) -> bool:
    """Return whether a name is that of a folder in Cloud Storage which can be looked up."""
    return name.startswith(SCHEME) and len(name) <= MAX_NAME_LENGTH


def forget() -> None:
    """Discard cached readings; call it after writing an answer."""
    _readings.forget_changed()


def _load(key: tuple[int, str, frozenset[str]], _: datetime) -> list[ImageReading]:
    team, acts_as, names = key
    return list(ImageReading.objects.filter(team=team, acts_as=acts_as, name__in=names))


_readings: Recent[tuple[int, str, frozenset[str]], list[ImageReading]] = Recent(_load, seconds=LOOKED_UP_EVERY)


def _ask(team: Team, names: Iterable[str], rows: Mapping[str, ImageReading], now: datetime) -> list[ImageReading]:
    """Request lookups that the team may make, within its rate limit, and return their rows."""
    kept = ImageReading.objects.filter(team=team)
    room = MAX_ASKED_A_MINUTE - kept.filter(asked_at__gt=now - MINUTE).count()
    waiting = [
        rows.get(name) or ImageReading(team=team, name=name, acts_as=team.acts_as)
        for name in names
        if _may_ask(team, name)
    ][: max(room, 0)]
    for row in waiting:
        row.asked_at = row.due_at = now
    again, new = [row.pk for row in waiting if row.pk], [row for row in waiting if not row.pk]
    kept.filter(pk__in=again).update(asked_at=now, due_at=now)
    ImageReading.objects.bulk_create(
        new, update_conflicts=True, unique_fields=["team", "name"],
        update_fields=["acts_as", "asked_at", "due_at", "read_at", "status", "size_bytes", "last_error"],
    )  # fmt: skip
    forget()
    if new:
        oldest = kept.order_by("-asked_at", "-pk").values_list("pk", flat=True)[MAX_KEPT:]
        kept.filter(pk__in=list(oldest)).delete()
    return waiting


def _may_ask(team: Team, name: str) -> bool:
    """Return whether an image may be looked up for a team.

    A team's own service account sees only what it was granted. Trainboard's account sees what every team granted it, so
    it does not look up an image in a project of other teams, and only folders of the team's own bucket.
    """
    if is_folder(name):
        bucket = name.removeprefix(SCHEME).partition("/")[0]
        return bool(team.acts_as) or bucket == team.bucket.removeprefix(SCHEME).strip("/")
    image = registry_image(name)
    assert image is not None
    owners = set(Team.objects.allowed_in(image.project).values_list("pk", flat=True)) if not team.acts_as else set()
    return not owners or team.pk in owners


def _is_unknown(row: ImageReading | None, now: datetime) -> bool:
    if row is None:
        return True
    if row.read_at is None or row.due_at is not None:
        return now - row.asked_at > PATIENCE
    return now - row.read_at > FRESH[ImageStatus(row.status)]


def _state(row: ImageReading, now: datetime) -> ImageState | None:
    if row.status and row.status != ImageStatus.UNKNOWN and row.read_at is not None and now - row.read_at <= MAX_AGE:
        return ImageState(ImageStatus(row.status), row.size_bytes, row.read_at)
    return ImageState(None) if row.due_at is not None and now - row.asked_at <= PATIENCE else None
