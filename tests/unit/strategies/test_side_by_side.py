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

REGION = "us-central1"


def asked(job: Submission) -> list[tuple[Strategy, Submission]]:
    return [(strategy, strategy.apply(job)) for strategy in STRATEGIES.values()]


def alone(job: Submission) -> list[Any]:
    return [check(each, strategy=strategy) for strategy, each in asked(job)]


@pytest.mark.parametrize(("kind", "body"), [(case[0], body) for case in ALL for body in case[3:5]])
def test_every_boundary_is_found_as_by_each_strategy_alone(kind: str, body: dict[str, Any]) -> None:
    job = submission(kind, body)

    assert check_each(asked(job)) == alone(job)


@given(specs.jobs().filter(lambda drawn: drawn[0] != "persistent_resource"))
def test_any_job_is_judged_as_by_each_strategy_alone(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, body = drawn
    job, _ = spec.read(kind, body)
    assert job is not None
    submitted = Submission(kind=kind, project="vision", region=REGION, job=job)

    assert check_each(asked(submitted)) == alone(submitted)


def test_the_weights_of_the_site_count_for_what_is_looked_at_once() -> None:
    job = submission("custom_job", {"jobSpec.scheduling.timeout": "14401s"})
    code = "long_runs_save_checkpoints"

    assert all(code in {each.code for each in found} for found in check_each(asked(job)))
    assert not any(code in {each.code for each in found} for found in check_each(asked(job), severities={code: OFF}))
