"""For load balancers and supervisors: is the process alive, and can it serve."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from redis import Redis, RedisError

REDIS_PATIENCE_SECONDS = 0.5


@login_not_required
@never_cache
def alive(_request: HttpRequest) -> HttpResponse:
    """Answer 200 as long as the process can answer at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@never_cache
def ready(_request: HttpRequest) -> HttpResponse:
    """Answer 200 when the database answers and is migrated, else 503; Redis is reported and never fails it."""
    database = _database()
    status = 200 if database == "ok" else 503
    return JsonResponse({"database": database, "redis": _redis()}, status=status)


def _database() -> str:
    """Return "ok", or what is wrong with the database in a few words without its address."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "does not answer"
    return f"{len(missing)} migrations are not applied" if missing else "ok"


def _redis() -> str:
    """Return "ok" or "does not answer"; without Redis jobs still move, a few seconds later."""
    client = Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=REDIS_PATIENCE_SECONDS,
        socket_timeout=REDIS_PATIENCE_SECONDS,
    )
    try:
        client.ping()
    except RedisError:
        return "does not answer"
    finally:
        client.close()
    return "ok"
