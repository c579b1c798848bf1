"""The further attempts of a request: one line for lists, and a table with the cost of each."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from dashboard.queries.jobs import list_attempts
from jobs import fallback, timeline
from jobs.assessment import Context, assess
from jobs.fallback import Plan
from jobs.models import Fallback, FallbackAttempt, Job
from jobs.requests.fallback_attempts import get_plan
from jobs.spec import Submission
from jobs.strategies import strategy_label


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt: its job if it was made, else only its strategy and region."""

    number: int
    key: str
    strategy: str
    region: str
    job: Job | None = None
    cost: Decimal | None = None
    message: str = ""
    max_usd: str | None = None
    """Maximum cost that approvers were asked to approve."""


def attempt_words(job: Job) -> str:
    """Return "attempt 2 of 3 (Spot → Standard → Standard)", or "" for a job without further attempts.

    Makes no query: the job has to be loaded with its attempt and the fallback.
    """
    own = getattr(job, "attempt", None)
    if own is None:
        return ""
    plan = fallback.plan_of(own.fallback.plan)
    known = {"number": own.number, "all": plan.size, "words": own.fallback.words}
    return _("attempt %(number)s of %(all)s (%(words)s)") % known


def fallback_part(job: Job, now: datetime) -> dict[str, Any]:
    """Return the attempts of the request and their costs, for the job's page. At most one query, none without attempts.

    If the approval of the job covers all attempts, each has its maximum cost.
    """
    attempts = list_attempts(job)
    if not attempts:
        return {}
    row: Fallback = job.attempt.fallback
    plan, rows = fallback.plan_of(row.plan), [_made(each, now) for each in attempts]
    rows += [_planned(number, attempts[0].job, plan) for number in range(len(rows) + 1, plan.size + 1)]
    asked = {each["number"]: each for each in getattr(getattr(job, "approval", None), "attempts", None) or ()}
    rows = [replace(each, max_usd=asked.get(each.number, {}).get("max_usd")) for each in rows]
    costs = [each.cost for each in rows if each.cost is not None]
    total = sum(costs, Decimal(0)) if costs else None
    known = {"fallback": row, "plan": plan, "planned_attempts": rows, "attempts_cost": total}
    return known | {"is_asked_for_all": bool(asked)}


def worst_case_of(job: Job, submission: Submission, context: Context) -> Decimal | None:
    """Return the maximum cost of all attempts at current prices, or None if it is not known or there are none.

    For a later attempt, the amount covers the request from its first attempt on.
    """
    plan, expected = get_plan(job), timedelta(seconds=job.expected_seconds)
    if plan is None:
        return None
    context = replace(context, identical=(), cap_usd=plan.cap(job.cap_usd))
    most = [assess(each, context, expected=expected).max_usd for each in fallback.attempts_of(submission, plan)]
    return fallback.worst_case(most, plan)


def _made(attempt: FallbackAttempt, now: datetime) -> AttemptRow:
    job = attempt.job
    cost = timeline.cost_so_far(job, now) if job.started_at is not None else None
    return AttemptRow(attempt.number, job.strategy, strategy_label(job.strategy), job.region, job, cost, attempt.text)


def _planned(number: int, first: Job, plan: Plan) -> AttemptRow:
    step = plan.steps[number - 2]
    key = step.strategy or first.strategy
    return AttemptRow(number, key, strategy_label(key), step.region or first.region)
