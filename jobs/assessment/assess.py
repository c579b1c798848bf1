"""Assess a submission in its context: findings, an estimate for each strategy, and the outcome. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Any

from jobs import allowed_resources, budget, gate
from jobs.assessment.context import Context, IdenticalJob
from jobs.cost import CENT, Estimate, Quota, quotas, round_price, round_up, short_quotas, with_states
from jobs.cost.actual import HOUR
from jobs.cost.notes import in_words
from jobs.policy import Decision, Filled, decide, fill
from jobs.policy_rules import PolicyRules, accelerators_of, sum_accelerators
from jobs.spec import Finding, Severity, Submission, folder_of
from jobs.spec.images import ImageStatus, missing_images
from jobs.states import FINISHED
from jobs.strategies import STRATEGIES, Known, Strategy, check, check_each, strategy_of
from jobs.strategies.resource_fit import find_added
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT
from jobs.texts import translatable
from jobs.texts import translatable as _

MAX_USD = Decimal(10) ** 12
"""Stored amounts stay below this, the limit of their columns."""
MAX_GPUS = 2**31 - 1
"""The largest number that the column of accelerators can hold."""


class Outcome(StrEnum):
    """The outcome of a request; the values are stored with the events of a job."""

    ALLOWED = "allow"
    """The job may be sent at once."""
    NEEDS_APPROVAL = "ask"
    """An approver has to decide."""
    REFUSED = "refuse"
    """The job cannot be sent like this."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """The job under one strategy."""

    strategy: Strategy
    submission: Submission
    """The job as it would be sent under this strategy."""
    findings: tuple[Finding, ...]
    estimate: Estimate
    saving: Decimal | None
    """Share of the expected standard cost that is saved; negative if this strategy costs more, None if unknown."""
    quotas: tuple[Quota, ...]
    """Quotas of the project and region that the job uses; empty: none."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The errors that prevent the job from running under this strategy."""
        return of_severity(self.findings, Severity.ERROR)


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment of one submission, with the values that policy sets in it.

    `findings` are those of the rules, then those of policy. `estimate` is for one job, and `decision` is that of
    policy. `estimate` and `outcome` are None if no run time is known. `alternatives` is the job under every strategy,
    if requested.
    """

    submission: Submission
    findings: tuple[Finding, ...]
    policy: PolicyRules | None
    estimate: Estimate | None = None
    outcome: Outcome | None = None
    alternatives: tuple[Alternative, ...] = ()
    sweep_size: int = 1
    decision: Decision | None = None
    cap_cancels: bool = True
    """Whether the job is cancelled when its cost reaches its cap."""
    gpus: int = 0
    """The accelerators that the job adds at once, as `gpus_of`."""

    @property
    def total(self) -> Estimate | None:
        """The estimate for all jobs of a sweep together."""
        return self.estimate.times(self.sweep_size) if self.estimate is not None else None

    @property
    def total_max_usd(self) -> Decimal | None:
        """The most that all jobs of a sweep may cost, computed as `max_usd` is."""
        return _most(self.total)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The errors, which prevent the job from being sent."""
        return of_severity(self.findings, Severity.ERROR)

    @property
    def approvals(self) -> tuple[Finding, ...]:
        """The findings that an approver has to agree to."""
        return of_severity(self.findings, Severity.APPROVAL)

    @property
    def asks(self) -> list[dict[str, Any]]:
        """The findings that an approver has to agree to, as stored with the request for approval."""
        return [finding.as_kept() for finding in self.approvals]

    def as_dict(self) -> dict[str, Any]:
        """Return findings and policy decision as JSON, the form stored in the event of an assessment."""
        policy = self.decision.as_dict() if self.decision is not None else None
        return {"findings": [finding.as_dict() for finding in self.findings], "policy": policy}

    @property
    def max_usd(self) -> Decimal | None:
        """The most that the job can cost, rounded up to cents, as stored with the job; None if no price is known."""
        return _most(self.estimate)


