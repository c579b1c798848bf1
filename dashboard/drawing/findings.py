"""A finding as safe HTML: its weight, what was found, what to do, and where that requirement comes from."""

from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.drawing.marks import shape
from jobs.spec import Finding, Severity

SHAPES: dict[str, str] = {Severity.REFUSE: "bad", Severity.ASK: "ask", Severity.ADVISE: "odd"}


def finding(found: Finding | Mapping[str, Any]) -> SafeString:
    """Return a finding drawn, be it one that was just made or one that was kept as JSON."""
    made = found if isinstance(found, Finding) else _kept(found)
    return format_html(
        '<div class="find {weight}">{mark}<span class="hidden-text">{weight}: </span>{words}{source}</div>',
        weight=made.severity,
        mark=shape(SHAPES[made.severity]),
        words=f"{made.message} {made.remedy}".rstrip(),
        source=_source(made),
    )


def _kept(found: Mapping[str, Any]) -> Finding:
    remedy, source, read = (found.get(name) or "" for name in ("remedy", "source", "read"))
    return Finding("", Severity(found["severity"]), "", found["message"], remedy, source, read)


def _source(made: Finding) -> SafeString | str:
    if not made.source:
        return ""
    words = f"{made.source}, read {made.read}" if made.read else made.source
    return format_html(" <details><summary>source</summary> <small>{}</small></details>", words)
