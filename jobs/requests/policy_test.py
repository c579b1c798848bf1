"""Test a policy on a team's past jobs, using their stored specs and estimates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from jobs import spec
from jobs.cost import Estimate
from jobs.models import Job, Team
from jobs.policy import decide, fill
from jobs.policy_rules import Matched, PolicyRules, Rule, match_rules
from jobs.requests.policy_versions import load_policy
from jobs.strategies import STRATEGIES
from jobs.timeline.resource_holdings import find_submission

MAX_JOBS = 200
"""Number of the team's newest requests that a draft is tested on."""
OUTCOMES = {"allow": "allowed", "ask": "asked", "refuse": "refused"}


@dataclass(frozen=True, slots=True)
class TestedJob:
    """A past job and its outcome under two policies: "allowed", "asked" or "refused".

    `number` is that of the draft's deciding rule.
    """

    job: Job
    before: str
    after: str
    number: int


@dataclass(slots=True)
class Effect:
    """What a rule does with past jobs. One that requires or sets values decides about none; for it, `fits` counts."""

    number: int
    outcome: str
    fits: int = 0
    """How many jobs it speaks of."""
    deciders: Counter[int] = field(default_factory=Counter)
    """About how many of those each rule decides, by its number; 0 is no rule."""

    @property
    def decides(self) -> int:
        """How many jobs it allows, asks about or refuses."""
        return self.deciders[self.number]

    @property
    def overruled_by(self) -> int:
        """The rule that decides about the most of the jobs this one fits, if this one decides about none; else 0."""
        if self.outcome in ("require", "set") or self.decides or not self.deciders:
            return 0
        return self.deciders.most_common(1)[0][0]


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """The tested jobs, newest first. `unread` is the number of jobs that could not be read and are left out."""

    tried: tuple[TestedJob, ...]
    unread: int

    @property
    def before(self) -> Counter[str]:
        """Number of jobs that the current policy allows, asks about and refuses."""
        return Counter(each.before for each in self.tried)

    @property
    def after(self) -> Counter[str]:
        """Number of jobs that the draft allows, asks about and refuses."""
        return Counter(each.after for each in self.tried)

    @property
    def different(self) -> tuple[TestedJob, ...]:
        """The jobs for which the outcomes differ."""
        return tuple(each for each in self.tried if each.before != each.after)


def try_policy(team: Team, rules: Sequence[Rule]) -> PolicyTest:
    """Return what `rules` and the current policy decide about the team's newest jobs. Makes two queries.

    The amounts are the estimates made when the jobs were requested. The budgets of that time are not known, so a
    condition on the rest of a budget is never met here.
    """
    today = load_policy(team)
    draft = replace(today, rules=tuple(rules))
    tried = []
    past_jobs, unread = _past_jobs(team)
    for past in past_jobs:
        before, after = _outcome(_matched(today, past), past), _outcome(_matched(draft, past), past)
        tried.append(TestedJob(past.job, before[0], after[0], after[1]))
    return PolicyTest(tuple(tried), unread)


def effects_of(team: Team) -> tuple[int, list[Effect]]:
    """Return the number of the team's newest jobs that can be read, and what each rule of its policy does with them."""
    today = load_policy(team)
    effects = [Effect(number, rule.outcome) for number, rule in enumerate(today.rules, 1)]
    past_jobs, _unread = _past_jobs(team)
    for past in past_jobs:
        matched = _matched(today, past)
        decided_by = decide(past.submission, matched).number
        for number, _rule in matched.rules:
            effects[number - 1].fits += 1
            effects[number - 1].deciders[decided_by] += 1
    return len(past_jobs), effects


class _PastJob(NamedTuple):
    job: Job
    submission: spec.Submission
    estimate: Estimate
    size: int
    """The number of jobs of its sweep that are tested."""


def _past_jobs(team: Team) -> tuple[list[_PastJob], int]:
    """Return the team's newest jobs as they were requested, newest first, and how many more could not be read."""
    columns = (
        "display_name",
        "owner",
        "kind",
        "project",
        "region",
        "spec",
        "estimate",
        "sweep",
        "state",
        "requested_at",
    )
    rows = Job.objects.filter(team=team, is_adopted=False).order_by("-requested_at", "id").select_related("owner")
    jobs = list(rows.only(*columns, "owner__username")[:MAX_JOBS])
    sweeps = Counter(job.sweep for job in jobs if job.sweep is not None)
    found = []
    for job in jobs:
        submission = find_submission(job) if job.estimate else None
        if submission is not None:
            size = sweeps.get(job.sweep, 1) if job.sweep is not None else 1
            found.append(_PastJob(job, submission, _estimate(job.estimate), size))
    return found, len(jobs) - len(found)


def _estimate(kept: dict[str, Any]) -> Estimate:
    """Return a stored estimate with its amounts. Its lines and notes are not needed."""
    low, expected, high, most, hourly = (
        Decimal(kept[name]) if kept.get(name) is not None else None
        for name in ("low_usd", "expected_usd", "high_usd", "most_usd", "usd_per_hour")
    )
    if most is not None and "attempts" not in kept:  # of one run, as it was stored before
        most *= 1 + STRATEGIES.get(kept.get("strategy", ""), STRATEGIES["spot"]).restart_allowance
    as_of = date.fromisoformat(kept["prices_as_of"]) if kept.get("prices_as_of") else None
    return Estimate(
        str(kept.get("strategy", "")), float(kept.get("hours") or 0), hourly, expected, low, high, (), (), as_of,
        most_usd=most,
    )  # fmt: skip


def _matched(policy: PolicyRules, past: _PastJob) -> Matched:
    return match_rules(policy, past.submission, past.estimate, jobs=past.size, submitter=past.job.owner.get_username())


def _outcome(matched: Matched, past: _PastJob) -> tuple[str, int]:
    decision, sets = decide(past.submission, matched), fill(past.submission, matched)
    is_refused = spec.has_errors((*decision.findings, *sets.findings))
    outcome = "refuse" if is_refused else decision.rule.outcome if decision.rule is not None else "allow"
    return OUTCOMES[outcome], decision.number
