"""Health checks for load balancers and supervisors: is the process alive, and can it serve requests."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from dashboard.queries.readiness import NEEDED, OK, PARTS, get_readiness


@login_not_required
@never_cache
def alive(_request: HttpRequest) -> HttpResponse:
    """Return 200 if the process can respond at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """Return the state of each part, with status 200 if this process may get requests, else 503.

    The database and its migrations decide. `?for=worker,beat` also requires those parts to be "ok", for a supervisor of
    them, and `?for=all` requires every part. The status is 400 for an unknown part.
    """
    asked = {word for word in request.GET.get("for", "").split(",") if word}
    asked = set(PARTS) if asked == {"all"} else asked
    if unknown := sorted(asked - set(PARTS)):
        words = f"{unknown[0][:40]} is no part: for=all, or some of {', '.join(PARTS)}."
        return JsonResponse({"error": words}, status=400)
    parts = get_readiness()
    is_ready = all(parts[name] == OK for name in NEEDED | asked)
    return JsonResponse(parts, status=200 if is_ready else 503)
