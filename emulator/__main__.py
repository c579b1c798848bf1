"""`python -m emulator --host 127.0.0.1 --port 8900 --state DIR --speed N`."""

import argparse
import json
import logging
import os
import socket
import sys
from pathlib import Path

from emulator import grpc
from emulator.capacity import catalogue
from emulator.emulator import Emulator, Options
from emulator.lifecycle.scripts import STARTS
from emulator.replicas import images
from emulator.replicas.process_runner import Limits
from emulator.state import private
from emulator.state.store import FolderInUse
from emulator.web.server import NotLoopback, Server, address_of, listen

LOG_LATENESS = (4.0, 28.0)
"""Seconds between `timestamp` and `receiveTimestamp` of entries, recorded in 2026."""


def _seconds_list(text: str) -> list[float]:
    return [float(part) for part in text.split(",") if part.strip()]


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m emulator", description="Vertex AI training on loopback.")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
    parser.add_argument("--port", type=int, default=8900, help="0 = any free port, which is printed at the start")
    parser.add_argument("--grpc", type=int, metavar="PORT", help="also serve gRPC, on this port; 0 = any free port")
    parser.add_argument("--state", type=Path, required=True, help="folder for records, logs, buckets and scratch")
    parser.add_argument("--speed", type=float, default=1.0, help="divides queueing, provisioning and tear-down times")
    parser.add_argument(
        "--reclaim-spot",
        type=_seconds_list,
        action="append",
        default=[],
        metavar="SECONDS",
        help="seconds of running after which the first (second, ...) attempt of every Spot job is reclaimed; 0 = never",
    )
    parser.add_argument(
        "--start-after-restart",
        choices=STARTS,
        default=STARTS[0],
        help="startTime of a job that restarted: keep the first, or replace it by the last (not known of Vertex AI)",
    )
    parser.add_argument(
        "--late-log",
        action="store_true",
        help="log entries can be read 4 to 28 seconds after their time, divided by --speed, as recorded of the service",
    )
    parser.add_argument("--capacity", type=Path, help="JSON file with machines, quotas and how they change")
    parser.add_argument(
        "--catalogue",
        type=Path,
        help="JSON file with machines, regions, fields and enum values newer than the emulator's own",
    )
    parser.add_argument(
        "--images", type=Path, help="file with images that need no command, and the commands to run for them"
    )
    parser.add_argument("--scripted", action="store_true", help="no processes; the clock is set by control calls")
    parser.add_argument(
        "--demand-credential",
        action="store_true",
        help="require the credential with every request, even if the system reports the owner of a connection",
    )
    for name, what in (("memory-mib", "memory"), ("cpu-seconds", "processor time"), ("run-seconds", "run time")):
        parser.add_argument(f"--replica-{name}", type=int, default=0, help=f"{what} of one replica, 0 = unlimited")
    return parser


def _listen(host: str, port: int) -> socket.socket:
    """Bind a port. Raise ValueError with the reason if that is not possible."""
    try:
        return listen(host, port)
    except (NotLoopback, OSError) as problem:
        raise ValueError(f"cannot listen on {host}:{port}: {problem}") from None


def _prepare(args: argparse.Namespace) -> Server:
    """Return the server for a command line. Raise ValueError, OSError or FolderInUse if it cannot start."""
    if args.speed <= 0:
        raise ValueError("--speed must be above 0")
    if args.grpc is not None and not grpc.is_installed():
        raise ValueError(
            "--grpc needs the packages in requirements/grpc.txt: run `make grpc`, or install them with pip"
        )
    if args.catalogue:
        catalogue.extend(json.loads(args.catalogue.read_text()))
    options = Options(
        state=args.state,
        speed=args.speed,
        is_scripted=args.scripted,
        capacity=json.loads(args.capacity.read_text()) if args.capacity else {},
        reclaim_spot=tuple(value for part in args.reclaim_spot for value in part),
        start_after_restart=args.start_after_restart,
        log_lateness=LOG_LATENESS if args.late_log else (0.0, 0.0),
        images=images.load(args.images) if args.images else (),
        limits=Limits(
            memory_mib=args.replica_memory_mib,
            cpu_seconds=args.replica_cpu_seconds,
            seconds=args.replica_run_seconds,
        ),
    )
    bound = _listen(args.host, args.port)
    bound_grpc = None if args.grpc is None else _listen(args.host, args.grpc)
    emulator = Emulator(options)
    lines = [f"emulator listening on {address_of(bound)}"]

    def ready() -> None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.flush()

    server = Server(emulator, bound, ready=ready, demands_credential=args.demand_credential)
    if bound_grpc is not None:
        from emulator.grpc.server import GrpcServer  # noqa: PLC0415  # its packages may be missing

        grpc_server = GrpcServer(emulator, server, bound_grpc)
        server.additional_servers.append(grpc_server)
        lines.append(f"gRPC on {grpc_server.address}, certificate {grpc_server.certificate.file.resolve()}")
    return server


def main() -> int:
    """Serve until a signal stops the emulator. Return exit status 2 if it cannot start."""
    args = arguments().parse_args()
    os.umask(private.UMASK)
    logging.basicConfig(level=logging.WARNING, format="emulator: %(message)s")
    try:
        server = _prepare(args)
    except (ValueError, OSError, FolderInUse) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    if server.credential is not None:
        sys.stderr.write(f"every request must include the credential in {server.credential.file} (docs/emulator.md)\n")
    server.run([server.bound])
    return 0


if __name__ == "__main__":
    sys.exit(main())
