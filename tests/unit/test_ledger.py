"""Tests of retry budgets: how much of each is used, by cause. The rows here are never saved."""

from datetime import UTC, datetime, timedelta

from jobs.models import Job, JobEvent
from jobs.timeline import RetryBudget, retry_budget

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def restart(minutes: float, reason: str, replica: str = "") -> JobEvent:
    moment = NOON + timedelta(minutes=minutes)
    return JobEvent(
        kind=JobEvent.Kind.RESTARTED,
        reason=reason,
        occurred_at=moment,
        recorded_at=moment,
        detail={"replica": replica},
        once_key=f"restart:{replica}:{minutes}",
    )


def budgets(strategy: str, *events: JobEvent) -> dict[str, RetryBudget]:
    return {budget.name: budget for budget in retry_budget(Job(strategy=strategy), events)}


class TestLedger:
    def test_a_spot_job_has_six_preemptions(self) -> None:
        spot = budgets("spot", restart(1, "preempted"), restart(9, "preempted"))["Spot restarts"]

        assert (spot.used, spot.of, spot.left) == (2, 6, 4)

    def test_under_spot_a_stockout_uses_the_same_six(self) -> None:
        found = budgets("spot", *(restart(minute, "preempted") for minute in range(5)), restart(9, "stockout"))

        assert (found["Spot restarts"].used, found["Spot restarts"].is_used_up) == (6, True)
        assert "capacity retries" not in found

    def test_any_other_job_has_three_tries_for_machines(self) -> None:
        assert budgets("standard", restart(1, "stockout"))["capacity retries"].left == 2

    def test_every_job_lists_its_retries_even_unused(self) -> None:
        found = budgets("standard")

        assert (found["job retries"].used, found["job retries"].of) == (0, 3)
        assert (found["internal errors"].used, found["internal errors"].of) == (0, 2)

    def test_a_replica_counts_anew_after_a_restart_of_the_job(self) -> None:
        before = [restart(minute, "worker_restart", "workerpool0-0") for minute in range(5)]

        found = budgets("standard", *before, restart(6, "job_retry"), restart(7, "worker_restart", "workerpool0-0"))

        assert (found["workerpool0-0"].used, found["workerpool0-0"].of) == (1, 5)
        assert found["job retries"].used == 1

    def test_maintenance_is_told_but_not_counted(self) -> None:
        moved = budgets("standard", restart(1, "maintenance", "workerpool1-3"))["maintenance"]

        assert (moved.used, moved.of, moved.left) == (1, None, None)

    def test_a_cause_learned_later_replaces_the_guess(self) -> None:
        guessed = restart(1, "unknown")
        learned = JobEvent(
            kind=JobEvent.Kind.EXPLAINED, reason="internal", detail={"restart": guessed.once_key}, occurred_at=NOON
        )

        found = budgets("standard", guessed, learned)

        assert found["internal errors"].used == 1
        assert "no cause known" not in found

    def test_every_grant_names_its_rule_and_source(self) -> None:
        assert all(budget.rule and budget.source for budget in budgets("spot", restart(1, "unknown")).values())
