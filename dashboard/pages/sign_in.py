"""Signing in and out with a password that this site keeps."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator

from dashboard.forms.sign_in_form import SignInForm
from dashboard.pages.parts.fragments import reload_instead


@method_decorator(login_not_required, name="dispatch")
class SignIn(LoginView):
    """Django's sign-in; a live part whose session has ended reloads the page instead of showing a form inside it."""

    redirect_authenticated_user = True
    authentication_form = SignInForm

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer as Django does, and tell htmx to load the whole page."""
        response = super().dispatch(request, *args, **kwargs)
        return reload_instead(request, response) if isinstance(response, HttpResponse) else response
