"""Shared parts of an emulator: records, logs and time, and changes to records of every kind."""

import hashlib
from dataclasses import dataclass
from typing import Any

from emulator.lifecycle import messages
from emulator.lifecycle.clock import Clock
from emulator.lifecycle.timers import Timers
from emulator.lifecycle.times import Times
from emulator.protocol.errors import precondition
from emulator.protocol.timestamps import format_time
from emulator.state.logs import Line, Logs, replica_line
from emulator.state.records import PRIMARY, Job, Operation, PersistentResource, WithHistory
from emulator.state.store import Store

SHELL_HOST = "aiplatform-training.invalid"


@dataclass(frozen=True)
class Runtime:
    """The records, logs, clock, service times and timers of one emulator."""

    store: Store
    logs: Logs
    clock: Clock
    times: Times
    timers: Timers

    def timestamp(self) -> str:
        """Return the current time (RFC 3339)."""
        return format_time(self.clock.now())

    def set_state(self, record: WithHistory | PersistentResource, state: str) -> None:
        """Change the public state of a record, without saving it."""
        now = self.clock.now()
        record.document["state"] = state
        record.document["updateTime"] = format_time(now)
        record.document.pop("webAccessUris", None)
        if isinstance(record, Job) and state == "JOB_STATE_RUNNING" and (uris := web_access_uris(record)):
            record.document["webAccessUris"] = uris
        if isinstance(record, WithHistory):
            record.add_to_history(now, state)

    def log_provisioning(self, job: Job) -> None:
        """Write the service's lines about a job that it will provision, which share a second, and plan the next one."""
        for text in (messages.WAITING, messages.PROVISIONING, messages.SETTING_UP, messages.WAITING_FOR_PROGRAM):
            self.log(job, text)
        self.timers.set(job, "preparing", self.times.scaled(self.times.preparing))

    def log(self, job: Job, text: str, *, severity: str = "INFO", task: str = "service") -> None:
        """Write a log line of the service or of a replica."""
        now = self.clock.now()
        is_ours = task == "service"
        line = Line(now, task, severity, {"textPayload": text}) if is_ours else replica_line(now, task, severity, text)
        self.logs.write(job, [line])

    def finish_operation(self, operation: Operation, **result: Any) -> None:
        """Complete a long-running operation with `response=` or `error=`."""
        operation.document["metadata"]["genericMetadata"]["updateTime"] = self.timestamp()
        operation.document |= {"done": True, **result}
        self.store.save(operation)


def check_can_cancel(record: WithHistory) -> None:
    """Raise ApiError 400 if a record has ended."""
    if record.is_finished:
        text = f"The {record.message} {record.name} is in state {record.state} and cannot be cancelled."
        raise precondition(text)


def web_access_uris(job: Job) -> dict[str, str]:
    """Return `{"workerpool0-0": URI}`, {} for a job that did not request access. Other machines have other URIs.

    There is one URI per replica if `enableWebAccess` is set, and only the chief's for `enableDashboardAccess` (field
    comments of CustomJob and CustomJobSpec in the v1 protos). They have the format of Vertex AI's but cannot be
    reached: there is no shell, and no host can have a name under `.invalid` (RFC 2606).
    """
    names = job.replica_names if job.spec.get("enableWebAccess") else []
    if not names and job.spec.get("enableDashboardAccess"):
        names = [PRIMARY]
    tokens = {name: hashlib.sha256(f"{job.name} {job.hosts} {name}".encode()).hexdigest()[:16] for name in names}
    return {name: f"https://{token}-dot-{job.location}.{SHELL_HOST}" for name, token in tokens.items()}
