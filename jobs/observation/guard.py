"""What ends a look, whatever it is, leaves its trace on the row and in the log, and lets the row back off."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from jobs import vertex
from jobs.errors import Unexpected
from jobs.models.poll_target import PollTarget
from jobs.queue import claims

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Guarded:
    """How a guarded look went; `failure` is None when it ended well or another worker took the row over."""

    failure: vertex.VertexError | None = None


@contextmanager
def guarded(row: PollTarget, *, now: datetime) -> Iterator[Guarded]:
    """Run one look at a claimed row; what it raises is written on the row, which is then looked at again later.

    The pause doubles with each failure in a row, up to five minutes. A claim that was lost ends the look without a
    trace: the worker that has it writes its own. Raises what the database raises while the failure is written down;
    then the claim runs out and the row is looked at again after that.
    """
    look = Guarded()
    try:
        yield look
    except claims.ClaimLost:
        return
    except vertex.VertexError as error:
        look.failure = error
    except Exception as error:
        logger.exception("a look ended unexpectedly: %s", row)
        look.failure = Unexpected(error)
    if look.failure is not None:
        claims.release_failed(row, look.failure, now=now)
