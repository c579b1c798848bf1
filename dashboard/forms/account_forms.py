"""Forms of the user's own account: joining by an invitation, and the profile."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from dashboard.forms.team_form import ROLES


class InviteForm(forms.Form):
    """The person whom a lead invites, and their role."""

    email = forms.EmailField(label=_("E-mail"), max_length=254)
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, initial="engineer")


if TYPE_CHECKING:  # Django's forms take type arguments in their stubs only
    NewUser = UserCreationForm[User]
    Existing = forms.ModelForm[User]
else:
    NewUser = UserCreationForm
    Existing = forms.ModelForm


class JoinForm(NewUser):
    """A new account for a person with an invitation."""

    class Meta:
        model = User
        fields = ("username",)

    def clean_username(self) -> str:
        """Refuse a name that looks like an e-mail address: people would take its owner for that person."""
        name = super().clean_username()
        if "@" in (name or ""):  # None if the name has another fault
            raise forms.ValidationError(_("A name contains no @: it must not look like an e-mail address."))
        return name


class ProfileForm(Existing):
    """The name that others see, and the time zone and language of pages.

    The e-mail address is changed by an admin, because sign-ins by a provider are matched with it.
    """

    class Meta:
        model = User
        fields = ("first_name", "last_name")
        labels = {"first_name": _("First name"), "last_name": _("Last name")}

    time_zone = forms.ChoiceField(label=_("Time zone"), required=False)
    language = forms.ChoiceField(
        label=_("Language"), required=False, choices=lambda: [("", _("Browser default")), *settings.LANGUAGES]
    )

    def __init__(self, *args: Any, zones: Collection[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named = [(name, name.replace("_", " ")) for name in sorted(zones)]
        of_site = _("Site default (%(zone)s)") % {"zone": settings.TIME_ZONE}
        self.fields["time_zone"].choices = [("", of_site), *named]  # type: ignore[attr-defined]


class RuleForm(forms.Form):
    """Which people join which team at their first sign-in by a provider."""

    source = forms.ChoiceField(label=_("Match by"), choices=[("domain", _("Domain")), ("group", _("Group"))])
    value = forms.CharField(label=_("Value"), max_length=255, help_text=_("Such as example.com, or ml@example.com."))
    team = forms.ChoiceField(label=_("Team"))
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, initial="viewer")

    def __init__(self, *args: object, teams: list[tuple[str, str]], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["team"].choices = teams  # type: ignore[attr-defined]
