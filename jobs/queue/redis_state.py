"""Whether Redis accepts writes. A server that is full, or a replica, answers a ping but takes no task."""

from enum import StrEnum

from django.conf import settings
from redis import Redis, RedisError, ResponseError

KEY = "trainboard:writable"
KEPT_SECONDS = 10


class RedisState(StrEnum):
    """The result of a write."""

    OK = "ok"
    NO_WRITES = "accepts no writes"
    NO_ANSWER = "does not answer"


def check_redis(patience_seconds: float) -> tuple[RedisState, str]:
    """Write a small key that expires soon. Return the result, and the error for people or ""."""
    limits = {"socket_connect_timeout": patience_seconds, "socket_timeout": patience_seconds}
    try:
        client = Redis.from_url(settings.REDIS_URL, **limits)
    except ValueError as error:  # an invalid address
        return RedisState.NO_ANSWER, str(error)
    try:
        client.set(KEY, "1", ex=KEPT_SECONDS)
    except ResponseError as error:  # out of memory, read-only, its disk is full
        return RedisState.NO_WRITES, str(error)
    except RedisError as error:
        return RedisState.NO_ANSWER, type(error).__name__
    finally:
        client.close()
    return RedisState.OK, ""
