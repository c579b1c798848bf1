"""Sign-in with a password, and the response when sign-ins come too fast."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard import rehearsal
from dashboard.access import known_password
from dashboard.access.addresses import client_address
from dashboard.access.bounded_work import TooMuchWork
from dashboard.access.sign_in import TooManySignIns
from dashboard.forms.sign_in_form import SignInForm
from dashboard.pages.parts.fragments import reload_instead
from dashboard.pages.parts.too_many import busy, too_much_work
from jobs.people.audit import record_sign_in_event

ROLES = {
    "engineer": gettext_lazy("requests jobs in the team vision"),
    "approver": gettext_lazy("approves what others of vision request"),
    "lead": gettext_lazy("sets the policy and budgets of vision"),
    "stranger": gettext_lazy("works in another team and sees nothing of vision"),
    "admin": gettext_lazy("sees every team and the administration"),
}
"""Description of each demo account."""


@method_decorator(login_not_required, name="dispatch")
class SignIn(LoginView):
    """Django's sign-in. A live part whose session has ended reloads the page instead of showing a form inside it."""

    redirect_authenticated_user = True
    authentication_form = SignInForm

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Respond as Django does, and make htmx load the whole page."""
        if request.method == "POST" and not settings.PASSWORD_SIGN_IN:
            return redirect("login")
        response = super().dispatch(request, *args, **kwargs)
        return reload_instead(request, response) if isinstance(response, HttpResponse) else response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the demo accounts and their shared password if it is accepted from this request."""
        people = [] if rehearsal.refusal(self.request) else known_password.people()
        demo = {name: role for name, role in ROLES.items() if name in people}
        return super().get_context_data(**kwargs, demo=demo, demo_password=rehearsal.PASSWORD)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in and record it."""
        response = super().form_valid(form)
        user, address = form.get_user(), client_address(self.request)
        record_sign_in_event("with a password", user, by=user, address=address)
        return response


@method_decorator(login_not_required, name="dispatch")
class AdminSignIn(SignIn):
    """The site's sign-in for Django's admin, so that all sign-ins by password use one form."""

    next_page = "admin:index"

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Respond as the site's sign-in does. A signed-in user who is not an admin gets a message that explains so."""
        if request.user.is_authenticated and not admin.site.has_permission(request):
            messages.error(request, _("Those pages are for admins of the site."))
            return redirect("board")
        return super().dispatch(request, *args, **kwargs)


class BusyMiddleware(MiddlewareMixin):
    """Returns 429 for a sign-in that arrived while others were being checked, and for work above a person's limit."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Handle the errors of sign-ins by password and by provider, and of `bounded_work`. Return None for others."""
        if isinstance(error, TooMuchWork):
            return too_much_work(request, error)
        return busy(request) if isinstance(error, TooManySignIns) else None