def assess(
    submission: Submission,
    context: Context,
    *,
    expected: timedelta | None = None,
    strategy: Strategy | None = None,
    compares: bool = False,
) -> Assessment:
    """Assess a submission. Never raise if the submission could be parsed.

    `expected` is the run time of the job, or of one trial; without it there is no estimate and no outcome. `strategy`
    checks the job by the rules of another strategy than its own; then there is no estimate either. `compares` adds the
    job under every strategy, if a run time is known and every worker pool names its machine.
    """
    given = filled(submission, context, expected)
    submission = _within_cap(given.submission, context, expected)
    alternatives = _alternatives(submission, context, expected) if compares and has_machines(submission) else ()
    chosen = strategy_of(submission)
    if strategy is not None and strategy is not chosen:
        findings = check(submission, strategy=strategy, severities=context.severities)
        return Assessment(submission, tuple(findings), context.policy, alternatives=alternatives)
    own = next((way for way in alternatives if way.strategy is chosen and way.submission == submission), None)
    rules = own.findings if own else check(submission, severities=context.severities, resources=context.resources)
    rules = [*rules, *short_quotas(submission, chosen, context.quota_states)]
    rules += missing_images(submission, context.image_states)
    if expected is None or context.policy is None:
        return Assessment(submission, tuple(rules), context.policy, alternatives=alternatives)
    cost = own.estimate if own else context.estimate(submission, chosen, expected)
    matched = context.match_policy(submission, cost)
    decision = decide(submission, matched)
    allowed = context.allowed
    uses = allowed_resources.check(submission, allowed, context.resources) if allowed is not None else ()
    gpus = gpus_of(submission, context.resources)
    charge = gate.charge_of(cost, gpus, context.budget_jobs or context.sweep_size)
    passed = gate.check(charge, context.budgets, context.ceilings)
    capped = budget.check_cap(context.cap_usd, cost, cancels=context.cap_cancels, is_approvers=context.is_approvers_cap)
    twice = _identical(context.identical)
    folder = _folder_in_use(submission, context)
    unpriced = _unpriced(cost, decision)
    cut = _times_out(submission, expected)
    known = (*rules, *cut, *uses, *given.findings, *decision.findings, *unpriced, *passed, *capped, *twice, *folder)
    return Assessment(
        submission, known, context.policy, cost, outcome_of(known), alternatives,
        context.sweep_size, decision, context.cap_cancels, gpus,
    )  # fmt: skip


def filled(submission: Submission, context: Context, expected: timedelta | None) -> Filled:
    """Return the submission with the values that policy sets; unchanged if no run time or no policy is known.

    `Context.fills` is off for a job that was requested already, so that nothing is added to it afterwards.
    """
    if expected is None or context.policy is None or not context.fills:
        return Filled(submission)
    if not any(rule.outcome == "set" for rule in context.policy.rules):
        return Filled(submission)
    cost = context.estimate(submission, strategy_of(submission), expected)
    matched = context.match_policy(submission, cost)
    return fill(submission, matched)


def _within_cap(submission: Submission, context: Context, expected: timedelta | None) -> Submission:
    """Return the submission with the timeout at which Google keeps it within the requester's cap, if there is one.

    Like values of policy, it is set only in a job that is being requested.
    """
    cap = context.timeout_cap_usd
    if expected is None or cap is None or not context.fills or not context.cap_cancels:
        return submission
    timeout = budget.timeout_for_cap(cap, context.estimate(submission, strategy_of(submission), expected))
    if timeout is None:
        return submission
    spec = submission.job_spec
    return submission.with_job_spec(spec.but(scheduling=spec.scheduling.but(timeout=timeout)))


def _unpriced(cost: Estimate, decision: Decision) -> tuple[Finding, ...]:
    """Return the finding that a job without a known price needs an approval, whatever policy and cap allow.

    None if policy asks about it or refuses it anyway.
    """
    if cost.usd_per_hour is not None or of_severity(decision.findings, Severity.APPROVAL):
        return ()
    missing = ", ".join(dict.fromkeys(line.resource for line in cost.lines if line.unit_usd is None))
    message = _("No price is known for %(names)s, so the job needs an approval.", names=missing)
    return (Finding("price_unknown", Severity.APPROVAL, "", message),)


def _times_out(submission: Submission, expected: timedelta) -> tuple[Finding, ...]:
    """Return a note if the timeout, or Vertex AI's default of seven days, comes before the expected end."""
    timeout = submission.job_spec.scheduling.timeout or DEFAULT_TIMEOUT
    if not timedelta() < timeout < expected:
        return ()
    words = {"timeout": in_words(timeout / HOUR), "expected": in_words(expected / HOUR)}
    message = _("The timeout of %(timeout)s ends the job before its expected run time of %(expected)s.", **words)
    if submission.tuning is not None:
        message = _("The timeout of %(timeout)s ends each trial before its expected run time of %(expected)s.", **words)
    remedy = _("Set a longer timeout, or save checkpoints to continue from.")
    return (Finding("timeout_before_end", Severity.NOTE, submission.spec_field("scheduling.timeout"), message, remedy),)


def _identical(jobs: Sequence[IdenticalJob]) -> tuple[Finding, ...]:
    """Return a note that names the newest identical job and counts the others."""
    if not jobs:
        return ()
    state = translatable(jobs[0].state.replace("_", " "))  # `jobs.state_words` marks the states for translation
    words = {"state": state, "name": jobs[0].display_name, "more": len(jobs) - 1}
    message = _("The team has identical jobs: %(name)s (%(state)s) and %(more)s more.", **words)
    if len(jobs) == 1:
        message = _("The team has an identical job: %(name)s (%(state)s).", **words)
    remedy = _("Submit only if you want it a second time.")
    return (Finding("identical_job", Severity.NOTE, "", message, remedy, job=jobs[0].id),)


