"""The sign-in form."""

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from dashboard import rehearsal


class SignInForm(AuthenticationForm):
    """Django's, which also says why the password of the demo is refused."""

    def get_invalid_login_error(self) -> ValidationError:
        """Return what is wrong; it depends on what was typed, never on which accounts there are."""
        if self.cleaned_data.get("password") != rehearsal.PASSWORD or self.request is None:
            return super().get_invalid_login_error()
        why = rehearsal.refusal(self.request) or rehearsal.refusal_of_others(self.request)
        if not why:
            return super().get_invalid_login_error()
        return ValidationError(
            f"The password of the demo works only where nobody else can reach the site: {why}. An administrator can "
            "give the account its own password: manage.py changepassword NAME.",
            code="known_password",
        )
