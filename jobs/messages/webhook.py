"""A message as a webhook after the Standard Webhooks specification: its body and its signed headers."""

import json
from datetime import datetime

from jobs.messages import signing
from jobs.messages.content import Content
from jobs.models import Channel


def body_of(content: Content, now: datetime) -> bytes:
    """Return the JSON body: type, timestamp and data as the job is now."""
    data = {
        "subject": content.subject,
        "text": " ".join(content.lines),
        "links": [{"label": label, "url": url} for label, url in content.links],
        **content.data,
    }
    kind = content.kind if content.kind in ("digest", "test") else f"trainboard.{content.kind}"
    moment = str(content.data.get("occurred_at") or now.isoformat())
    return json.dumps({"type": kind, "timestamp": moment, "data": data}, ensure_ascii=False).encode()


def headers_of(channel: Channel, content: Content, body: bytes, now: datetime) -> dict[str, str]:
    """Return the signed headers; for a day after a rotation the old secret signs as well."""
    is_overlapping = channel.old_secret and channel.old_secret_until is not None and now < channel.old_secret_until
    keys = [channel.secret, *([channel.old_secret] if is_overlapping else [])]
    return signing.signed_headers(keys, uid=content.uid, now=now, body=body)
