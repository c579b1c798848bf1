"""The body of a Google Chat incoming webhook: a card, in the thread of its job.

Text paragraphs and decorated texts of a card support some HTML, so text is escaped. The fallback text, in which
`<users/all>` would mention people, contains no angle brackets (developers.google.com/workspace/chat, "Format messages"
and "Cards v2", read 2026-11-23).
"""

import html
import json
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from jobs.messages.content import Content

THREADED = ("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
MAX_LINKS = 5


def escape(text: str) -> str:
    """Return text escaped so that a card shows it unchanged."""
    return html.escape(text, quote=True)


def body_of(content: Content) -> bytes:
    """Return the JSON body."""
    widgets: list[dict[str, Any]] = [{"textParagraph": {"text": escape(line)}} for line in content.lines]
    widgets += [
        {"decoratedText": {"topLabel": label, "text": escape(value), "wrapText": True}}
        for label, value in content.facts
    ]
    if content.links:
        buttons = [{"text": label, "onClick": {"openLink": {"url": url}}} for label, url in content.links[:MAX_LINKS]]
        widgets.append({"buttonList": {"buttons": buttons}})
    header = {"title": escape(content.subject)}
    return json.dumps(
        {
            "fallbackText": content.subject.replace("<", "‹").replace(">", "›"),
            "thread": {"threadKey": content.thread},
            "cardsV2": [{"cardId": content.uid, "card": {"header": header, "sections": [{"widgets": widgets}]}}],
        }
    ).encode()


def threaded(url: str) -> str:
    """Return the webhook's address with the option that groups the messages of a job in a thread."""
    parts = urlsplit(url)
    query = [*(pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != THREADED[0]), THREADED]
    return urlunsplit(parts._replace(query=urlencode(query)))
