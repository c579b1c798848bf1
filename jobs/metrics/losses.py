"""Read from a log line whether its loss is a finite number. Pure.

The series of metrics hold finite numbers only, as JSON and PostgreSQL know no others.
"""

import re

MAX_LENGTH = 2_000
"""Characters of a line that are searched."""
_LOSS = re.compile(
    r"(?<![a-z0-9_/.])((?:[a-z0-9_/.]{1,40}[_/. ])?loss)['\"]?\s{0,4}(?:[:=]|is\s)?\s{0,8}(?:tensor\()?"
    r"([-+]?(?:nan|inf(?:inity)?)\b|[-+]?\.?\d)"
)
_OF_OTHERS = re.compile(r"best|min|prev|last|low|init")
"""Losses that are compared with, such as a best loss that begins as infinity."""


def has_finite_loss(text: str) -> bool | None:
    """Return whether a line names a loss with a finite number, False if all its losses are not; None without a loss."""
    lower = text[:MAX_LENGTH].lower()
    if "loss" not in lower:
        return None
    values = [value for name, value in _LOSS.findall(lower) if _OF_OTHERS.search(name) is None]
    return any(value[-1].isdigit() for value in values) if values else None
