"""A failed poll or other step on a claimed row: written on the row and in the log, and tried again later."""

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
    """How a step went; `failure` is None when it ended well or another worker took the row over."""

    failure: vertex.VertexError | None = None


@contextmanager
def record_failure(row: PollTarget, *, now: datetime) -> Iterator[StepResult]:
    """Run one step on a claimed row; what it raises is written on the row, which is then due again later.

    The pause doubles with each failure in a row, up to five minutes. A claim that was lost ends the step without a
    trace: the worker that has it writes its own. Raises what the database raises while the failure is written down;
    then the claim runs out and the row is due again after that.
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
