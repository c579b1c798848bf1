"""The shapes that all strategies share: a rule, what it finds, a strategy.

A rule reads a submission and yields problems; it never raises and never changes anything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from jobs.catalog import Machine
from jobs.spec import Finding, MachineSpec, PersistentResource, Severity, Submission, WorkerPoolSpec
from jobs.texts import translatable

RESERVED = frozenset({"ANY_RESERVATION", "SPECIFIC_RESERVATION"})
"""The affinities that take machines from a reservation; the third, NO_RESERVATION, means that none is to be used."""
OFF: Literal["off"] = "off"
Severities = Mapping[str, Severity | str]
"""`{rule code: severity}` as a site has set them; "off" silences a rule."""


class Source(NamedTuple):
    """Where a rule comes from: the page and the day it was read (ISO)."""

    title: str
    read: str


class Problem(NamedTuple):
    """What a rule found: the field's path in the REST body, what is wrong, what to do."""

    field: str
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class KnownResource:
    """A persistent resource as last seen. `in_use` are the replicas that running jobs hold, per resource pool; where
    it is empty, the resource's own `usedReplicaCount` counts.
    """

    resource_id: str
    project: str
    region: str
    resource: PersistentResource
    in_use: tuple[int, ...] = ()

    def used(self, index: int) -> int:
        """Return how many replicas of a resource pool are held."""
        if index < len(self.in_use):
            return self.in_use[index]
        return self.resource.resource_pools[index].used_replica_count


Known = Sequence[KnownResource]


@dataclass(frozen=True)
class Rule:
    """One requirement: its code, how much it weighs, its sentence, its source, and the function that looks.

    `by_strategy`: it reads something that `Strategy.apply` changes, so that one job may keep it under one strategy
    and not under another. What the other rules of every job find is the same under all of them.
    """

    code: str
    severity: Severity
    message: str
    source: Source
    find: Callable[[Submission, Known], Iterable[Problem]]
    by_strategy: bool = False

    def finding(self, problem: Problem, severity: Severity | None = None) -> Finding:
        """Return a problem as a finding, weighed as `severity` where a site has set one."""
        return Finding(self.code, severity or self.severity, *problem, self.source.title, self.source.read)


def rule(
    severity: Severity, source: Source, *, by_strategy: bool = False
) -> Callable[[Callable[[Submission], Iterable[Problem]]], Rule]:
    """Make a rule of a function of the submission; its name is the code, its docstring the sentence."""

    def make(find: Callable[[Submission], Iterable[Problem]]) -> Rule:
        return Rule(find.__name__, severity, message(find), source, lambda submission, _: find(submission), by_strategy)

    return make


def resource_rule(
    severity: Severity, source: Source
) -> Callable[[Callable[[Submission, Known], Iterable[Problem]]], Rule]:
    """Make a rule of a function of the submission and the persistent resources that are known."""

    def make(find: Callable[[Submission, Known], Iterable[Problem]]) -> Rule:
        return Rule(find.__name__, severity, message(find), source, find)

    return make


def message(find: Callable[..., object]) -> str:
    """Return a function's docstring as one line, a `Text`; `manage.py makemessages` reads it here."""
    return translatable(" ".join((find.__doc__ or "").split()))


@dataclass(frozen=True)
class Strategy:
    """A way of getting capacity.

    `sets` is what it writes into the spec, `machines` and `serves` which machines it can have, `kinds` which kinds
    of job. `quota` is the beginning of its quota metrics' names. `price_key` picks its prices. `restart_allowance` is
    how often Vertex AI restarts a job of it that lost its capacity. `default_wait` is how long it waits for capacity
    unless the job sets another (None: no limit of its own), `longest_run` the longest timeout it allows (None: no limit
    documented). `console` is whether Google Cloud's console submits such a job. `apply` returns the submission
    asking for this strategy and for no other.
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
    kinds: tuple[str, ...] = ("custom_job", "hyperparameter_tuning_job", "training_pipeline")


def is_reserved(spec: MachineSpec) -> bool:
    """Return whether a machine is to come from a reservation."""
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
    """Return the submission with this `scheduling.strategy` ("" = unset) and without the marks of other strategies.

    The persistent resource goes unless `resource` names one; reservations go unless `pools` holds what the pools are to
    be (a pool that wants none keeps NO_RESERVATION); maxWaitDuration goes unless `keep_wait`.
    """
    spec = submission.job_spec
    wait = spec.scheduling.max_wait_duration if keep_wait else None
    scheduling = spec.scheduling.but(strategy=strategy or None, max_wait_duration=wait)
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
