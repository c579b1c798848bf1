"""How often Google may be called: one budget for all workers, kept in Redis, below Google's own quota.

Google counts per project and region: 60 creations and deletions a minute, 600 of everything else; Cloud Logging counts
60 reads a minute per project (vertex-facts 10.1 and 11.1). A call that does not fit is not made: its row becomes due
again when it fits, so that nobody waits inside a worker.

The rule is exact: at most `rate` calls in any sixty seconds. Redis keeps the times of the last `rate` calls; the oldest
of them has to be a minute old. Its own clock counts, so workers on several machines need not agree on the time. Without
Redis each process allows itself a small share of the rate; it is never unlimited.
"""

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

from jobs.vertex import RateLimited

MINUTE = timedelta(minutes=1)
PATIENCE_SECONDS = 0.5
UNREACHABLE_SECONDS = 5.0
"""How long Redis is not asked again after it did not answer, so that each call does not pay for it anew."""
SHARE = 5
"""Without Redis a process allows itself a fifth of the rate: several such processes stay below it together."""

# `%.0f`, because Lua writes a number with fourteen digits and the microseconds of today have sixteen.
TAKE = """
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local rate = tonumber(ARGV[1])
if redis.call('LLEN', KEYS[1]) >= rate then
  local free = redis.call('LINDEX', KEYS[1], rate - 1) + 60000000
  if free > now then return free - now end
end
redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
redis.call('LTRIM', KEYS[1], 0, rate - 1)
redis.call('PEXPIRE', KEYS[1], 60000)
return 0
"""
"""Returns 0 and counts the call, or returns after how many microseconds it fits. One script, so it cannot be split."""


class OverRateLimit(RateLimited):
    """Our own limit is used up; the call was not made. `retry_after` is when it fits."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Calls of one sort that are counted together. `region` is empty for logs, which are counted per project."""

    call: str
    project: str
    region: str
    rate: int

    @property
    def key(self) -> str:
        """Its name in Redis."""
        return f"trainboard:calls:{self.call}:{self.project}:{self.region}"

    @property
    def words(self) -> str:
        """Return the limit in words."""
        where = f"{self.project} in {self.region}" if self.region else self.project
        return f"Trainboard makes at most {self.rate} {self.call} calls a minute for {where}, so as to stay in quota"


@dataclass(slots=True)
class _Alone:
    """What a process knows for itself: its own calls while Redis is gone, and since when it is."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    calls: dict[str, deque[datetime]] = field(default_factory=dict)
    unreachable_until: float = 0.0


_alone = _Alone()


def creates(project: str, region: str) -> Bucket:
    """Creations and deletions."""
    return Bucket("create", project, region, settings.CREATES_PER_MINUTE)


def reads(project: str, region: str) -> Bucket:
    """Everything else that Vertex AI is asked: get, list, cancel. A list costs one call for each of its pages."""
    return Bucket("read", project, region, settings.READS_PER_MINUTE)


def log_reads(project: str) -> Bucket:
    """Reads of Cloud Logging, one for each page."""
    return Bucket("log", project, "", settings.LOG_READS_PER_MINUTE)


def take(bucket: Bucket, *, now: datetime) -> timedelta:
    """Count a call that is about to be made and return zero; or count nothing and return after how long it fits.

    `now` only matters while Redis is gone. Raises nothing.
    """
    if time.monotonic() >= _alone.unreachable_until:
        try:
            wait = _script(settings.REDIS_URL)(keys=[bucket.key], args=[bucket.rate])
            return timedelta(microseconds=int(wait))
        except (RedisError, OSError, ValueError):  # ValueError: an address that is none
            _alone.unreachable_until = time.monotonic() + UNREACHABLE_SECONDS
    return _take_alone(bucket, now)


def spend(bucket: Bucket, *, now: datetime) -> None:
    """Count a call that is about to be made; raises OverBudget when it does not fit now."""
    if wait := take(bucket, now=now):
        raise OverRateLimit(f"{bucket.words}.", retry_after=wait)


def forget() -> None:
    """Forget what this process counted by itself, and ask Redis again at once."""
    with _alone.lock:
        _alone.calls.clear()
        _alone.unreachable_until = 0.0


def _take_alone(bucket: Bucket, now: datetime) -> timedelta:
    most = max(bucket.rate // SHARE, 1)
    with _alone.lock:
        calls = _alone.calls.setdefault(bucket.key, deque())
        while calls and calls[0] <= now - MINUTE:
            calls.popleft()
        if len(calls) >= most:
            return max(calls[-most] + MINUTE - now, timedelta(milliseconds=1))
        calls.append(now)
        return timedelta()


@lru_cache(maxsize=4)
def _script(url: str) -> Script:
    client = Redis.from_url(
        url,
        socket_connect_timeout=PATIENCE_SECONDS,
        socket_timeout=PATIENCE_SECONDS,
        retry=Retry(NoBackoff(), 1),  # a connection that is from before a restart of Redis
    )
    return client.register_script(TAKE)
