"""A submission and its context become findings, an estimate for each strategy, and the outcome. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from jobs import allowed_resources, budget, policy
from jobs.assessment.context import Context, IdenticalJob
from jobs.cost import CENT, Estimate, Quota, quotas, round_up, short_quotas, with_states
from jobs.policy import Decision, Limits
from jobs.policy_rules import facts_of
from jobs.policy_values import Filled, fill
from jobs.spec import Finding, Severity, Submission
from jobs.strategies import STRATEGIES, Strategy, check, check_each, strategy_of

MAX_USD = Decimal(10) ** 12
"""Amounts are kept below this: the columns hold no more."""


class Outcome(StrEnum):
    """What becomes of a request; the values are stored with the events of a job."""

    ALLOWED = "allow"
    """It may be sent at once."""
    NEEDS_APPROVAL = "ask"
    """An approver decides."""
    REFUSED = "refuse"
    """It cannot be sent like this."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """The job under one strategy."""

    strategy: Strategy
    submission: Submission
    """The job as it would be sent under this strategy."""
    findings: tuple[Finding, ...]
    estimate: Estimate
    saving: Decimal | None
    """Share of the expected standard cost that is saved, below zero when it costs more; None where it is not known."""
    quotas: tuple[Quota, ...]
    """What it draws on the quotas of the project and region; empty: nothing."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Why the job cannot run under this strategy; empty when it can."""
        return of_severity(self.findings, Severity.ERROR)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is known about one submission, with what policy sets in it.

    `findings` are those of the rules, then those of policy. `estimate` and `outcome` are None while no run time is
    known, the estimate is that of one job; `decision` is what policy said.
    `alternatives` has the job under every strategy where they were asked for.
    """

    submission: Submission
    findings: tuple[Finding, ...]
    limits: Limits | None
    estimate: Estimate | None = None
    outcome: Outcome | None = None
    alternatives: tuple[Alternative, ...] = ()
    sweep_size: int = 1
    decision: Decision | None = None

    @property
    def total(self) -> Estimate | None:
        """What all jobs of a sweep cost together."""
        return self.estimate.times(self.sweep_size) if self.estimate is not None else None

    @property
    def total_max_usd(self) -> Decimal | None:
        """The most that may be spent on all jobs of a sweep, as `max_usd`."""
        return _most(self.total)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What keeps the job from being sent."""
        return of_severity(self.findings, Severity.ERROR)

    @property
    def approvals(self) -> tuple[Finding, ...]:
        """What an approver has to agree to."""
        return of_severity(self.findings, Severity.APPROVAL)

    @property
    def max_usd(self) -> Decimal | None:
        """The most that may be spent, to the cent, as a job keeps it; None where no price is known."""
        return _most(self.estimate)


def assess(
    submission: Submission,
    context: Context,
    *,
    expected: timedelta | None = None,
    strategy: Strategy | None = None,
    compares: bool = False,
) -> Assessment:
    """Assess a submission; never raises on one that could be read.

    `expected` is the run time of the job, or of one trial; without it there is no estimate and no outcome. `strategy`
    checks the job by the rules of a strategy that it does not ask for yet, which has no estimate either. `compares`
    adds the job under every strategy, as far as prices need: a run time and the machines of every worker pool.
    """
    given = filled(submission, context, expected)
    submission = given.submission
    alternatives = _alternatives(submission, context, expected) if compares and has_machines(submission) else ()
    asked = strategy_of(submission)
    if strategy is not None and strategy is not asked:
        findings = check(submission, strategy=strategy, severities=context.severities)
        return Assessment(submission, tuple(findings), context.limits, alternatives=alternatives)
    own = next((each for each in alternatives if each.strategy is asked and each.submission == submission), None)
    rules = own.findings if own else check(submission, severities=context.severities, resources=context.resources)
    rules = [*rules, *short_quotas(submission, asked, context.quota_states)]
    if expected is None or context.limits is None:
        return Assessment(submission, tuple(rules), context.limits, alternatives=alternatives)
    cost = _up_to_cap(own.estimate if own else context.estimate(submission, asked, expected), context)
    decision = _decide(submission, cost, context.limits, context)
    uses = allowed_resources.check(submission, context.allowed) if context.allowed is not None else ()
    others = (*_spending(cost, context), *_identical(context.identical))
    known = (*rules, *uses, *given.findings, *decision.findings, *others)
    outcome = outcome_of(known)
    return Assessment(submission, known, context.limits, cost, outcome, alternatives, context.sweep_size, decision)


