"""The content of a message as plain text without markup; each way of sending renders it.

Everybody who can read a channel reads its messages, so secrets of a job are hidden from all, including its owner.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.messages import about_job, about_team
from jobs.models import Message, Profile

MAX_SUBJECT = 150
MAX_TEXT = 1_500
MAX_IN_DIGEST = 50
"""Messages that a summary lists; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Content:
    """One message, or the summary of several. All texts are single lines without control characters."""

    uid: str
    kind: str
    subject: str
    lines: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    """(label, absolute address); empty if the site does not know its own address."""
    thread: str
    """The same for all messages of a job."""
    data: dict[str, Any] = field(default_factory=dict)
    """Extra data for a webhook: ids, state, amounts as text with their currency."""


def content_of(message: Message, now: datetime) -> Content:
    """Return the content of a message as of now; its job and event are loaded."""
    parts = about_job.parts_of(message, now) if message.job is not None else about_team.parts_of(message)
    base = settings.SITE_URL
    return Content(
        uid=f"msg_{message.uid.hex}",
        kind=message.kind,
        subject=clean(parts.subject, MAX_SUBJECT),
        lines=tuple(clean(line, MAX_TEXT) for line in parts.lines if line),
        facts=tuple((label, clean(value, MAX_SUBJECT)) for label, value in parts.facts if value),
        links=tuple((label, f"{base}{path}") for label, path in parts.links) if base else (),
        thread=str(message.job_id or f"team-{message.team_id}"),
        data={"occurred_at": message.occurred_at.isoformat(), **parts.data},
    )


def language_for(person: User | None) -> str:
    """Return the language code for a person; the site's language for a channel (None), or if the person chose none."""
    try:
        language = person.profile.language if person is not None else ""
    except Profile.DoesNotExist:
        language = ""
    return language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE


def headline_of(message: Message) -> str:
    """Return the content of a message in one line; no query if its job and team are loaded."""
    about = about_job if message.job is not None else about_team
    return clean(about.headline(message), MAX_SUBJECT)


def path_of(message: Message) -> str:
    """Return the path of the page that a message links to."""
    return about_job.path_of(message) if message.job_id is not None else about_team.path_of(message)


def digest_of(contents: Sequence[Content]) -> Content:
    """Return the summary of several messages, oldest first: a line and a link for each."""
    count = len(contents)
    lines = [content.subject for content in contents[:MAX_IN_DIGEST]]
    if count > MAX_IN_DIGEST:
        lines.append(_("and %(count)s more") % {"count": count - MAX_IN_DIGEST})
    subject = ngettext("%(count)s message from Trainboard", "%(count)s messages from Trainboard", count)
    links = [(content.subject, content.links[0][1]) for content in contents[:MAX_IN_DIGEST] if content.links]
    return Content(
        uid=contents[0].uid,
        kind="digest",
        subject=subject % {"count": count},
        lines=tuple(lines),
        facts=(),
        links=tuple(links),
        thread="digest",
        data={"messages": [{"id": each.uid, "kind": each.kind, "subject": each.subject} for each in contents]},
    )


def clean(text: str, limit: int) -> str:
    """Return text on one line, without control and format characters and lone surrogates, cut to `limit` characters.

    Format characters (Unicode category Cf) can reverse the direction of text or hide between letters, so that a name
    looks like another. Line breaks could start a new header or line of markup.
    """
    kept = "".join(" " if unicodedata.category(each) in {"Cc", "Zl", "Zp"} else each for each in text)
    shown = "".join(each for each in kept if unicodedata.category(each) not in {"Cf", "Cs", "Co", "Cn"})
    tidy = " ".join(shown.split())
    return tidy if len(tidy) <= limit else f"{tidy[: limit - 1]}…"
