"""For load balancers and supervisors: is the process alive, and can it serve."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from dashboard.queries.readiness import NEEDED, OK, PARTS, get_readiness


@login_not_required
@never_cache
def alive(_request: HttpRequest) -> HttpResponse:
    """Answer 200 as long as the process can answer at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """Answer with the state of each part: 200 when this process may get requests, else 503.

    The database and its migrations decide. `?for=worker,beat` names further parts that have to be "ok", for a
    supervisor of those, and `?for=all` every one; 400 for a part that does not exist.
    """
    asked = {word for word in request.GET.get("for", "").split(",") if word}
    asked = set(PARTS) if asked == {"all"} else asked
    if unknown := sorted(asked - set(PARTS)):
        words = f"{unknown[0][:40]} is no part: for=all, or some of {', '.join(PARTS)}."
        return JsonResponse({"error": words}, status=400)
    parts = get_readiness()
    is_ready = all(parts[name] == OK for name in NEEDED | asked)
    return JsonResponse(parts, status=200 if is_ready else 503)
