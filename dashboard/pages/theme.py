"""The theme that a browser keeps: light, dark, or that of its system."""

from django.http import HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dashboard.access import Request
from dashboard.queries.frame import THEME_COOKIE, THEMES

YEAR = 365 * 24 * 3600


@require_POST
def theme(request: Request) -> HttpResponse:
    """Keep the posted `theme` ("light", "dark", or "" for the system's) and go back to the page in `next`."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = "/"
    response = HttpResponseRedirect(back)
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            THEME_COOKIE, chosen, max_age=YEAR, samesite="Lax", httponly=True, secure=request.is_secure()
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response
