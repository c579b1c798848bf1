"""The types that all strategies share: rules, their problems, and strategies.

A rule reads a submission and yields problems. It never raises and changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from jobs.catalog import Machine
from jobs.spec import Finding, MachineSpec, PersistentResource, Severity, Submission, WorkerPoolSpec
from jobs.spec.custom_job import SCHEDULING_STRATEGIES
from jobs.spec.findings import as_confirmed
from jobs.texts import translatable
from jobs.texts import translatable as _

RESERVED = frozenset({"ANY_RESERVATION", "SPECIFIC_RESERVATION"})
"""The affinities that take machines from a reservation; the third one, NO_RESERVATION, uses none."""
SCHEDULING_NAMES = frozenset(SCHEDULING_STRATEGIES[0].names.values())
OFF: Literal["off"] = "off"
Severities = Mapping[str, Severity | str]
"""`{rule code: severity}` as set by a site; "off" disables a rule."""


class Source(NamedTuple):
    """The source of a rule: the page, and the day it was read (ISO)."""

    title: str
    read: str


class Problem(NamedTuple):
    """A problem that a rule found: the field's path in the REST body, what is wrong, what to do.

    `confirm` is given for what Trainboard does not know but Vertex AI may: a text that identifies the field and its
    value. A person can confirm it; then it is no error, and an approver decides.
    """

    field: str
    message: str
    remedy: str = ""
    confirm: str = ""


@dataclass(frozen=True)
class KnownResource:
    """A persistent resource as last seen.

    `in_use` is the number of replicas that running jobs use, per resource pool. If it is empty, the resource's own
    `usedReplicaCount` is used. `is_counted`: ceilings count it at its largest, because it was made or enlarged here.
    """

    resource_id: str
    project: str
    region: str
    resource: PersistentResource
    in_use: tuple[int, ...] = ()
    is_counted: bool = False

    def used(self, index: int) -> int:
        """Return the number of replicas of a resource pool in use."""
        if index < len(self.in_use):
            return self.in_use[index]
        return self.resource.resource_pools[index].used_replica_count


Known = Sequence[KnownResource]


@dataclass(frozen=True)
class Rule:
    """One rule: its code, severity, message, source, and the function that finds problems.

    `by_strategy` marks a rule that reads a field changed by `Strategy.apply`, so its result may depend on the strategy.
    The other rules find the same under every strategy.
    """

    code: str
    severity: Severity
    message: str
    source: Source
    find: Callable[[Submission, Known], Iterable[Problem]]
    by_strategy: bool = False

    def finding(self, problem: Problem, submission: Submission, severity: Severity | None = None) -> Finding:
        """Return a problem as a finding, with `severity` if the site has set one.

        What a person may confirm is an error until then: see `as_confirmed`.
        """
        field, message, remedy, confirm = problem
        title, read = self.source
        found = Finding(self.code, severity or self.severity, field, message, remedy, title, read, confirm=confirm)
        return as_confirmed(found, submission.confirmed)


def rule(
    severity: Severity, source: Source, *, by_strategy: bool = False
) -> Callable[[Callable[[Submission], Iterable[Problem]]], Rule]:
    """Decorate a function of the submission as a rule; its name is the code, its docstring the message."""

    def make(find: Callable[[Submission], Iterable[Problem]]) -> Rule:
        return Rule(find.__name__, severity, message(find), source, lambda submission, _: find(submission), by_strategy)

    return make


def resource_rule(
    severity: Severity, source: Source
) -> Callable[[Callable[[Submission, Known], Iterable[Problem]]], Rule]:
    """Decorate a function of the submission and the known persistent resources as a rule."""

    def make(find: Callable[[Submission, Known], Iterable[Problem]]) -> Rule:
        return Rule(find.__name__, severity, message(find), source, find)

    return make


def message(find: Callable[..., object]) -> str:
    """Return a function's docstring as one line, a `Text`; `manage.py makemessages` extracts it."""
    return translatable(" ".join((find.__doc__ or "").split()))


