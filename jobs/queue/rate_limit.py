"""Limit the calls to Google: one rate limit for all workers, kept in Redis, below Google's own quota.

Google counts per project and region: 60 creations and deletions a minute, and 600 of all other calls. Cloud Logging
counts 60 reads a minute per project (vertex-facts 10.1 and 11.1). A call over the limit is not made. Its row becomes
due again when the limit allows it, so that no worker waits.

The limit is exact: at most `rate` calls in any sixty seconds. Redis stores the times of the last `rate` calls, and the
oldest of them has to be a minute old. Redis uses its own clock, so the clocks of workers on several machines need not
agree. Without Redis each process may make a small share of the calls; calls are never unlimited.
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
"""How long Redis is not tried again after it did not answer, so that not every call has to wait for the timeout."""
SHARE = 5
"""Without Redis a process may make a fifth of the calls, so that several processes together stay below the rate."""

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
"""Return 0 and count the call, or return the microseconds until it is allowed. One script, so that it is atomic."""


class OverRateLimit(RateLimited):
    """Our own rate limit is used up, and the call was not made. `retry_after` is the time until it is allowed."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Calls of one kind that are counted together. `region` is empty for logs, which are counted per project."""

    call: str
    project: str
    region: str
    rate: int

    @property
    def key(self) -> str:
        """The key in Redis."""
        return f"trainboard:calls:{self.call}:{self.project}:{self.region}"

    @property
    def words(self) -> str:
        """The limit in words."""
        where = f"{self.project} in {self.region}" if self.region else self.project
        return f"Trainboard makes at most {self.rate} {self.call} calls a minute for {where} to stay within quota"


@dataclass(slots=True)
class _Alone:
    """The state of one process: its own calls while Redis is unreachable, and until when it is not tried again."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    calls: dict[str, deque[datetime]] = field(default_factory=dict)
    unreachable_until: float = 0.0


_alone = _Alone()


def creates(project: str, region: str) -> Bucket:
    """Return the bucket for creations and deletions."""
    return Bucket("create", project, region, settings.CREATES_PER_MINUTE)


def reads(project: str, region: str) -> Bucket:
    """Return the bucket for all other Vertex AI calls: get, list and cancel.

    A list is one call for each of its pages.
    """
    return Bucket("read", project, region, settings.READS_PER_MINUTE)


def log_reads(project: str) -> Bucket:
    """Return the bucket for reads of Cloud Logging, one for each page."""
    return Bucket("log", project, "", settings.LOG_READS_PER_MINUTE)


def take(bucket: Bucket, *, now: datetime) -> timedelta:
    """Count a call that is about to be made and return zero, or return the time until it is allowed.

    `now` only matters while Redis is unreachable. Raises nothing.
    """
    if time.monotonic() >= _alone.unreachable_until:
        try:
            wait = _script(settings.REDIS_URL)(keys=[bucket.key], args=[bucket.rate])
            return timedelta(microseconds=int(wait))
        except (RedisError, OSError, ValueError):  # ValueError: an invalid address
            _alone.unreachable_until = time.monotonic() + UNREACHABLE_SECONDS
    return _take_alone(bucket, now)


def spend(bucket: Bucket, *, now: datetime) -> None:
    """Count a call that is about to be made. Raise OverRateLimit if it is not allowed now."""
    if wait := take(bucket, now=now):
        raise OverRateLimit(f"{bucket.words}.", retry_after=wait)


def forget() -> None:
    """Reset what this process counted by itself, and try Redis again at once."""
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
