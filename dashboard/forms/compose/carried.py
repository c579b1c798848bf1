"""What a spec holds and the form has no field for: carried along in a hidden, signed field, below the fields' values.

Signed, because it becomes part of the body as it is: what the site did not write itself is not taken back.
"""

from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.compose.paths import leaves
from dashboard.forms.findings import FindingsForm

SALT = "trainboard.compose.carried.2"
"""Changed with the shape of what is carried, so that a page from before is not read in a wrong way."""
MAX_LENGTH = 2_000_000
MAX_SHOWN = 12
CHANGED = _("The hidden part of this form was changed, so it cannot be used. Reload the page and try again.")


class CarriedField(forms.CharField):
    """A JSON object that went out signed; its value is the object, {} where there is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, widget=forms.HiddenInput, max_length=MAX_LENGTH, **options)

    def clean(self, value: Any) -> dict[str, Any]:
        """Check the signature and read the object."""
        text = super().clean(value)
        if not text:
            return {}
        try:
            carried = signing.loads(text, salt=SALT)
        except signing.BadSignature:
            raise ValidationError(CHANGED) from None
        return carried if isinstance(carried, dict) else {}

    def prepare_value(self, value: Any) -> Any:
        """Sign an object; show what was posted as it was posted."""
        if isinstance(value, dict):
            return signing.dumps(value, salt=SALT, compress=True) if value else ""
        return value


class CarryingForm(FindingsForm):
    """A form that carries along what its part of a spec holds and its fields do not show."""

    carried = CarriedField()
    drop_carried = forms.BooleanField(label=_("Leave it out"), required=False)

    @property
    def kept(self) -> dict[str, Any]:
        """What was carried along, unless it is to be left out."""
        values = self.cleaned_data
        return {} if values.get("drop_carried") else values.get("carried") or {}

    @property
    def carried_words(self) -> list[str]:
        """What is carried along as lines `path: value`, at most MAX_SHOWN and one that counts the others."""
        lines = [f"{path}: {value!s:.80}" for path, value in leaves(self.cleaned_data.get("carried") or {})]
        more = len(lines) - MAX_SHOWN
        return lines[:MAX_SHOWN] + ([_("and %(count)s more") % {"count": more}] if more > 0 else [])
