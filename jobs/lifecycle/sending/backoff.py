"""How long to wait after a step that failed."""

from datetime import timedelta

from jobs.vertex import VertexError

FIRST_PAUSE = timedelta(seconds=2)
MAX_PAUSE = timedelta(minutes=5)


def pause_after(error: VertexError | None, failures: int) -> timedelta:
    """Return what Vertex AI asked for, else a pause that doubles with every failure in a row, up to five minutes."""
    asked = error.retry_after if error is not None else None
    return asked or min(FIRST_PAUSE * 2 ** min(failures, 10), MAX_PAUSE)
