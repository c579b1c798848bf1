"""The image's HEALTHCHECK. Exits with 0 if the web process on this machine is ready for requests, else with 1."""

import http.client
import os
import sys

TIMEOUT_SECONDS = 4


def main() -> int:
    """Request /readyz with the first host name that the site accepts. Return the exit code."""
    host = os.environ.get("TRAINBOARD_HOSTS", "127.0.0.1").split(",")[0].strip()
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8000")), timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/readyz", headers={"Host": host.lstrip(".*") or "127.0.0.1"})
        return 0 if connection.getresponse().status == http.client.OK else 1
    except (OSError, http.client.HTTPException):
        return 1


if __name__ == "__main__":
    sys.exit(main())
