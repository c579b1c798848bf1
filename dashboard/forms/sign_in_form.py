"""The sign-in form, and the form that links a provider to an account."""

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard import rehearsal


class SignInForm(AuthenticationForm):
    """Django's form, with the reason if the demo's password is refused."""

    def get_invalid_login_error(self) -> ValidationError:
        """Return the error. It depends on the input, never on which accounts exist."""
        if self.cleaned_data.get("password") != rehearsal.PASSWORD or self.request is None:
            return super().get_invalid_login_error()
        why = rehearsal.refusal(self.request) or rehearsal.refusal_of_others(self.request)
        if not why:
            return super().get_invalid_login_error()
        return ValidationError(
            _(
                "The password of the demo works only where nobody else can reach the site: %(why)s. An administrator "
                "can give the account its own password: manage.py changepassword NAME."
            )
            % {"why": why},
            code="known_password",
        )


class LinkForm(forms.Form):
    """Asks for the password of an account before a provider is linked to it, unless the person is signed in."""

    password = forms.CharField(
        label=_("Password of your Trainboard account"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: object, is_signed_in: bool, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if is_signed_in:
            del self.fields["password"]