def _folder_in_use(submission: Submission, context: Context) -> list[Finding]:
    """Return notes that another job of the team uses the output folder, and that it holds checkpoints.

    A program that looks for checkpoints there continues from them, and a finished one trains nothing.
    """
    field, found = submission.spec_field("baseOutputDirectory.outputUriPrefix"), []
    remedy = _("Write another folder, unless it is meant to continue from there.")
    if context.in_folder:
        unfinished = [job for job in context.in_folder if job.state not in FINISHED]
        job = (unfinished or context.in_folder)[0]
        words = {"name": job.display_name, "state": translatable(job.state.replace("_", " "))}
        message = _("The output folder belongs to another job of the team: %(name)s (%(state)s).", **words)
        if unfinished:
            message = _("Another job of the team writes into the output folder: %(name)s (%(state)s).", **words)
        found.append(Finding("folder_of_another_job", Severity.NOTE, field, message, remedy, job=job.id))
    state = context.image_states.get(folder_of(submission))
    if state is not None and state.status is ImageStatus.CHECKPOINTS and state.read_at is not None:
        message = _("The output folder holds checkpoints (read %(when)s UTC).", when=f"{state.read_at:%Y-%m-%d %H:%M}")
        found.append(Finding("folder_holds_checkpoints", Severity.NOTE, field, message, remedy))
    return found


def _most(cost: Estimate | None) -> Decimal | None:
    most = None if cost is None else cost.most_usd
    return None if most is None else min(round_up(most), MAX_USD - CENT)


def gpus_of(submission: Submission, resources: Known | None = None) -> int:
    """Return the accelerators that a job adds at once: on a persistent resource, those by which it may grow.

    None if it does not matter what `resources` add.
    """
    if strategy_of(submission).runs_on_resource:
        added = find_added(submission, resources) if resources is not None else []
        return storable_gpus(sum_accelerators((pool.machine_spec, count) for pool, count in added)[1])
    return storable_gpus(accelerators_of(submission)[1])


def storable_gpus(gpus: int) -> int:
    """Return a number of accelerators, or the largest that its column can hold; no ceiling allows that many."""
    return min(gpus, MAX_GPUS)


def storable_usd(usd: Decimal | None) -> Decimal | None:
    """Return an amount in whole cents, or None if its column cannot hold it: a job of a billion replicas costs more."""
    return usd.quantize(CENT, ROUND_HALF_UP) if usd is not None and usd < MAX_USD - CENT else None


def storable_price(usd_per_hour: Decimal | None) -> Decimal | None:
    """Return the price of an hour as it is stored, rounded once, or None if it is not known or too large."""
    return None if usd_per_hour is None or usd_per_hour >= MAX_USD - CENT else round_price(usd_per_hour)


def outcome_of(findings: Iterable[Finding]) -> Outcome:
    """Return the outcome for a job with these findings; the worst severity decides."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return Outcome.REFUSED
    return Outcome.NEEDS_APPROVAL if Severity.APPROVAL in severities else Outcome.ALLOWED


def of_severity(findings: Iterable[Finding], severity: Severity) -> tuple[Finding, ...]:
    """Return the findings of one severity."""
    return tuple(finding for finding in findings if finding.severity is severity)


def has_machines(submission: Submission | None) -> bool:
    """Return whether every worker pool names its machine type; without it there is no price."""
    if submission is None or not submission.pools:
        return False
    return all(pool.machine_spec.machine_type for _index, pool in submission.pools)


def _alternatives(submission: Submission, context: Context, expected: timedelta | None) -> tuple[Alternative, ...]:
    """Return the job under every strategy, in their order.

    Each strategy sets what it needs in the job and removes what belongs to others; then its rules check the result.
    """
    if expected is None:
        return ()
    candidates = [(strategy, strategy.apply(submission)) for strategy in STRATEGIES.values()]
    estimates = [context.estimate(job, each, expected) for each, job in candidates]
    standard = next((cost.expected_usd for cost in estimates if cost.strategy == "standard"), None)
    findings = check_each(candidates, severities=context.severities, resources=context.resources)
    return tuple(
        Alternative(
            each,
            job,
            tuple(found),
            cost,
            None if cost.expected_usd is None or not standard else 1 - cost.expected_usd / standard,
            with_states(quotas(job, each), context.quota_states),
        )
        for (each, job), cost, found in zip(candidates, estimates, findings, strict=True)
    )
