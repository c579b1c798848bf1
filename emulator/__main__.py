"""`python -m emulator --host 127.0.0.1 --port 8900 --state DIR --speed N`."""

import argparse
import json
import logging
import os
import sys
from pathlib import Path

from emulator.replicas import images
from emulator.replicas.processes import Limits
from emulator.state import private
from emulator.state.store import FolderInUse
from emulator.web.server import NotLoopback, address_of, listen, server
from emulator.world import Options, World


def _seconds_list(text: str) -> list[float]:
    return [float(part) for part in text.split(",") if part.strip()]


def arguments() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m emulator", description="Vertex AI training on loopback.")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
    parser.add_argument("--port", type=int, default=8900, help="0 = a free one, see the line that is printed")
    parser.add_argument("--state", type=Path, required=True, help="folder for records, logs, buckets and scratch")
    parser.add_argument("--speed", type=float, default=1.0, help="divides queueing, provisioning and tear-down times")
    parser.add_argument(
        "--reclaim-spot",
        type=_seconds_list,
        action="append",
        default=[],
        metavar="SECONDS",
        help="seconds of running after which the first (second, ...) attempt of every Spot job is reclaimed; 0 = not",
    )
    parser.add_argument("--capacity", type=Path, help="JSON file with machines, quotas and how they change")
    parser.add_argument("--images", type=Path, help="file with images that need no command, and what runs for them")
    parser.add_argument("--scripted", action="store_true", help="no processes; the clock is set by control calls")
    parser.add_argument(
        "--demand-credential", action="store_true", help="of every request, also where the system tells whose it is"
    )
    for name, what in (("memory-mib", "memory"), ("cpu-seconds", "processor time"), ("run-seconds", "run time")):
        parser.add_argument(f"--replica-{name}", type=int, default=0, help=f"{what} of one replica, 0 = unlimited")
    return parser


def _options(given: argparse.Namespace) -> Options:
    """Return what the command line asks for; ValueError or OSError for a file that cannot be read as what it is."""
    return Options(
        state=given.state,
        speed=given.speed,
        is_scripted=given.scripted,
        capacity=json.loads(given.capacity.read_text()) if given.capacity else {},
        reclaim_spot=tuple(value for part in given.reclaim_spot for value in part),
        images=images.read(given.images) if given.images else (),
        limits=Limits(
            memory_mib=given.replica_memory_mib,
            cpu_seconds=given.replica_cpu_seconds,
            seconds=given.replica_run_seconds,
        ),
    )


def main() -> int:
    """Serve until told to stop; exit status 2 if it cannot start."""
    given = arguments().parse_args()
    os.umask(private.UMASK)
    logging.basicConfig(level=logging.WARNING, format="emulator: %(message)s")
    if given.speed <= 0:
        sys.stderr.write("--speed must be above 0\n")
        return 2
    try:
        options = _options(given)
    except (ValueError, OSError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    try:
        bound = listen(given.host, given.port)
    except (NotLoopback, OSError) as problem:
        sys.stderr.write(f"cannot listen on {given.host}:{given.port}: {problem}\n")
        return 2
    try:
        world = World(options)
    except FolderInUse as problem:
        sys.stderr.write(f"{problem}\n")
        return 2

    def ready() -> None:
        sys.stdout.write(f"emulator listening on {address_of(bound)}\n")
        sys.stdout.flush()

    made = server(world, bound, ready=ready, demands_credential=given.demand_credential)
    if made.credential is not None:
        sys.stderr.write(f"every request must bring the credential in {made.credential.file} (docs/emulator.md)\n")
    made.run([bound])
    return 0


if __name__ == "__main__":
    sys.exit(main())
