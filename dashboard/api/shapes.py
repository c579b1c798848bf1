"""Response schemas of the API. Amounts are US dollars as text, times are ISO 8601, missing values are null."""

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Schema


class FindingShape(Schema):
    """A finding about a job: `severity` is error, approval or note; `field` a path in the REST body; `line` from 1.

    `job` is the id of another job that the message names, empty for none.
    """

    code: str
    severity: str
    field: str
    message: str
    remedy: str
    source: str
    read: str
    line: int | None
    job: str = ""


class JobShape(Schema):
    """A job as lists show it; `cost_usd` is what it has cost so far, `reason` why it is in its state."""

    id: UUID
    name: str
    team: str
    owner: str
    kind: str
    state: str
    reason: str
    is_finished: bool
    outcome: str
    strategy: str
    machines: str
    project: str
    region: str
    requested_at: datetime
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    waited_seconds: int
    ran_seconds: int
    restarts: int
    usd_per_hour: str | None
    estimate_usd: str | None
    max_usd: str | None
    cap_usd: str | None
    cost_usd: str | None
    url: str


class JobPage(Schema):
    """One page of jobs; `next_cursor` is null on the last one. A page may hold no job and yet have a next one."""

    items: list[JobShape]
    next_cursor: str | None


class GroupShape(Schema):
    """Approvers of whom so many have to approve: those with the role, or of them the ones that are named."""

    approvals: int
    role: str
    approvers: list[str]


class AskedAttemptShape(Schema):
    """An attempt that is decided about together with others, and the most that it may cost."""

    number: int
    strategy: str
    region: str
    max_usd: str | None


class ApprovalShape(Schema):
    """Why policy asked, and who decided what; every group has to approve. `decision` is "", approved or rejected.

    `attempts` are all that are decided about at once, where further ones are planned; null: this job only. `max_usd` is
    the most that what is decided about may cost, all attempts together.
    """

    asked_at: datetime
    groups: list[GroupShape]
    findings: list[dict[str, Any]]
    decision: str
    decided_by: str | None
    decided_at: datetime | None
    comment: str
    max_usd: str | None
    attempts: list[AskedAttemptShape] | None


class AttemptShape(Schema):
    """One try of the whole job; `start` is null for the first."""

    number: int
    start: datetime | None
    cause: str
    waited_seconds: int | None
    is_waiting: bool


class DiagnosisShape(Schema):
    """Why a job failed or cannot go on, and what to do."""

    cause: str
    title: str
    explanation: str
    retried: str
    remedy: str
    source: str
    suggestions: list[dict[str, Any]]
    replicas: list[str]
    is_from_log: bool


class FallbackShape(Schema):
    """Which attempt of its request a job is: `jobs` are those that were made, `outcome` is "" while more may follow."""

    number: int
    size: int
    words: str
    outcome: str
    message: str
    jobs: list[UUID]


class JobDetail(JobShape):
    """Everything about one job but its events and its log."""

    expected_seconds: int
    is_adopted: bool
    cancel_requested_at: datetime | None
    remote_name: str
    error: dict[str, Any] | None
    last_error: str
    estimate: dict[str, Any]
    approval: ApprovalShape | None
    attempts: list[AttemptShape]
    diagnosis: DiagnosisShape | None
    fallback: FallbackShape | None
    spec: dict[str, Any]


class EventShape(Schema):
    """One event of a job; `id` grows in the order in which events were recorded."""

    id: int
    kind: str
    from_state: str
    to_state: str
    actor: str | None
    occurred_at: datetime
    recorded_at: datetime
    reason: str
    message: str
    detail: dict[str, Any]


class EventPage(Schema):
    """Events after `after`, oldest first, and the job's state of now; ask again with `after=next_after`."""

    items: list[EventShape]
    next_after: int
    has_more: bool
    state: str
    is_finished: bool
    poll_after_seconds: int


class LogLineShape(Schema):
    """One line of a log."""

    id: int
    timestamp: datetime
    replica: str
    severity: str
    message: str


class LogPage(Schema):
    """Lines after `after` in the order in which they were read; `is_complete` once no further ones can come."""

    items: list[LogLineShape]
    next_after: int
    has_more: bool
    is_complete: bool
    poll_after_seconds: int


class Requested(Schema):
    """A requested job; `is_repeated` when the Idempotency-Key had made it before. `findings` are what was noted."""

    job: JobShape
    is_repeated: bool
    findings: list[FindingShape]


class AlternativeShape(Schema):
    """The job under one strategy; `saving` is a share of the Standard cost, below zero where it costs more."""

    strategy: str
    label: str
    is_possible: bool
    estimate: dict[str, Any]
    saving: float | None
    findings: list[FindingShape]


class AssessmentShape(Schema):
    """All that is known of a job before it is sent; `outcome` is allow, ask, refuse, or null without a run time."""

    outcome: str | None
    name: str
    kind: str
    strategy: str
    machines: str
    project: str
    region: str
    findings: list[FindingShape]
    estimate: dict[str, Any] | None
    max_usd: str | None
    alternatives: list[AlternativeShape]
    body: dict[str, Any]
