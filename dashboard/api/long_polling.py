"""Long polling under WSGI. A waiting request holds a thread of its process, so only one waits at a time.

A web process has four threads (see `dashboard/management/supervisor/plan.py`). One of them may wait for news, for
MAX_WAIT_SECONDS at most. Further requests are answered at once with the time to ask again, so watching never uses the
threads that pages need, however many people watch. Server-sent events would hold a thread for each of them.
"""

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TypeVar

Item = TypeVar("Item")
MAX_WAIT_SECONDS = 20
LOOK_SECONDS = 1.0
_free = threading.BoundedSemaphore(1)
_never = threading.Event()


def wait_for(look: Callable[[], Sequence[Item]], seconds: float) -> tuple[bool, list[Item]]:
    """Call `look` until it returns something or the time is over. Return (True, the result).

    Return (False, []) without calling it if another request of this process is waiting.
    """
    if not _free.acquire(blocking=False):
        return False, []
    try:
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            _never.wait(min(LOOK_SECONDS, left))
            if found := look():
                return True, list(found)
        return True, []
    finally:
        _free.release()