def filled(submission: Submission, context: Context, expected: timedelta | None) -> Filled:
    """Return the submission with the values that policy sets; as it is where no run time or no policy is known.

    `Context.fills` is off for a job that was requested: what it lacks by now is not sent with it.
    """
    if expected is None or context.limits is None or not context.fills:
        return Filled(submission)
    rules = policy.rules_of(context.limits)
    if not any(rule.outcome == "set" for rule in rules):
        return Filled(submission)
    cost = context.estimate(submission, strategy_of(submission), expected)
    facts = facts_of(submission, cost, jobs=context.sweep_size, submitter=context.submitter, budgets=context.budgets)
    return fill(submission, rules, facts, version=context.limits.version)


def _decide(submission: Submission, cost: Estimate, limits: Limits, context: Context) -> Decision:
    """Return what policy says of all the jobs that are judged together."""
    size, by = context.sweep_size, context.submitter
    return policy.decide(submission, cost, limits, jobs=size, submitter=by, budgets=context.budgets)


def _up_to_cap(cost: Estimate, context: Context) -> Estimate:
    """Return an estimate that ends at the cap, where jobs are cancelled that have cost it."""
    if context.cap_usd is None or not context.cap_cancels or not budget.is_usable_cap(context.cap_usd):
        return cost
    return replace(cost, cap_usd=context.cap_usd)


def _spending(cost: Estimate, context: Context) -> tuple[Finding, ...]:
    """Return what budgets and the job's own cap have against its cost."""
    passed = budget.check(cost.times(context.budget_jobs or context.sweep_size).most_usd, context.budgets)
    capped = budget.check_cap(context.cap_usd, cost.low_usd, cost.expected_usd, cancels=context.cap_cancels)
    return (*passed, *capped)


def _identical(jobs: Sequence[IdenticalJob]) -> tuple[Finding, ...]:
    """Return a note that names the newest identical job and counts the others."""
    if not jobs:
        return ()
    more = f", and {len(jobs) - 1} more" if len(jobs) > 1 else ""
    message = f"An identical job of the team is {jobs[0].state}: {jobs[0].display_name}{more}."
    return (Finding("identical_job", Severity.NOTE, "", message, "Submit only if you want it a second time."),)


def _most(cost: Estimate | None) -> Decimal | None:
    most = None if cost is None else cost.most_usd
    return None if most is None else min(round_up(most), MAX_USD - CENT)


def outcome_of(findings: Iterable[Finding]) -> Outcome:
    """Return what becomes of a job with these findings: the worst severity decides."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return Outcome.REFUSED
    return Outcome.NEEDS_APPROVAL if Severity.APPROVAL in severities else Outcome.ALLOWED


def of_severity(findings: Iterable[Finding], severity: Severity) -> tuple[Finding, ...]:
    """Return the findings of one severity."""
    return tuple(finding for finding in findings if finding.severity is severity)


def has_machines(submission: Submission | None) -> bool:
    """Tell whether every worker pool names its machine type, without which nothing can be priced."""
    if submission is None or not submission.pools:
        return False
    return all(pool.machine_spec.machine_type for _, pool in submission.pools)


def _alternatives(submission: Submission, context: Context, expected: timedelta | None) -> tuple[Alternative, ...]:
    """Return the job under every strategy, in their order.

    Each strategy sets in the job what it needs and takes out what belongs to others; then its rules check the result.
    """
    if expected is None:
        return ()
    asked = [(each, each.apply(submission)) for each in STRATEGIES.values()]
    estimates = [context.estimate(job, each, expected) for each, job in asked]
    standard = next((cost.expected_usd for cost in estimates if cost.strategy == "standard"), None)
    findings = check_each(asked, severities=context.severities, resources=context.resources)
    return tuple(
        Alternative(
            each,
            job,
            tuple(found),
            cost,
            _saving(cost.expected_usd, standard),
            with_states(quotas(job, each), context.quota_states),
        )
        for (each, job), cost, found in zip(asked, estimates, findings, strict=True)
    )


def _saving(usd: Decimal | None, standard: Decimal | None) -> Decimal | None:
    """The share of the standard cost that is saved; None where either is not known or standard costs nothing."""
    if usd is None or not standard:
        return None
    return 1 - usd / standard
