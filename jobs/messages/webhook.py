"""The body and headers of a webhook by Standard Webhooks 1.0.0 (standardwebhooks.com, specification, read 2026-11-23).

The headers are webhook-id, webhook-timestamp (whole seconds since 1970) and webhook-signature: `v1,` and the base64 of
HMAC-SHA256 over `id.timestamp.body`, one for each secret, separated by spaces.
"""

import base64
import hmac
import json
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from jobs.messages.content import Content
from jobs.models import Channel

PREFIX = "whsec_"
SECRET_BYTES = 32
"""The specification requires 24 to 64."""
OVERLAP = timedelta(hours=24)
"""Time after a rotation in which the old secret signs too."""


def body_of(content: Content, now: datetime) -> bytes:
    """Return the JSON body: type, timestamp, and data with the job's current state."""
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
    """Return the signed headers; for a day after a rotation the old secret signs too."""
    is_overlapping = channel.old_secret and channel.old_secret_until is not None and now < channel.old_secret_until
    keys = [channel.secret, *([channel.old_secret] if is_overlapping else [])]
    return signed_headers(keys, uid=content.uid, now=now, body=body)


def new_secret() -> str:
    """Return a new random secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, *, uid: str, timestamp: int, body: bytes) -> str:
    """Return one signature, with its version."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = b".".join((uid.encode(), str(timestamp).encode(), body))
    return f"v1,{base64.b64encode(hmac.digest(key, signed, 'sha256')).decode()}"


def signed_headers(keys: Sequence[str], *, uid: str, now: datetime, body: bytes) -> dict[str, str]:
    """Return the three headers of a webhook sent at `now`, signed with each secret."""
    timestamp = int(now.timestamp())
    signatures = " ".join(signature(key, uid=uid, timestamp=timestamp, body=body) for key in keys)
    return {"webhook-id": uid, "webhook-timestamp": str(timestamp), "webhook-signature": signatures}
