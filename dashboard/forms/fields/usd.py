"""An amount of US dollars as typed."""

import re
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import LineField

USD = re.compile(r"(?:USD|US\$|\$)?\s*([0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,3})(\.[0-9]{1,2})?\s*(?:USD)?", re.ASCII)
OTHER_CURRENCY = re.compile(r"(?<![^\W\d_])[A-Z]{3}(?![^\W\d_])|[€£¥₹₩]")


def parse_usd(text: str) -> Decimal:
    """Return the amount in "20000", "$20,000" or "1234.50". Raise ValidationError for other text and currencies."""
    if found := USD.fullmatch(text.strip()):
        return Decimal(found[1].replace(",", "") + (found[2] or ""))
    if text.strip().startswith(("-", "−")):
        raise ValidationError(_("An amount cannot be negative."))
    if OTHER_CURRENCY.search(re.sub(r"USD|US\$", "", text)):
        raise ValidationError(_("Amounts are in US dollars, as Trainboard's prices are; write 20000 or $20,000."))
    raise ValidationError(_("“%(text)s” is not an amount; write 20000, $20,000 or 1234.50.") % {"text": text[:40]})


class UsdField(LineField):
    """US dollars with at most two decimals. The value is None if the field is empty."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, max_length=40, attrs={"inputmode": "decimal", "autocomplete": "off"}, **options)

    def clean(self, value: Any) -> Decimal | None:
        """Return the amount."""
        text = super().clean(value)
        return parse_usd(text) if text else None

    def prepare_value(self, value: Any) -> Any:
        """Return an amount as text that parses to the same amount."""
        return f"{value:.2f}" if isinstance(value, Decimal) else value
