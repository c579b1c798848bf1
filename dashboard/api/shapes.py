"""Response schemas of the API. Amounts are US dollars as text, times are ISO 8601, missing values are null."""

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Schema


class FindingShape(Schema):
    """A finding about a job. `severity` is error, approval or note.

    `field` is a path in the REST body; empty means the whole body. `line` counts from 1 in the text. `source` is the
    source of the rule, and `read` the day on which it was read. `job` is the id of another job that the message names,
    or empty. If `confirm` is not empty, it can be sent in the request's `confirm`, if the value is meant.
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
    confirm: str = ""


class JobShape(Schema):
    """A job in a list. `cost_usd` is its cost so far, `waited_seconds` all its waits. `reason` explains its state.

    `family` is shared by the runs of a family, and null until the job is filed, some seconds after its request.
    `waited_seconds`, `ran_seconds` and `cost_usd` are null if the job ran although nothing shows when.
    """

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
    family: UUID | None
    requested_at: datetime
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    waited_seconds: int | None
    ran_seconds: int | None
    restarts: int
    usd_per_hour: str | None
    estimate_usd: str | None
    max_usd: str | None
    cap_usd: str | None
    cost_usd: str | None
    url: str


class JobPage(Schema):
    """A page of jobs. `next_cursor` is null on the last page. A page can be empty and still have a next page."""

    items: list[JobShape]
    next_cursor: str | None


class GroupShape(Schema):
    """A group of approvers. `approvals` of them have to approve.

    The group is everybody with `role`, or only those of them in `approvers` if it names any.
    """

    approvals: int
    role: str
    approvers: list[str]


class AskedAttemptShape(Schema):
    """One of several attempts that one decision covers, with its maximum cost."""

    number: int
    strategy: str
    region: str
    max_usd: str | None


class ApprovalShape(Schema):
    """Why the policy requires approval, and the decision. Every group has to approve.

    `decision` is approved, rejected, or empty while it is open. `attempts` lists the attempts that the decision covers;
    null means only this job. `max_usd` is the maximum cost of everything that the decision covers.
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
    """An attempt of the whole job. `start` is null for the first attempt."""

    number: int
    start: datetime | None
    cause: str
    waited_seconds: int | None
    is_waiting: bool


class FailureShape(Schema):
    """The failure that ended the program, as its log shows it.

    `exception` is empty if the program ended without one; `message` is then its last meaningful line. `file` and `line`
    are the innermost frame of the user's code, empty and 0 if none is shown. `lines` are at most 20 lines of the log.
    `is_certain` means that the exception ended its process.
    """

    exception: str
    message: str
    file: str
    line: int
    replica: str
    rank: int | None
    lines: list[str]
    is_certain: bool
    others: list[str]


class DiagnosisShape(Schema):
    """Why a job failed or cannot continue, and what to do. `retried` is what Vertex AI has already retried.

    `failure` is the failure of the program, if that ended the job and its log shows it.
    """

    cause: str
    title: str
    explanation: str
    retried: str
    remedy: str
    source: str
    suggestions: list[dict[str, Any]]
    replicas: list[str]
    is_from_log: bool
    failure: FailureShape | None = None


class FallbackShape(Schema):
    """The attempts of a request. `number` is the number of this job's attempt, of `size` in total.

    `jobs` lists the jobs that exist so far. `outcome` is empty while another attempt may follow.
    """

    number: int
    size: int
    words: str
    outcome: str
    message: str
    jobs: list[UUID]


class WarningShape(Schema):
    """A sign that a running job wastes money. `code` is idle, stuck, diverged, hopeless or lost_peer.

    `usd` is what the time since `since` has cost, null without a price. `asked_at` is when its owner was asked about
    it, and `cancels_at` the earliest time at which it is cancelled unless somebody answers; either may be null.
    """

    code: str
    since: datetime
    is_certain: bool
    evidence: str
    usd: str | None
    asked_at: datetime | None
    cancels_at: datetime | None


class JobDetail(JobShape):
    """All details of a job except its events and its log."""

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
    warning: WarningShape | None
    spec: dict[str, Any]


class EventShape(Schema):
    """An event of a job. `id` increases in the order in which events are recorded."""

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
    """The events after `after`, oldest first, and the current state of the job.

    Request the next page with `after=next_after`.
    """

    items: list[EventShape]
    next_after: int
    has_more: bool
    state: str
    is_finished: bool
    poll_after_seconds: int


class LogLineShape(Schema):
    """A log line."""

    id: int
    timestamp: datetime
    replica: str
    severity: str
    message: str


class LogPage(Schema):
    """The lines after `after`, in the order in which they were read. `is_complete` means that no more will come."""

    items: list[LogLineShape]
    next_after: int
    has_more: bool
    is_complete: bool
    poll_after_seconds: int


class Requested(Schema):
    """A requested job. `is_repeated` is true if an earlier request with the same Idempotency-Key created it.

    `findings` are notes about the text. They are empty for a repeated request.
    """

    job: JobShape
    is_repeated: bool
    findings: list[FindingShape]


class AlternativeShape(Schema):
    """The job under one strategy. `saving` is a fraction of the cost under Standard, negative if it costs more."""

    strategy: str
    label: str
    is_possible: bool
    estimate: dict[str, Any]
    saving: float | None
    findings: list[FindingShape]


class AssessmentShape(Schema):
    """The assessment of a job. `outcome` is allow, ask (an approval is required), or refuse.

    `outcome` is null without an expected run time.
    """

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
