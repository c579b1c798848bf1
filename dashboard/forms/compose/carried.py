"""What a spec holds and the form has no field for: carried along in a hidden, signed field, below the fields' values.

Signed, because it becomes part of the body as it is: what the site did not write itself is not taken back.
"""

from typing import Any

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError

from dashboard.forms.body.paths import leaves

SALT = "trainboard.compose.carried"
LONGEST = 2_000_000
MOST_SHOWN = 12
CHANGED = "What this form carried along was changed on its way, so it cannot be used. Open the form once more."


class CarriedField(forms.CharField):
    """A JSON object that went out signed; its value is the object, {} where there is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, widget=forms.HiddenInput, max_length=LONGEST, **options)

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


class DropField(forms.BooleanField):
    """Leaves out what is carried."""

    def __init__(self) -> None:
        super().__init__(label="Leave it out", required=False)


def carried_words(carried: dict[str, Any]) -> list[str]:
    """Return what is carried as lines `path: value` for people, at most MOST_SHOWN and one that counts the others."""
    found = [f"{path}: {value!s:.80}" for path, value in leaves(carried)]
    more = len(found) - MOST_SHOWN
    return found[:MOST_SHOWN] + ([f"and {more} more"] if more > 0 else [])
