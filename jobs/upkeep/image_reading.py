"""Read whether the container images that forms name exist, and whether their output folders hold checkpoints.

A worker does this on request.
"""

from datetime import datetime

from jobs import known_images
from jobs.bounds import bounded
from jobs.clients import platform_client
from jobs.models import ImageReading
from jobs.observation.cadence import Stopwatch
from jobs.observation.checkpoints import checkpoints_below
from jobs.observation.failures import record_failure
from jobs.queue import claims
from jobs.spec.images import ImageStatus, registry_image
from jobs.vertex import VertexError
from jobs.vertex.images import ImageAnswer

UPKEEP = "images"
MAX_IMAGES = 100
"""Images read in one run."""
MAX_ERROR_LENGTH = 300


def read_when_due(now: datetime) -> None:
    """Read the images that wait for an answer, those that have waited longest first. Only one worker does this.

    A failed read is not repeated. The next form that names the image requests it again after some minutes.
    """
    if not ImageReading.objects.filter(due_at__lte=now).exists():
        return
    held = claims.claim_upkeep(UPKEEP, now)
    if held is None:
        return
    watch, count = Stopwatch(now), 0
    with record_failure(held, now=now):
        while count < MAX_IMAGES and not watch.has_run_out and (row := _next(watch.now)) is not None:
            claims.keep_poll(held, now=watch.now)
            read_image(row, now=watch.now)
            count += 1
        claims.release_poll(held, due_at=now, answered_at=now, result={"images": count})


def read_image(row: ImageReading, *, now: datetime) -> None:
    """Read one image or folder and save the answer.

    If the account may not see it or no answer comes, the status is unknown. The answer is dropped if another account
    has requested the image meanwhile.
    """
    image, error = registry_image(row.name), ""
    answer = ImageAnswer(ImageStatus.UNKNOWN)
    try:
        if known_images.is_folder(row.name):
            found = checkpoints_below(row.name, row.acts_as)
            status = ImageStatus.CHECKPOINTS if found else ImageStatus.NO_CHECKPOINTS
            answer = ImageAnswer(status, found[-1][2] if found else None)
        elif image is not None:
            answer = platform_client(row.acts_as).image(image)
    except VertexError as reason:
        error = bounded(str(reason), MAX_ERROR_LENGTH)
    ImageReading.objects.filter(pk=row.pk, acts_as=row.acts_as).update(
        due_at=None, read_at=now, status=answer.status, size_bytes=answer.size_bytes, last_error=error
    )
    known_images.forget()


def _next(now: datetime) -> ImageReading | None:
    return ImageReading.objects.filter(due_at__lte=now).order_by("due_at", "pk").first()
