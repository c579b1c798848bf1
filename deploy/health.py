"""Exits with 0 when the web process on this machine may get requests: what the image's HEALTHCHECK runs."""

import http.client
import os
import sys

TIMEOUT_SECONDS = 4


def main() -> int:
    """Ask /readyz under the first host name that the site answers to; return the exit code."""
    host = os.environ.get("TRAINBOARD_HOSTS", "127.0.0.1").split(",")[0].strip()
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8000")), timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/readyz", headers={"Host": host.lstrip(".*") or "127.0.0.1"})
        return 0 if connection.getresponse().status == http.client.OK else 1
    except (OSError, http.client.HTTPException):
        return 1


if __name__ == "__main__":
    sys.exit(main())
