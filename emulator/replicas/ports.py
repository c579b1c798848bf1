"""One port per replica on 127.0.0.1, kept over restarts, so that the replicas of a job find each other."""

import socket

from emulator.state.records import Job


def assign(job: Job) -> None:
    """Give every replica of the job that has none a port that is free now."""
    missing = [replica for replica in job.replica_names if replica not in job.ports]
    held = []
    try:
        for replica in missing:
            probe = socket.socket()
            held.append(probe)
            probe.bind(("127.0.0.1", 0))
            job.ports[replica] = probe.getsockname()[1]
    finally:
        for probe in held:
            probe.close()
