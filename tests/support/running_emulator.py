"""An emulator in a thread, for tests: `with running(tmp_path, scripted=True) as emulator: ... emulator.url`."""

import contextlib
import json
import os
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from emulator.capacity.catalogue import extend
from emulator.emulator import Emulator, Options
from emulator.replicas.process_runner import Limits
from emulator.web.server import Server, listen

START_SECONDS = 10.0
START_AFTER_RESTART = os.environ.get("TRAINBOARD_EMULATOR_START_AFTER_RESTART", "first")
"""What `startTime` shows after a restart; `pytest --start-after-restart last` runs all tests with the other variant."""


class Running:
    """A running emulator.

    `url` is its address, such as `http://127.0.0.1:40123`. `grpc` is its address for gRPC, such as `localhost:40124`,
    or "" without gRPC.
    """

    def __init__(self, url: str, state: Path, grpc: str = "") -> None:
        self.url = url
        self.state = state
        self.grpc = grpc

    def call(self, verb: str, path: str, body: Any = None) -> Any:
        """Send a request and return its JSON. Raise urllib.error.HTTPError for an error status."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=verb)  # loopback
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def advance(self, seconds: float) -> str:
        """Advance a scripted emulator's clock. Return its new time (RFC 3339)."""
        return str(self.call("POST", "/_emulator/clock", {"advance": seconds})["now"])

    def set_clock(self, now: str | float) -> str:
        """Set a scripted emulator's clock, never backwards. Return its time."""
        return str(self.call("POST", "/_emulator/clock", {"now": now})["now"])

    def script(self, name: str, match: str = "*", **times: float | Sequence[float]) -> None:
        """Use a named script for new jobs that match. `times` replace its own, such as `run_seconds`."""
        self.call("POST", "/_emulator/script", {"match": match, "script": name, "times": times})

    def fault(self, kind: str, method: str = "*", **plan: Any) -> None:
        """Add a fault: times, after, probability, seed, seconds, retry_after, message."""
        self.call("POST", "/_emulator/faults", {"kind": kind, "method": method, **plan})

    def forget_faults(self) -> None:
        """Remove all faults."""
        self.call("DELETE", "/_emulator/faults")

    def access(self, *, deny: Sequence[str] = (), disable: Sequence[str] = ()) -> None:
        """Set missing permissions and disabled services. Everything else is allowed and enabled."""
        self.call("POST", "/_emulator/access", {"deny": list(deny), "disable": list(disable)})

    def preempt(self, job: str, replica: str = "") -> Any:
        """Preempt the machines of a Spot job."""
        return self.call("POST", "/_emulator/preempt", {"job": job, "replica": replica})

    def evict(self, job: str, replica: str = "workerpool0-0") -> Any:
        """Evict a replica, as happens on a machine under pressure."""
        return self.call("POST", "/_emulator/evict", {"job": job, "replica": replica})

    def truth(self, job: str = "") -> Any:
        """Return what clients cannot see: `{"now", "calls": {method: count}, "jobs": [...], "faults": [...]}`."""
        return self.call("GET", f"/_emulator/truth?job={urllib.parse.quote(job)}")


@contextlib.contextmanager
def running(
    state: Path,
    *,
    speed: float | None = None,
    scripted: bool = False,
    start: float | None = None,
    memory_mib: int = 0,
    port: int = 0,
    is_waited_for: bool = True,
    demands_credential: bool = False,
    grpc: bool = False,
    catalogue: dict[str, Any] | None = None,
    **more: Any,
) -> Iterator[Running]:
    """Run an emulator in a thread until the block ends.

    `start` is the initial time of the scripted clock (default: now). `memory_mib` limits the memory of one replica; 0
    is no limit. `catalogue` is what it knows in addition, as of `--catalogue`. `demands_credential` requires the
    credential, as on systems that do not report the owner of a connection; the url then contains it. `grpc` also serves
    gRPC, which needs requirements/grpc.txt. `more` are further `Options`, such as reclaim_spot or images. `speed` is
    1,000 for real jobs, and 1 for a scripted emulator.

    The clock of real jobs skips the waits that no speed shortens, unless `skips_waits` is False.

    `is_waited_for` waits for the emulator's end, a fifth of a second. Without it, a scripted emulator, which has no
    processes to end, keeps running in the background, and its state folder must not be used again.
    """
    speed = speed or (1.0 if scripted else 1_000.0)
    limits = Limits(memory_mib=memory_mib)
    forget_catalogue = extend(catalogue) if catalogue else None
    bound, is_ready = listen("127.0.0.1", port), threading.Event()
    more = {"skips_waits": True, "start_after_restart": START_AFTER_RESTART} | more
    emulator = Emulator(Options(state=state, speed=speed, is_scripted=scripted, start=start, limits=limits, **more))
    server = Server(emulator, bound, ready=is_ready.set, demands_credential=demands_credential)
    grpc_address = _add_grpc(server, emulator) if grpc else ""
    thread = threading.Thread(target=server.run, args=([bound],), name="emulator", daemon=True)
    thread.start()
    try:
        if not is_ready.wait(START_SECONDS):
            raise RuntimeError("the emulator did not start")
        yield Running(server.address, state, grpc_address)
    finally:
        if forget_catalogue is not None:
            forget_catalogue()
        server.should_exit = True
        if is_waited_for or not scripted:
            thread.join(START_SECONDS)
            bound.close()


def _add_grpc(server: Server, emulator: Emulator) -> str:
    """Serve gRPC on a free port as well. Return the address."""
    from emulator.grpc.server import GrpcServer  # its packages may be missing

    grpc_server = GrpcServer(emulator, server, listen("127.0.0.1", 0))
    server.additional_servers.append(grpc_server)
    return grpc_server.address
