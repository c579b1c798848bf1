"""The body of a Slack incoming webhook.

Text written by people is in `plain_text` objects, which Slack shows unchanged. The fallback text for notifications is
escaped as Slack requires (&, < and >; docs.slack.dev, "Formatting message text", read 2026-11-23), so that `<!channel>`
notifies nobody, and mrkdwn is switched off for it.
"""

import json
from typing import Any

from jobs.messages.content import Content

MAX_HEADER = 150
MAX_SECTION = 3_000
MAX_BLOCKS = 50
MAX_BUTTONS = 5
MAX_BUTTON_TEXT = 75
"""Limits of Slack's blocks (docs.slack.dev, "Blocks" reference, read 2026-11-23)."""


def escape(text: str) -> str:
    """Return text escaped so that Slack shows it unchanged."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def body_of(content: Content) -> bytes:
    """Return the JSON body."""
    facts = "\n".join(f"{label}: {value}" for label, value in content.facts)
    texts = [*_pieces("\n".join(content.lines)), *_pieces(facts)]
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(content.subject, MAX_HEADER)}]
    blocks += [{"type": "section", "text": _plain(text, MAX_SECTION)} for text in texts]
    buttons = [
        {"type": "button", "text": _plain(label, MAX_BUTTON_TEXT), "url": address, "action_id": f"open-{number}"}
        for number, (label, address) in enumerate(content.links[:MAX_BUTTONS])
    ]
    if buttons:
        blocks.append({"type": "actions", "elements": buttons})
    message = {"text": escape(content.subject), "mrkdwn": False, "link_names": False, "unfurl_links": False}
    return json.dumps(message | {"blocks": blocks[:MAX_BLOCKS]}).encode()


def _pieces(text: str) -> list[str]:
    return [text[start : start + MAX_SECTION] for start in range(0, len(text), MAX_SECTION)]


def _plain(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": text[:limit] or "–", "emoji": False}
