"""Tests of a job assessed under every strategy at once: the findings equal those of each strategy alone."""

from typing import Any

import pytest
from hypothesis import example, given

from jobs import spec
from jobs.spec import Submission
from jobs.strategies import OFF, STRATEGIES, Strategy, check, check_each, conflicts, strategy_of
from jobs.strategies.base import is_reserved
from tests.support import specs
from tests.unit.strategies.cases import submission
from tests.unit.strategies.test_rules import ALL

JOBS = specs.jobs().filter(lambda drawn: drawn[0] != "persistent_resource")


def submitted(drawn: tuple[str, dict[str, Any]]) -> Submission:
    kind, body = drawn
    job, findings = spec.read(kind, body)
    assert job is not None, findings
    return Submission(kind=kind, project="vision", region="us-central1", job=job)


def asked(job: Submission) -> list[tuple[Strategy, Submission]]:
    return [(strategy, strategy.apply(job)) for strategy in STRATEGIES.values()]


def alone(job: Submission) -> list[Any]:
    return [check(each, strategy=strategy) for strategy, each in asked(job)]


@pytest.mark.parametrize(("kind", "body"), [(case[0], body) for case in ALL for body in case[3:5]])
def test_every_boundary_is_found_as_by_each_strategy_alone(kind: str, body: dict[str, Any]) -> None:
    job = submission(kind, body)

    assert check_each(asked(job)) == alone(job)


@given(JOBS)
@example(("custom_job", {"jobSpec": {"persistentResourceId": "$(0)", "scheduling": {"strategy": "FLEX_START"}}}))
def test_any_job_is_judged_as_by_each_strategy_alone(drawn: tuple[str, dict[str, Any]]) -> None:
    job = submitted(drawn)

    assert check_each(asked(job)) == alone(job)


def test_the_weights_of_the_site_count_for_what_is_looked_at_once() -> None:
    job = submission("custom_job", {"jobSpec.scheduling.timeout": "14401s"})
    code = "long_runs_save_checkpoints"

    assert all(code in {each.code for each in found} for found in check_each(asked(job)))
    assert not any(code in {each.code for each in found} for found in check_each(asked(job), severities={code: OFF}))


@given(JOBS)
def test_a_job_that_asks_for_a_strategy_is_what_the_strategy_makes_of_it(drawn: tuple[str, dict[str, Any]]) -> None:
    for strategy, once in asked(submitted(drawn)):
        assert strategy.apply(once) == once


def marks(job: Submission) -> tuple[object, ...]:
    """Return the fields of a job that belong to one strategy only."""
    spec = job.job_spec
    reserved = [is_reserved(pool.machine_spec) for _, pool in job.pools]
    key = strategy_of(job).key if spec.scheduling.strategy in {"SPOT", "LOW_COST", "FLEX_START"} else ""
    return key, spec.scheduling.max_wait_duration, spec.persistent_resource_id, reserved


@pytest.mark.parametrize(("kind", "body"), [(case[0], body) for case in ALL for body in case[3:5]])
def test_what_a_strategy_would_take_out_is_a_conflict(kind: str, body: dict[str, Any]) -> None:
    job = submission(kind, body)

    assert bool(conflicts(job)) == (marks(strategy_of(job).apply(job)) != marks(job))


@given(JOBS)
def test_of_any_job_nothing_is_taken_out_without_a_conflict(drawn: tuple[str, dict[str, Any]]) -> None:
    job = submitted(drawn)

    assert conflicts(job) or marks(strategy_of(job).apply(job)) == marks(job)
