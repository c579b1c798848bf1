"""The same job under every strategy, side by side: is it possible, what does it cost, what does one wait and risk."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from jobs.catalog import ACCELERATORS, machine
from jobs.cost.estimate import Estimate, estimate
from jobs.cost.prices import PriceBook
from jobs.spec import Finding, MachineSpec, Severity, Submission, refuses
from jobs.strategies import STRATEGIES, Known, Severities, Strategy, check_each

DEVICE_CORES = 8
"""A TPU v2 or v3 of more cores is a Pod, which has a quota metric of its own."""
SHARED_CPU_QUOTA = frozenset({"n1", "e2"})
"""Series that share the quota metric `...cpus`; every other series has one of its own."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One strategy's answer to a job."""

    strategy: Strategy
    submission: Submission
    """The job as it would be sent under this strategy."""
    findings: tuple[Finding, ...]
    estimate: Estimate
    saving: Decimal | None
    """Share of the expected standard cost that is saved, below zero when it costs more; None where it is not known."""

    quota_metrics: tuple[str, ...]
    """Names of the quota metrics that it draws on, without `aiplatform.googleapis.com/`; empty: none."""

    @property
    def eligible(self) -> bool:
        """Whether nothing refuses the job under this strategy."""
        return not refuses(self.findings)

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """Why it cannot run like this."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.REFUSE)

    @property
    def longest_wait(self) -> timedelta | None:
        """How long it waits for machines before it fails; None where it has no such limit or waits without end."""
        if self.strategy.default_wait is None:
            return None
        asked = self.submission.job_spec.scheduling.max_wait_duration
        return (self.strategy.default_wait if asked is None else asked) or None


def offers(
    submission: Submission,
    *,
    expected: timedelta,
    book: PriceBook,
    strategies: Mapping[str, Strategy] = STRATEGIES,
    severities: Severities | None = None,
    pools: Known = (),
) -> list[Offer]:
    """Return one offer per strategy, in their order; `expected` is the running time of the job or of one trial.

    Each strategy sets in the job what it needs and takes out what belongs to others; then its rules judge the result,
    with the `severities` of the site and the persistent resources (`pools`) that are known.
    """
    asked = [(each, each.apply(submission)) for each in strategies.values()]
    made = [(each, job, estimate(job, strategy=each, expected=expected, book=book)) for each, job in asked]
    standard = next((found.expected_usd for each, _, found in made if each.key == "standard"), None)
    return [
        Offer(
            strategy=each,
            submission=job,
            findings=tuple(findings),
            estimate=found,
            saving=_saving(found.expected_usd, standard),
            quota_metrics=quota_metrics(job, each),
        )
        for (each, job, found), findings in zip(
            made, check_each(asked, severities=severities, pools=pools), strict=True
        )
    ]


def quota_metrics(submission: Submission, strategy: Strategy) -> tuple[str, ...]:
    """Return the quota metrics that a job draws on: one per CPU family and accelerator, in the order of its pools.

    Source: 429 answers of Vertex AI for N1, E2 and the GPUs up to H100; the names for other CPU families, newer GPUs
    and TPUs follow the same pattern and are not verified (2026-11-21).
    """
    if not strategy.quota:
        return ()
    ends = [end for _, pool in submission.pools for end in _quota_ends(pool.machine_spec)]
    return tuple(dict.fromkeys(strategy.quota + end for end in ends))


def _quota_ends(spec: MachineSpec) -> Iterator[str]:
    """Yield how the names of the metrics end, such as `a2_cpus` and `nvidia_a100_gpus`."""
    row = machine(spec.machine_type)
    if row is None:
        return
    if not row.is_tpu:
        yield "cpus" if row.series in SHARED_CPU_QUOTA else f"{row.series}_cpus"
    name = row.fixed_accelerator or spec.accelerator
    pod = row.is_tpu and spec.accelerator_count > DEVICE_CORES
    accelerator = ACCELERATORS.get(f"{name}_POD" if pod else name)
    if accelerator is not None and accelerator.quota:
        yield accelerator.quota


def _saving(usd: Decimal | None, standard: Decimal | None) -> Decimal | None:
    """The share of the standard cost that is saved; None where either is not known or standard costs nothing."""
    if usd is None or not standard:
        return None
    return 1 - usd / standard
