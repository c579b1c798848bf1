"""A spec becomes a job: judged by the team's policy, priced, and written with its first events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from jobs import cost, policy, spec, strategies
from jobs.lifecycle import claims, door
from jobs.lifecycle.asking.keepable import unkeepable
from jobs.lifecycle.asking.pools import known_pools
from jobs.lifecycle.asking.rules import severities
from jobs.lifecycle.errors import NotAllowed
from jobs.models import Approval, Job, JobEvent, Policy, Scope, Team
from jobs.policy import Decision, Limits, Verdict
from jobs.spec.secrets import holds_mask
from jobs.states import JobState
from jobs.strategies import persistent

HALF_CHARACTERS = spec.Finding(
    code="text_cannot_be_kept",
    severity=spec.Severity.REFUSE,
    field="",
    message="It holds a NUL character or half of a character, which cannot be kept.",
    remedy="Write that value anew.",
)
HIDDEN_SECRET = spec.Finding(
    code="hidden_secret",
    severity=spec.Severity.REFUSE,
    field="",
    message="It holds a value that was hidden because it is somebody else's secret.",
    remedy="Write your own value in its place.",
)
JUDGED = {
    Verdict.ALLOW: "Judged by rules and policy: it may be sent without an approval.",
    Verdict.ASK: "Judged by rules and policy: an approver has to decide.",
}
"""What the first event of a job says; one that is refused is never kept."""
MOST_USD = Decimal(10) ** 12
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Preview:
    """What a request would cost and what policy would say of it."""

    decision: Decision
    estimate: cost.Estimate
    limits: Limits

    @property
    def judged_usd(self) -> Decimal | None:
        """The amount that was weighed, as a job keeps it: to the cent, None where no price is known."""
        most = self.estimate.most_usd
        return None if most is None else min(most.quantize(CENT, ROUND_UP), MOST_USD - CENT)


def limits_of(team: Team) -> Limits:
    """The limits that policy applies to `team`; a team without a policy is asked about all that costs money."""
    try:
        policy = team.policy
    except Policy.DoesNotExist:
        return Limits(ask_over_usd=Decimal(0), refuse_over_usd=None, regions=())
    return Limits(
        ask_over_usd=policy.ask_over_usd, refuse_over_usd=policy.refuse_over_usd, regions=tuple(policy.regions)
    )


def preview(
    *,
    submission: spec.Submission,
    team: Team,
    expected: timedelta,
    weights: Mapping[str, str] | None = None,
    pools: strategies.Known | None = None,
    offer: cost.Offer | None = None,
) -> Preview:
    """Price and judge a submission as `request_job` would; write nothing.

    `weights` are what `severities()`, `pools` what `known_pools()` gave to a caller that has asked already; `offer` is
    what that caller has made of the submission under its own strategy.
    """
    limits = limits_of(team)
    if offer is not None:
        decision = policy.judge(submission, estimate=offer.estimate, limits=limits, found=offer.findings)
        return Preview(decision, offer.estimate, limits)
    strategy = strategies.strategy_of(submission)
    estimate = cost.estimate(submission, strategy=strategy, expected=expected, book=cost.PriceBook.load())
    weights = severities() if weights is None else weights
    pools = known_pools(submission) if pools is None else pools
    decision = policy.judge(submission, estimate=estimate, limits=limits, severities=weights, pools=pools)
    return Preview(decision, estimate, limits)


def request_job(
    *,
    submission: spec.Submission,
    team: Team,
    by: User,
    expected: timedelta,
    request_key: str,
    now: datetime,
    cloned_from: Job | None = None,
) -> Job:
    """Write the job that `by` asks for, and its events; return the first job when `request_key` was used before.

    `cloned_from` is the job whose spec the form began with, kept so that an approver can see what is different. Raises
    NotAllowed, with nothing written, when policy refuses it.
    """
    if earlier := Job.objects.filter(owner=by, request_key=request_key).first():
        return earlier
    judged = preview(submission=submission, team=team, expected=expected)
    if unkeepable(spec.rest_body(submission.job)):
        raise NotAllowed(Decision(Verdict.REFUSE, (HALF_CHARACTERS, *judged.decision.findings)))
    if holds_mask(spec.rest_body(submission.job)):  # also where the site has switched the rule off that says so
        raise NotAllowed(Decision(Verdict.REFUSE, (HIDDEN_SECRET, *judged.decision.findings)))
    if judged.decision.verdict == "refuse":
        raise NotAllowed(judged.decision)
    try:
        with transaction.atomic():
            job = _row(submission, team, by, expected, request_key, now, judged, cloned_from)
            _first_events(job, judged, by=by, now=now)
            _look_at_its_resource(job, now)
    except IntegrityError:  # the same click arrived twice at the same time
        earlier = Job.objects.filter(owner=by, request_key=request_key).first()
        if earlier is None:
            raise
        return earlier
    return job


def _look_at_its_resource(job: Job, now: datetime) -> None:
    """A job on a persistent resource has it looked at, wherever that is, before the job is judged once more."""
    if job.strategy == persistent.STRATEGY.key:
        kind = Scope.Kind.PERSISTENT_RESOURCE
        claims.wake_scope(project=job.project, region=job.region, kind=kind, due_at=now)


def submission_of(job: Job) -> spec.Submission:
    """Read the submission back from the job's stored spec."""
    body, findings = spec.read(job.kind, job.spec)
    if body is None:
        raise ValueError(f"job {job.pk} holds a spec that cannot be read: {findings}")
    return spec.Submission(kind=job.kind, project=job.project, region=job.region, job=body)


