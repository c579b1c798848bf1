"""A token endpoint for throwaway service accounts. It accepts any well-formed JWT grant, and tokens are never checked.

`token_uri` of a service-account file: `http://127.0.0.1:PORT/token`. Nothing here is secret.
"""

import base64
import json
import secrets
import urllib.parse

from emulator.emulator import Emulator
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFETIME_SECONDS = 3_599


def exchange(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return an access token for a JWT bearer grant (RFC 7523)."""
    form = dict(urllib.parse.parse_qsl(call.body.decode(errors="replace")))
    if form.get("grant_type") != GRANT:
        raise invalid(f"unsupported_grant_type: {form.get('grant_type')}")
    parts = form.get("assertion", "").split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, IndexError):
        raise invalid("invalid_grant: the assertion is no JWT") from None
    missing = {"iss", "aud", "exp"} - set(claims)
    if missing:
        raise invalid(f"invalid_grant: the assertion has no {', '.join(sorted(missing))}")
    token = f"emulated.{secrets.token_urlsafe(24)}"
    return {"access_token": token, "expires_in": LIFETIME_SECONDS, "token_type": "Bearer"}
