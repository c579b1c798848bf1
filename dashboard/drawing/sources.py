"""Sources as numbered notes: a table refers to the number, and the list below it has the source and the date."""

import re
from datetime import date

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

DOCUMENTATION = "Agent Platform documentation, "
"""Prefix of sources that name a page of Google's documentation by its path below machine-learning/."""
PLACE = "https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/"
"""URL of those pages. A page without a folder is in training/ (read 2026-11-23)."""
_HOST = re.compile(r"(?:[a-z0-9-]+\.)*(?:cloud\.google\.com|github\.com)/[\w./-]*\w")
_PAGE = re.compile(r"[a-z0-9/-]+")


def source_link(title: str) -> SafeString:
    """Return a source with a link for each part between semicolons that has a URL. Other parts are text."""
    parts = [(part, _address(part.strip())) for part in title.split(";")]
    return format_html_join(
        ";",
        "{}",
        ((format_html('<a href="{}" rel="noreferrer">{}</a>', url, part) if url else part,) for part, url in parts),
    )


def _address(part: str) -> str:
    """Return the URL of a source, or "" if it names none."""
    if part.startswith(DOCUMENTATION) and (page := _PAGE.match(part.removeprefix(DOCUMENTATION))):
        return PLACE + (page[0] if "/" in page[0] else f"training/{page[0]}")
    host = _HOST.match(part)
    return f"https://{host[0]}" if host else ""


class Sources:
    """Numbers sources in the order in which a page first refers to them."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, date | None], int] = {}

    def number(self, source: str, read: date | None) -> int:
        """Return the number of a source, starting at 1."""
        return self._numbers.setdefault((source, read), len(self._numbers) + 1)

    def listed(self) -> list[tuple[int, str, date | None]]:
        """Return (number, source, date read) for each source named so far."""
        return [(number, source, read) for (source, read), number in self._numbers.items()]
