"""The quotas of project and region that a job uses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from shlex import quote

from jobs.catalog import ACCELERATORS, machine
from jobs.spec import Finding, MachineSpec, Severity, Submission
from jobs.strategies import Strategy
from jobs.texts import translatable as _

DEVICE_CORES = 8
"""A TPU v2 or v3 with more cores is a Pod, which has its own quota metric."""
SHARED_CPU_QUOTA = frozenset({"n1", "e2"})
"""Series that share the quota metric `...cpus`; every other series has its own."""


UNLIMITED = -1
CONSOLE = "aiplatform.googleapis.com"


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The last reading of a metric in a region from Google: limit (-1: none), use (None: unknown), and time."""

    metric: str
    limit: int
    used: int | None
    quota_id: str
    read_at: datetime

    @property
    def free(self) -> int | None:
        """The unused amount; None if there is no limit or the use is not known."""
        return None if self.limit == UNLIMITED or self.used is None else max(self.limit - self.used, 0)


@dataclass(frozen=True, slots=True)
class Quota:
    """The amount of a quota that a job needs, in vCPUs, GPUs or TPU chips; None if not known.

    `is_allowed` is False if a project has none of it until it requests some.
    """

    metric: str
    amount: int | None
    is_allowed: bool = True
    state: QuotaState | None = None

    @property
    def is_short(self) -> bool:
        """Whether the job needs more than is free, or more than the limit if the use is not known."""
        if self.state is None or self.amount is None or self.state.limit == UNLIMITED:
            return False
        return self.amount > (self.state.limit if self.state.free is None else self.state.free)


def with_states(needed: Iterable[Quota], states: Mapping[str, QuotaState]) -> tuple[Quota, ...]:
    """Return the quotas with their known states; a limit that was read decides whether a project has any."""
    return tuple(
        replace(each, state=state, is_allowed=state.limit != 0) if (state := states.get(each.metric)) else each
        for each in needed
    )


def increase_command(quota: Quota, *, project: str, region: str) -> str:
    """Return the gcloud command that requests a sufficient limit; "" if the quota has no known id.

    Source: `gcloud beta quotas preferences create`, gcloud reference, read 2026-11-23.
    """
    if quota.state is None or not quota.state.quota_id or quota.amount is None:
        return ""
    value = (quota.state.used or 0) + quota.amount
    return (
        f"gcloud beta quotas preferences create --service={CONSOLE} --quota-id={quote(quota.state.quota_id)}"
        f" --project={quote(project)} --dimensions=region={quote(region)} --preferred-value={value}"
    )


def quotas(submission: Submission, strategy: Strategy) -> tuple[Quota, ...]:
    """Return the quotas of a job: one metric per CPU family and accelerator, in the order of its pools.

    Source: 429 answers of Vertex AI for N1, E2 and the GPUs up to H100. The names for other CPU families, newer GPUs
    and TPUs follow the same pattern and are not verified (2026-11-21). The defaults of preemptible metrics are not
    documented.
    """
    if not strategy.quota:
        return ()
    found: dict[str, Quota] = {}
    for _index, pool in submission.pools:
        machines = max(pool.replicas, 0) * submission.parallel_trials
        for quota in _quotas(pool.machine_spec, strategy.quota, machines):
            before = found.get(quota.metric)
            amount = quota.amount
            if before is not None:
                amount = None if before.amount is None or amount is None else before.amount + amount
            found[quota.metric] = replace(quota, amount=amount)
    return tuple(found.values())


def short_quotas(submission: Submission, strategy: Strategy, states: Mapping[str, QuotaState]) -> list[Finding]:
    """Return a note for each quota with less free than the job needs; `states` are those of its region.

    This is never an error: the readings are minutes old, and a job that does not fit now may wait in the queue.
    """
    found = []
    for each in with_states(quotas(submission, strategy), states) if states else ():
        if each.state is None or not each.is_short:
            continue
        limit, free = each.state.limit, each.state.free
        rest = _("the limit is %(limit)s", limit=limit)
        if free is not None:
            rest = _("%(free)s of %(limit)s free", free=free, limit=limit)
        words = {"amount": each.amount, "metric": each.metric, "region": submission.region, "rest": rest}
        message = _(
            "The job needs %(amount)s of %(metric)s in %(region)s: %(rest)s, read at %(time)s UTC on %(day)s.",
            **words,
            time=f"{each.state.read_at:%H:%M}",
            day=f"{each.state.read_at.day} {each.state.read_at:%b}",
        )
        command = increase_command(each, project=submission.project, region=submission.region)
        asked = _("Wait, take another region or strategy, or ask for more: %(command)s", command=command)
        found.append(Finding("quota_is_short", Severity.NOTE, "", message, asked if command else ""))
    return found


def _quotas(spec: MachineSpec, begin: str, machines: int) -> Iterator[Quota]:
    """Yield the quotas that so many machines need; metrics end like `a2_cpus` and `nvidia_a100_gpus`."""
    row = machine(spec.machine_type)
    if row is None:
        return
    if not row.is_tpu:
        end = "cpus" if row.series in SHARED_CPU_QUOTA else f"{row.series}_cpus"
        yield Quota(begin + end, None if row.vcpu is None else row.vcpu * machines)
    name = row.fixed_accelerator or spec.accelerator
    pod = row.is_tpu and spec.accelerator_count > DEVICE_CORES
    accelerator = ACCELERATORS.get(f"{name}_POD" if pod else name)
    if accelerator is not None and accelerator.quota:
        count = row.gpu_count if row.gpu_attach == "fixed" and row.gpu_type else spec.accelerator_count
        if row.is_tpu:
            slice_ = row.topologies.get(spec.tpu_topology)
            count = slice_.chips if slice_ is not None else 0
        is_allowed = accelerator.has_default_quota or "preemptible" in begin
        yield Quota(begin + accelerator.quota, count * machines or None, is_allowed)
