"""The theme saved in a browser: light, dark, or that of the system."""

from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST

from dashboard.access import Request
from dashboard.access.addresses import safe_path
from dashboard.queries.page_frame import THEME_COOKIE, THEMES

YEAR = 365 * 24 * 3600


@require_POST
def theme(request: Request) -> HttpResponse:
    """Save the posted `theme` ("light", "dark", or "" for the system's) and redirect to the page in `next`."""
    response = HttpResponseRedirect(safe_path(request, request.POST.get("next", "")))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=YEAR, samesite="Lax", httponly=True, secure=request.is_secure()
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response