@dataclass(frozen=True)
class Strategy:
    """A strategy for getting capacity.

    `sets` describes what it writes into the spec, `machines` and `serves` which machines it offers, `kinds` the kinds
    of job it supports. `quota` is the prefix of its quota metrics, and `price_key` selects its prices.
    `restart_allowance` is how often Vertex AI restarts a job that lost its capacity. `default_wait` is how long it
    waits for capacity unless the job sets another limit (None: no limit of its own), and `longest_run` is the longest
    timeout allowed (None: no limit documented). `console` describes whether Google Cloud's console can submit such a
    job. `apply` returns the submission under this strategy only.

    `recognizes` returns whether a submission asks for this strategy. Where several do, the lowest `precedence` counts.
    `safety` orders the strategies, 0 being the safest: held machines, then those that are not preempted, then those
    whose wait is bounded, then preemptible ones. `is_held` is True if a reservation or a persistent resource holds the
    machines and is paid for whether or not a job uses them, so that the price of one job means little, and
    `runs_on_resource` if it is a persistent resource, which is billed and counted instead of its jobs. `form_field` is
    the field of the compose form that only this strategy has. `queued` and `pending` are why a job in that state does
    not run yet.
    """

    key: str
    label: str
    summary: str
    sets: str
    machines: str
    serves: Callable[[Machine], bool]
    price_key: str
    billing: str
    quota: str
    quota_rule: str
    preemptible: bool
    restart_allowance: int
    restart_rule: str
    wait_rule: str
    default_wait: timedelta | None
    longest_run: timedelta | None
    console: str
    source: Source
    rules: tuple[Rule, ...]
    apply: Callable[[Submission], Submission]
    recognizes: Callable[[Submission], bool]
    precedence: int
    safety: int
    queued: str
    pending: str = _("machines are being prepared")
    is_held: bool = False
    runs_on_resource: bool = False
    form_field: str = ""
    kinds: tuple[str, ...] = ("custom_job", "hyperparameter_tuning_job", "training_pipeline")


def is_reserved(spec: MachineSpec) -> bool:
    """Return whether a machine is taken from a reservation."""
    affinity = spec.reservation_affinity
    return affinity is not None and affinity.reservation_affinity_type in RESERVED


def set_strategy(
    submission: Submission,
    *,
    strategy: str,
    keep_wait: bool = False,
    resource: str = "",
    pools: tuple[WorkerPoolSpec, ...] | None = None,
) -> Submission:
    """Return the submission with this `scheduling.strategy` ("" = unset) and without the fields of other strategies.

    With "", a value that Trainboard does not know is kept: it is no other strategy's, and Vertex AI may know it.
    The persistent resource is removed unless `resource` names one. Reservations are removed unless `pools` gives the
    worker pools; a pool that excludes reservations keeps NO_RESERVATION. maxWaitDuration is removed unless `keep_wait`.
    """
    spec = submission.job_spec
    wait = spec.scheduling.max_wait_duration if keep_wait else None
    kept = None if spec.scheduling.strategy in SCHEDULING_NAMES else spec.scheduling.strategy
    scheduling = spec.scheduling.but(strategy=strategy or kept, max_wait_duration=wait)
    changes: dict[str, object] = {
        "persistent_resource_id": resource or None,
        "scheduling": scheduling if scheduling.model_fields_set else None,
    }
    if pools is None and any(is_reserved(pool.machine_spec) for pool in spec.worker_pool_specs):
        pools = tuple(
            pool.but(machine_spec=pool.machine_spec.but(reservation_affinity=None))
            if is_reserved(pool.machine_spec)
            else pool
            for pool in spec.worker_pool_specs
        )
    if pools:
        changes["worker_pool_specs"] = pools
    return submission.with_job_spec(spec.but(**changes))
