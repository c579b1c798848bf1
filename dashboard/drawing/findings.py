"""Render a finding as safe HTML: its severity, message, remedy and source."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.drawing.marks import shape
from jobs.requests.rule_settings import DEFAULT
from jobs.spec import Finding, Severity
from jobs.strategies import OFF
from jobs.texts import from_json, is_translatable
from jobs.translations import translated

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

SHAPES: dict[str, str] = {Severity.ERROR: "bad", Severity.APPROVAL: "ask", Severity.NOTE: "odd"}
WORDS: "dict[str, StrPromise]" = {
    Severity.ERROR: gettext_lazy("error"),
    Severity.APPROVAL: gettext_lazy("approval"),
    Severity.NOTE: gettext_lazy("note"),
    OFF: gettext_lazy("off"),
    DEFAULT: gettext_lazy("default"),
}
"""Names of the severities that a site can give to a rule."""


TRANSLATED = frozenset({"unreadable", "not_permitted", "more", "text_read", "text_unread"})
"""Codes of findings that a form creates in the language of the page. Findings of rules are translated when shown."""


def language_of(finding: Finding) -> SafeString:
    """Return the attribute of an element with the text of a finding: ` lang="en"`, or ""."""
    return SafeString("") if finding.code in TRANSLATED else text_language(finding.message)


def text_language(text: str) -> SafeString:
    """Return the attribute of an element with a text of `jobs`: ` lang="en"` if it cannot be translated."""
    return SafeString("" if is_translatable(text) else ' lang="en"')


def severity_word(severity: str) -> str:
    """Return the name of a rule's severity. Return unknown ones as stored."""
    return str(WORDS.get(severity, severity))


def render_finding(finding: Finding | Mapping[str, Any], *, shows_line: bool = False) -> SafeString:
    """Return a new finding, or one stored as JSON, as HTML. With `shows_line`, include its line."""
    made = finding if isinstance(finding, Finding) else _parse(finding)
    line = _("Line %(line)s:") % {"line": made.line} if shows_line and made.line is not None else ""
    job = format_html(' <a href="{}">{}</a>', reverse("job", args=[made.job]), _("Open the job")) if made.job else ""
    source: SafeString | str = ""
    if made.source:
        title = f"{made.source}, read {made.read}" if made.read else made.source
        details = ' <details><summary>{}</summary> <small lang="en">{}</small></details>'
        source = format_html(details, _("source"), title)
    return format_html(
        '<div class="find {severity}">{mark}{line}<span{language}>{text}</span>{job}{source}</div>',
        severity=made.severity,
        mark=render_shape(made),
        line=format_html("<b>{}</b> ", line) if line else "",
        language=language_of(made),
        text=f"{translated(made.message)} {translated(made.remedy)}".rstrip(),
        job=job,
        source=source,
    )


def render_shape(finding: Finding) -> SafeString:
    """Return the severity of a finding as an icon, with a word for screen readers."""
    return format_html(
        '{}<span class="hidden-text">{}: </span>', shape(SHAPES[finding.severity]), WORDS[finding.severity]
    )


def _parse(stored: Mapping[str, Any]) -> Finding:
    words = stored.get("words", stored)  # findings stored before "words" was added lack it
    message, remedy = from_json(words["message"]), from_json(words.get("remedy") or "")
    source, read = stored.get("source") or "", stored.get("read") or ""
    return Finding("", Severity(stored["severity"]), "", message, remedy, source, read, job=stored.get("job", ""))
