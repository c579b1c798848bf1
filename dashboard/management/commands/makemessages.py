"""`manage.py makemessages`: Django's command, extended by the texts of rules.

These are docstrings, which gettext does not read.
"""

from pathlib import Path
from typing import Any

from django.core.management.commands import makemessages

from jobs.strategies import RULES

RULE_TEXTS = Path("jobs/strategies/rule_texts.py")
"""Temporary file for gettext, below the working folder of the command."""


class Command(makemessages.Command):
    """Writes the texts of the code into the message files of each language."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Run the command."""
        RULE_TEXTS.write_text("".join(f"_({str(rule.message)!r})\n" for rule in RULES.values()), encoding="utf-8")
        try:
            return super().handle(*args, **options)
        finally:
            RULE_TEXTS.unlink()
