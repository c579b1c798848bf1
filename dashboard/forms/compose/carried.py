"""Parts of a spec for which the form has no field. They are carried in a hidden, signed field below the others' values.

They are signed because they become part of the body unchanged: only data that the site wrote itself is accepted.
"""

from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.compose.paths import leaves
from dashboard.forms.findings import FindingsForm

SALT = "trainboard.compose.carried.2"
"""Changes with the format of the carried data, so that an older page is not misread."""
MAX_LENGTH = 2_000_000
MAX_SHOWN = 12
CHANGED = _("The hidden part of this form was changed, so it cannot be used. Reload the page and try again.")


class CarriedField(forms.CharField):
    """A signed JSON object. The value is the object, {} if there is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, widget=forms.HiddenInput, max_length=MAX_LENGTH, **options)

    def clean(self, value: Any) -> dict[str, Any]:
        """Check the signature and return the object."""
        text = super().clean(value)
        if not text:
            return {}
        try:
            carried = signing.loads(text, salt=SALT)
        except signing.BadSignature:
            raise ValidationError(CHANGED) from None
        return carried if isinstance(carried, dict) else {}

    def prepare_value(self, value: Any) -> Any:
        """Return the signed form of an object. Return posted text unchanged."""
        if isinstance(value, dict):
            return signing.dumps(value, salt=SALT, compress=True) if value else ""
        return value


class CarryingForm(FindingsForm):
    """A form that carries the parts of its spec that its fields do not show."""

    carried = CarriedField()
    drop_carried = forms.BooleanField(label=_("Leave it out"), required=False)

    @property
    def kept(self) -> dict[str, Any]:
        """The carried parts, unless they are to be left out."""
        values = self.cleaned_data
        return {} if values.get("drop_carried") else values.get("carried") or {}

    @property
    def carried_words(self) -> list[str]:
        """The carried parts as lines `path: value`, at most MAX_SHOWN, and one with the number of further ones."""
        lines = [f"{path}: {value!s:.80}" for path, value in leaves(self.cleaned_data.get("carried") or {})]
        more = len(lines) - MAX_SHOWN
        return lines[:MAX_SHOWN] + ([_("and %(count)s more") % {"count": more}] if more > 0 else [])
