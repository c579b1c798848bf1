"""Everything is killed at random and a fifth of all calls fails: no job is lost, none is doubled, no state invented."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jobs import states
from jobs.states import LOCAL
from tests.support import chaos
from tests.support.chaos import Chaos, Plan

FEW = ("short", "short", "short", "short", "preempted", "oom", "image", "internal")
ALL = (*FEW, *FEW, "flaky", "strange", "maintenance", "cancel-races", "stockout", "segfault", "always-preempted")


@pytest.mark.stack
def test_a_short_storm(tmp_path: Path) -> None:
    plan = Plan(jobs=40, seed=7, by=60, stories=FEW, kills=12, pause=(0.5, 1.5), seconds=150)
    storm(plan, tmp_path)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [1])
def test_a_thousand_jobs(tmp_path: Path, seed: int) -> None:
    plan = Plan(
        jobs=1_000, seed=seed, by=20, stories=ALL, kills=60, pause=(1, 5), seconds=900, redis="system", on_postgres=True
    )
    storm(plan, tmp_path)


def storm(plan: Plan, state: Path) -> None:
    """Run a plan and hold the site against the emulator's own truth."""
    with chaos.house(plan, state) as house:
        house.prepare()
        house.go()

        rows, truth = house.rows(), house.truth()
        print(
            f"{len(rows)} jobs, kills {dict(house.kills)}, faults {dict(house.struck)} in {house.calls.total()} calls"
        )
        assert len(rows) == plan.jobs
        assert_each_exists_once(rows, truth)
        for row in rows:
            if row["remote_name"]:
                assert_history(row, truth[row["remote_name"]])
        assert "All rows keep their invariants." in house.audit()
        assert_it_was_a_storm(house)


def assert_each_exists_once(rows: list[dict[str, Any]], truth: dict[str, dict[str, Any]]) -> None:
    """One remote job for each job that was not withdrawn before it was sent; none that nobody knows."""
    ours = [row["remote_name"] for row in rows if row["remote_name"]]
    unsent = [row for row in rows if not row["remote_name"]]

    assert len(ours) == len(set(ours))
    assert sorted(truth) == sorted(ours)
    assert {row["state"] for row in unsent} <= {"withdrawn"}, unsent
    labels = [job["labels"]["trainboard_job"] for job in truth.values()]
    assert sorted(labels) == sorted(row["pk"] for row in rows if row["remote_name"])


def assert_history(row: dict[str, Any], told: dict[str, Any]) -> None:
    """The end is the true one; what lies before is a part of the truth, in its order; each restart is told once."""
    lived = [states.from_vertex(moment["state"]) for moment in told["history"]]
    seen = [event["to"] for event in row["events"] if event["kind"] == "state" and event["to"] not in LOCAL]
    where = f"{row['name']} ({told['story']}): saw {seen} of {lived}"

    assert row["state"] == lived[-1], where
    assert is_part(seen, lived), where
    assert all(one != two for one, two in pairwise(seen)), where
    assert row["restarts"] == restarts(told), (
        f"{where}, restarts {[e for e in row['events'] if e['kind'] == 'restarted']}"
    )
    document = told["document"]
    assert (row["started_at"] is None) == ("startTime" not in document), where


def is_part(part: list[str], whole: list[str]) -> bool:
    """Whether `part` is `whole` with nothing but omissions."""
    rest = iter(whole)
    return all(item in rest for item in part)


def restarts(told: dict[str, Any]) -> int:
    """How often the whole job was truly restarted."""
    return int(told["attempt"]) - 1


def assert_it_was_a_storm(house: Chaos) -> None:
    """Everything was killed, and every way to fail struck."""
    assert house.kills.total() >= house.plan.kills
    assert set(house.struck) == set(chaos.FAULTS)
    assert 0.1 < house.struck.total() / house.calls.total() < 0.4
