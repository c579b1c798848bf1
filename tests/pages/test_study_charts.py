"""Tests of a study's charts: a parameter against the metric, curves of trials, and a trial rerun as a job."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from dashboard.drawing.scatter_chart import draw_scatter
from dashboard.drawing.trial_curves import curves_of, draw_curves
from jobs import timeline
from jobs.models import Job, Trial
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_of
from tests.support.clock import Clock

METRIC = timeline.Metric("accuracy", is_more_better=True)
values = st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20) | st.integers(-(10**9), 10**9)
steps = st.tuples(
    st.none() | st.integers(-(2**63), 2**63),
    st.none() | st.floats(0, 1e12),
    st.floats(allow_nan=False, allow_infinity=False),
)


@pytest.fixture
def study(make_job: MakeJob, clock: Clock) -> Job:
    """A study of three trials with two parameters; two of the trials reported on their way."""
    job = make_job("running", kind="hyperparameter_tuning_job", hours=0.01)
    told: list[Any] = [
        [[1, 30.0, {"accuracy": 0.2}], [2, 60.0, {"accuracy": 0.5}]],
        None,
        [[1, 30, {"accuracy": 0.4}], [3, 90, {"accuracy": 0.9}]],
    ]
    for number, measurements in enumerate(told, 1):
        Trial.objects.create(
            job=job, trial_id=str(number), state="SUCCEEDED", parameters={"batch": 16.0 * number, "optimizer": "adam"},
            metrics={"accuracy": 0.3 * number}, measurements=measurements, started_at=clock.now,
            ended_at=clock.now + timedelta(minutes=2),
        )  # fmt: skip
    return job


def test_a_parameter_is_drawn_against_the_metric(study: Job, owner: User, signed_in: SignIn) -> None:
    page = signed_in(owner).get(f"/studies/{study.pk}/?parameter=batch")

    text = text_of(page)
    assert "accuracy by batch" in text
    assert "1 16 0.3 2 32 0.6 3 48 0.9" in text  # its table
    assert "accuracy by batch: 3 trials, 16 to 48; the best is 0.9 at 48, trial 3." in page.content.decode()
    assert "Trial 2: batch 32, accuracy 0.6" in text


def test_another_parameter_is_chosen_by_a_link(study: Job, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)

    page = client.get(f"/studies/{study.pk}/").content.decode()
    words = text_of(client.get(f"/studies/{study.pk}/?parameter=optimizer"))

    assert 'href="?parameter=optimizer"' in page
    assert "accuracy by optimizer" in words
    assert text_of(client.get(f"/studies/{study.pk}/?parameter=nothing")).count("accuracy by batch") > 0


def test_what_trials_reported_is_drawn_as_curves(study: Job, owner: User, signed_in: SignIn) -> None:
    text = text_of(signed_in(owner).get(f"/studies/{study.pk}/"))

    assert "accuracy on the way" in text
    assert "what it reported at each step" in text
    assert "3 2 0.4 0.9 0.9 1 2 0.2 0.5 0.5" in text  # the best first


def test_what_trials_reported_stands_on_the_axis_of_the_job(study: Job, owner: User, signed_in: SignIn) -> None:
    page = signed_in(owner).get(f"/jobs/{study.pk}/").content.decode()

    assert "accuracy as 2 trials reported it: between 0.2 and 0.9" in page


def test_a_trial_is_run_again_as_a_job(study: Job, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)

    page = client.get(f"/studies/{study.pk}/").content.decode()
    form = client.get(f"/jobs/new/?job={study.pk}&trial=2")

    assert f'href="/jobs/new/?job={study.pk}&amp;trial=2"' in page
    fields = fields_of(form.content.decode())
    assert fields["kind"] == "custom_job"
    assert fields["name"].endswith("-trial-2")
    assert fields["pool-0-args"].split()[-2:] == ["--batch=32", "--optimizer=adam"]
    assert f"Trial 2 of {study.display_name} as a job" in text_of(form)


def test_the_run_time_of_a_short_trial_is_one_that_the_form_accepts(study: Job, owner: User, signed_in: SignIn) -> None:
    trial = study.trials.get(trial_id="2")
    assert trial.started_at is not None
    study.trials.filter(pk=trial.pk).update(state="SUCCEEDED", ended_at=trial.started_at + timedelta(seconds=14))

    page = signed_in(owner).get(f"/jobs/new/?job={study.pk}&trial=2").content.decode()

    assert fields_of(page)["run_time"] == "1 min"
    assert "Write at least" not in page


def test_a_trial_that_is_not_there_and_one_of_strangers_are_not_found(
    study: Job, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn
) -> None:
    assert signed_in(owner).get(f"/jobs/new/?job={study.pk}&trial=9").status_code == 404
    assert signed_in(owner).get(f"/jobs/new/?job={make_job('running').pk}&trial=1").status_code == 404
    assert signed_in(stranger).get(f"/jobs/new/?job={study.pk}&trial=1").status_code == 404
    assert signed_in(stranger).get(f"/studies/{study.pk}/?parameter=batch").status_code == 404


@given(given=st.lists(st.tuples(values, st.floats(allow_nan=False, allow_infinity=False)), max_size=12))
def test_any_values_are_drawn(given: list[tuple[Any, float]]) -> None:
    trials = tuple(
        Trial(trial_id=str(number), state="SUCCEEDED", parameters={"x": value}, metrics={"accuracy": metric})
        for number, (value, metric) in enumerate(given)
    )

    chart = draw_scatter(_study(trials), METRIC, "x")

    assert "nan" not in chart.split("<text")[0]
    assert chart.count("<circle") == (len(given) if len(given) > 1 else 0)


@given(told=st.lists(st.lists(steps, max_size=6), max_size=5))
def test_any_curves_are_drawn(told: list[list[tuple[int | None, float | None, float]]]) -> None:
    trials = tuple(
        Trial(
            trial_id=str(number), measurements=[[step, seconds, {"accuracy": value}] for step, seconds, value in rows]
        )
        for number, rows in enumerate(told)
    )
    found = curves_of(_study(trials), METRIC)

    chart = draw_curves(found, METRIC)

    assert "nan" not in chart
    assert chart.count("<path") == (len(found.curves) if found else 0)


def _study(trials: tuple[Trial, ...]) -> timeline.Study:
    return timeline.Study((METRIC,), (), ("x",), trials, (), 10, 2, None)
