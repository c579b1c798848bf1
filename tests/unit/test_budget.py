"""Tests of findings of budgets about a job."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jobs import budget
from jobs.assessment import Context, Outcome, assess
from jobs.budget import BudgetLeft, Passing
from jobs.policy_rules import PolicyRules, rules_of_limits
from jobs.spec import Severity
from tests.unit.test_assessment import submission

VISION = BudgetLeft("vision", date(2026, 11, 1), Decimal(1000), Decimal(300), Decimal(200), Passing.ASK)
AMOUNTS = some.decimals(0, 10**9, places=2)


def test_what_is_left_is_neither_spent_nor_committed() -> None:
    assert VISION.left_usd == 500
    assert replace(VISION, committed_usd=Decimal(900)).left_usd == -200


def test_a_job_that_fits_passes_no_budget() -> None:
    assert budget.check(Decimal(500), [VISION]) == ()


@pytest.mark.parametrize(
    ("passing", "severity"),
    [(Passing.WARN, Severity.NOTE), (Passing.ASK, Severity.APPROVAL), (Passing.STOP, Severity.ERROR)],
)
def test_a_job_that_passes_it_is_told_asked_about_or_refused(passing: Passing, severity: Severity) -> None:
    (found,) = budget.check(Decimal("500.001"), [replace(VISION, passing=passing)])

    assert (found.code, found.severity) == ("over_budget", severity)
    assert found.message == (
        "It may cost $500.01, and of the budget “vision” for November 2026 $500.00 is left: "
        "of $1,000.00, $300.00 are spent and $200.00 committed."
    )


def test_a_budget_of_zero_lets_only_free_jobs_through() -> None:
    nothing = BudgetLeft("none", date(2026, 11, 1), Decimal(0), Decimal(0), Decimal(0), Passing.STOP)

    assert budget.check(Decimal(0), [nothing]) == ()
    assert [each.severity for each in budget.check(Decimal("0.001"), [nothing])] == [Severity.ERROR]


def test_too_much_is_said_in_words_where_a_lead_has_lowered_it() -> None:
    (found,) = budget.check(Decimal(1), [replace(VISION, limit_usd=Decimal(100))])

    assert "nothing is left: of $100.00, $300.00 are spent and $200.00 committed, $400.00 too much" in found.message


def test_a_job_whose_price_nobody_knows_is_asked_about_unless_the_budget_only_warns() -> None:
    found = budget.check(None, [VISION, replace(VISION, passing=Passing.WARN)])

    assert [each.severity for each in found] == [Severity.APPROVAL, Severity.NOTE]


@given(limit=AMOUNTS, spent=AMOUNTS, committed=AMOUNTS, most=AMOUNTS)
def test_a_stopping_budget_is_never_passed(limit: Decimal, spent: Decimal, committed: Decimal, most: Decimal) -> None:
    found = budget.check(most, [BudgetLeft("any", date(2026, 2, 1), limit, spent, committed, Passing.STOP)])

    assert bool(found) == (most > 0 and spent + committed + most > limit)


def test_an_assessment_holds_the_jobs_of_a_sweep_together_against_the_budget() -> None:
    context = Context(
        policy=PolicyRules(rules_of_limits(Decimal(10**6))), budgets=(replace(VISION, passing=Passing.STOP),)
    )
    job = submission("n1-standard-4")
    one = assess(job, context, expected=timedelta(hours=1))

    assert one.outcome is Outcome.ALLOWED
    assert one.max_usd is not None
    size = int(VISION.left_usd / one.max_usd) + 1
    many = assess(job, replace(context, sweep_size=size), expected=timedelta(hours=1))
    assert many.outcome is Outcome.REFUSED
    assert "over_budget" in {each.code for each in many.errors}


@given(
    machine=some.sampled_from(["n1-standard-4", "a3-highgpu-8g", "a2-highgpu-1g"]),
    strategy=some.sampled_from(["STANDARD", "SPOT", "FLEX_START"]),
    timeout=some.sampled_from([None, "60s", "3600s", "604800s"]),
    hours=some.floats(0.01, 200),
    cap=some.decimals("0.01", "100000", places=2),
    jobs=some.integers(1, 5),
)
def test_a_cap_lowers_what_counts_only_as_far_as_google_enforces_it(
    machine: str, strategy: str, timeout: str | None, hours: float, cap: Decimal, jobs: int
) -> None:
    scheduling = {"strategy": strategy, "timeout": timeout}
    job = submission(machine, scheduling={key: value for key, value in scheduling.items() if value})
    policy = PolicyRules(rules_of_limits(Decimal(0)))
    expected = timedelta(hours=hours)
    uncapped = assess(job, Context(policy=policy, sweep_size=jobs), expected=expected)
    capped = assess(job, Context(policy=policy, cap_usd=cap, timeout_cap_usd=cap, sweep_size=jobs), expected=expected)
    assert uncapped.estimate is not None
    assert capped.estimate is not None
    if capped.estimate.most_usd is None:  # no price is known
        assert (capped.max_usd, capped.submission) == (None, job)
        return
    runs, timeout_of = {"STANDARD": 4, "SPOT": 7, "FLEX_START": 4}, capped.submission.job_spec.scheduling.timeout
    assert capped.estimate.usd_per_hour is not None
    hourly, lasts = capped.estimate.usd_per_hour, (timeout_of or timedelta(days=7)) / timedelta(hours=1)
    stops_at = capped.estimate.most_usd
    gone = 1 / 24  # 150 seconds until the machines are gone
    assert stops_at == pytest.approx(hourly * Decimal(lasts + gone) * runs[strategy])
    if capped.max_usd != uncapped.max_usd:
        assert stops_at <= cap
    before, after = job.job_spec.scheduling.timeout, capped.submission.job_spec.scheduling.timeout
    if before != after:
        assert after is not None
        assert expected <= after <= (before or timedelta(days=7))
        assert stops_at <= cap
    assert capped.submission == job.with_job_spec(
        job.job_spec.but(scheduling=job.job_spec.scheduling.but(timeout=after))
    ), "nothing else changes"


def test_a_requested_job_keeps_its_timeout_whatever_its_cap_is_later() -> None:
    context = Context(policy=PolicyRules(rules_of_limits(Decimal(0))), cap_usd=Decimal(500), fills=False)

    found = assess(submission(), replace(context, timeout_cap_usd=Decimal(500)), expected=timedelta(hours=1))

    assert found.submission == submission()
