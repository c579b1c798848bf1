"""Prints the address of the site once it answers."""

import http.client
import time
from collections.abc import Sequence

from dashboard.management.supervisor.keeper import TURN_SECONDS, Keeper, delay_seconds

LONG_SECONDS = 60.0
IMPATIENT_SECONDS = 0.1
REQUEST_SECONDS = 2.0


class Welcome:
    """A watcher of the keeper that requests `/readyz` until it answers 200, and then prints its lines once."""

    def __init__(self, host: str, port: int, host_header: str, lines: Sequence[str]) -> None:
        """Send requests to `host` and `port`. `host_header` is a name that the site accepts."""
        self.host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - only compared
        self.port = port
        self.host_header = host_header
        self.lines = lines
        self.is_done = False
        self.refusals = 0
        self.ask_at = 0.0
        self.complain_at = time.monotonic() + LONG_SECONDS

    def __call__(self, keeper: Keeper) -> None:
        """Check once, if it is time to."""
        now = time.monotonic()
        if self.is_done or now < self.ask_at:
            return
        keeper.turn_seconds = IMPATIENT_SECONDS
        problem = self.problem()
        if not problem:
            self.is_done = True
            keeper.turn_seconds = TURN_SECONDS
            for line in self.lines:
                keeper.console.log(line)
            return
        # A site that answers with an error logs each request, so the requests become less frequent.
        self.ask_at = now + delay_seconds(self.refusals + 1)
        if now > self.complain_at:
            self.complain_at = now + LONG_SECONDS
            keeper.console.log(f"the site is still not ready: {problem}")

    def problem(self) -> str:
        """Request `/readyz`. Return why the site is not ready, or ""."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=REQUEST_SECONDS)
        try:
            connection.request("GET", "/readyz", headers={"Host": self.host_header})
            answer = connection.getresponse()
            body = answer.read(500).decode(errors="replace").strip()
        except (OSError, http.client.HTTPException) as failure:
            return str(failure) or type(failure).__name__
        finally:
            connection.close()
        if answer.status == 200:
            return ""
        self.refusals += 1
        return f"{answer.status} {body}"
