"""Record a failed poll or other step on its claimed row and in the log, and schedule it again."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from jobs import vertex
from jobs.errors import Unexpected
from jobs.models.polling import PollTarget
from jobs.queue import claims

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class StepResult:
    """The result of a step. `failure` is None if it succeeded or another worker has claimed the row."""

    failure: vertex.VertexError | None = None


@contextmanager
def record_failure(row: PollTarget, *, now: datetime) -> Iterator[StepResult]:
    """Run one step on a claimed row. An exception is recorded on the row, which becomes due again later.

    The pause doubles with each failure in a row, up to five minutes. A lost claim ends the step and nothing is
    recorded, because the worker that now holds the claim records its own result. Database errors while the failure is
    recorded are raised; the row then becomes due again after the claim has expired.
    """
    result = StepResult()
    try:
        yield result
    except claims.ClaimLost:
        return
    except vertex.VertexError as error:
        result.failure = error
    except Exception as error:
        logger.exception("a step ended unexpectedly: %s", row)
        result.failure = Unexpected(error)
    if result.failure is not None:
        claims.release_failed(row, result.failure, now=now)
