"""A job judged under every strategy at once: nothing else is found than when each judges it alone."""

from typing import Any

import pytest
from hypothesis import given

from jobs import spec
from jobs.spec import Submission
from jobs.strategies import OFF, STRATEGIES, Strategy, check, check_each
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