def _row(
    submission: spec.Submission,
    team: Team,
    by: User,
    expected: timedelta,
    request_key: str,
    now: datetime,
    judged: Preview,
    cloned_from: Job | None,
) -> Job:
    return Job.objects.create(
        team=team,
        owner=by,
        kind=submission.kind,
        display_name=submission.display_name,
        project=submission.project,
        region=submission.region,
        strategy=strategies.strategy_of(submission).key,
        machines=submission.machines_summary,
        spec=spec.rest_body(submission.job),
        request_key=request_key,
        cloned_from=cloned_from,
        expected_seconds=int(expected.total_seconds()),
        hourly_usd=storable(judged.estimate.usd_per_hour),
        estimate_usd=storable(judged.estimate.expected_usd),
        estimate=judged.estimate.as_dict(),
        judged_usd=judged.judged_usd,
        limit_usd=judged.limits.ask_over_usd,
        state="",
        state_since=now,
        requested_at=now,
    )


def storable(usd: Decimal | None) -> Decimal | None:
    """An amount that its column can hold; what a job of a billion replicas would cost stays in the estimate only."""
    return usd if usd is not None and usd < MOST_USD else None


def _first_events(job: Job, judged: Preview, *, by: User, now: datetime) -> None:
    findings = [finding.as_dict() for finding in judged.decision.findings]
    door.note(
        job,
        JobEvent.Kind.JUDGED,
        now=now,
        sentence=JUDGED[judged.decision.verdict],
        reason=judged.decision.verdict,
        detail={"findings": findings},
        once_key="judged:request",
    )
    if judged.decision.verdict == "ask":
        asks = [finding.as_dict() for finding in judged.decision.findings if finding.severity == spec.Severity.ASK]
        Approval.objects.create(job=job, asked_at=now, findings=asks)
        door.move(
            job,
            JobState.AWAITING_APPROVAL,
            now=now,
            actor=by,
            reason="requested",
            sentence=f"{by.get_username()} requested the job; policy asks for an approval.",
        )
    else:
        door.move(
            job,
            JobState.APPROVED,
            now=now,
            actor=by,
            reason="requested",
            sentence=f"{by.get_username()} requested the job; policy allows it.",
            due_at=now,
            approved_usd=judged.limits.ask_over_usd,
        )
