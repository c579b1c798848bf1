"""Tests of the trials of a tuning job as lanes: running and waiting trials, reasons, results, and strangers."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import timeline
from jobs.cost import to_micros
from jobs.models import Job, Trial
from jobs.observation.trial_jobs import count_trials
from jobs.timeline.trial_lanes import MAX_LANES
from tests.pages.conftest import STUDY, MakeJob, SignIn, text_in, text_of
from tests.support.clock import Clock

TUNING = "hyperparameter_tuning_job"


@pytest.fixture
def sweep(make_job: MakeJob, clock: Clock) -> Job:
    """A running study of six trials: one has succeeded, one runs, one waits for machines, three are to come."""
    job = make_job("running", kind=TUNING, hours=0.01, trials=6)
    begun = clock.now

    def after(minutes: float) -> str:
        return (begun + timedelta(minutes=minutes)).isoformat()

    states = [["queued", after(0)], ["pending", after(1)], ["running", after(3)], ["succeeded", after(9)]]
    ended_at = begun + timedelta(minutes=9)
    add(job, 1, "SUCCEEDED", started_at=begun, ended_at=ended_at, metrics={"accuracy": 0.9}, job_states=states)
    add(job, 2, "ACTIVE", started_at=begun, job_states=[["queued", after(0)], ["running", after(4)]])
    add(job, 3, "ACTIVE", started_at=begun + timedelta(minutes=9), job_states=[["queued", after(9)]])
    clock.forward(minutes=10)
    count_trials(job, now=clock.now)
    return job


def add(job: Job, number: int, state: str, **more: Any) -> Trial:
    more = {"custom_job": f"projects/1/locations/us-central1/customJobs/{number}"} | more
    return Trial.objects.create(job=job, trial_id=str(number), state=state, **more)


@pytest.fixture
def client(owner: User, signed_in: SignIn) -> Client:
    return signed_in(owner)


def page(client: Client, job: Job, below: str = "") -> str:
    return str(client.get(f"/jobs/{job.pk}/{below}").content.decode())


class TestLanes:
    def test_show_each_trial_with_its_waits_and_runs(self, sweep: Job, client: Client) -> None:
        lanes = page(client, sweep)

        assert 'aria-label="trial 1: QUEUED 1 min, PENDING 2 min, SUCCEEDED 6 min"' in lanes
        assert 'aria-label="trial 2: QUEUED 4 min, ACTIVE 6 min"' in lanes
        assert 'aria-label="trial 3: waits for Spot capacity or quota, QUEUED 1 min"' in lanes
        reason = "2 of 2 parallel trials are under way: 1 running, 1 waiting"
        assert f'aria-label="trials 4–6: {reason}, QUEUED 10 min"' in lanes
        assert 'class="lane-name">workerpool0-0' not in lanes, "a tuning job has no replicas of its own"

    def test_are_told_as_a_table_in_the_words_of_trials(self, sweep: Job, client: Client) -> None:
        text = text_of(client.get(f"/jobs/{sweep.pk}/", {"as": "table"}))

        assert "trial 1 SUCCEEDED" in text
        assert "trial 3 QUEUED" in text
        assert "unknown (" not in text

    def test_of_a_restarted_trial_carry_its_mark(self, sweep: Job, client: Client, clock: Clock) -> None:
        sweep.events.create(
            kind="restarted", occurred_at=clock.now, recorded_at=clock.now, reason="preempted", once_key="r",
            message="Compute Engine preempted the Spot VM of trial 2 workerpool0-0.",
            detail={"replica": "trial 2 workerpool0-0"},
        )  # fmt: skip

        assert page(client, sweep).count('class="mark bolt"') == 1

    def test_of_hundreds_of_trials_are_few(self, make_job: MakeJob, client: Client, clock: Clock) -> None:
        job = make_job("running", kind=TUNING, hours=0.01)
        job.spec["maxTrialCount"] = 300
        job.save(update_fields=["spec"])
        for number in range(1, 201):
            state = "ACTIVE" if number in (7, 8) else "SUCCEEDED"
            more = {} if state == "ACTIVE" else {"ended_at": clock.now + timedelta(seconds=number)}
            add(job, number, state, started_at=clock.now, **more)
        clock.forward(minutes=10)

        lanes = page(client, job)

        assert lanes.count('class="lane-name">trial ') == MAX_LANES
        assert 'class="lane-name">trial 7<' in lanes
        assert 'class="lane-name">trial 200<' in lanes
        assert f'class="lane-name">{200 - MAX_LANES} more<' in lanes
        assert 'class="lane-name">trials 201–300<' in lanes

    @pytest.mark.parametrize("below", ["", "live/", "events.json"])
    def test_show_a_stranger_nothing(self, sweep: Job, stranger: User, signed_in: SignIn, below: str) -> None:
        assert signed_in(stranger).get(f"/jobs/{sweep.pk}/{below}").status_code == 404


class TestCost:
    def test_tells_what_the_trials_cost_now_and_at_the_end(self, sweep: Job, client: Client) -> None:
        assert sweep.hourly_usd is not None
        text = text_of(client.get(f"/jobs/{sweep.pk}/"))

        hour = sweep.hourly_usd / 2
        assert f"So far ${hour * 12 / 60:.2f}" in text
        assert "Trials ran 12 min in total" in text
        assert f"Now ${hour:.2f} / h 1 of 2 parallel trials run" in text
        assert f"At the end ${hour * 36 / 60:.2f} if each trial runs 6 min, the mean so far" in text
        assert "About 12 min left if each trial runs 6 min, the mean of those that succeeded." in text

    def test_of_each_trial_stands_in_the_table(self, sweep: Job, client: Client) -> None:
        assert sweep.hourly_usd is not None
        text = text_of(client.get(f"/studies/{sweep.pk}/"))

        each = f"${sweep.hourly_usd / 20:.2f}"
        assert f"1 best SUCCEEDED 0.9 – 3 min 6 min {each}" in text
        assert f"2 ACTIVE – – 4 min 6 min {each}" in text
        assert "3 QUEUED waits for Spot capacity or quota – – 1 min 0 s $0.00" in text
        assert "Waiting 1 not billed" in text
        assert "States 1 SUCCEEDED 1 ACTIVE 1 QUEUED" in text
        assert "3 to come: 2 of 2 parallel trials are under way: 1 running, 1 waiting" in text

    def test_of_the_board_is_that_of_its_trials(self, sweep: Job, client: Client) -> None:
        assert sweep.hourly_usd is not None
        text = text_of(client.get("/"))

        assert f"${sweep.hourly_usd / 10:.2f} of $" in text
        assert "3 trials: 1 succeeded, 2 under way; best accuracy 0.9 by trial 1" in text

    def test_of_a_day_leaves_out_what_ran_the_day_before(self, sweep: Job, clock: Clock) -> None:
        assert sweep.hourly_usd is not None
        midnight = clock.now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        clock.forward(seconds=(midnight - clock.now).total_seconds() + 3600)

        spent = timeline.micros_by_day(sweep, (), list(sweep.trials.all()), clock.now)
        assert spent[midnight.date()] == to_micros(sweep.hourly_usd / 2), "one trial ran for an hour"

    def test_is_nothing_an_hour_while_no_trial_runs(self, sweep: Job, client: Client, clock: Clock) -> None:
        sweep.trials.filter(trial_id="2").update(
            job_states=[["running", clock.now.isoformat()], ["pending", clock.now.isoformat()]]
        )
        count_trials(sweep, now=clock.now)

        text = text_of(client.get(f"/jobs/{sweep.pk}/"))

        assert "No trial running: the active trials wait for machines" in text
        assert "Nothing is billed while no trial is running." in text
        assert "no trial running · 3 trials:" in text_of(client.get("/"))


class TestEnd:
    def test_says_what_succeeded_on_the_page_and_in_lists(
        self, make_job: MakeJob, client: Client, clock: Clock
    ) -> None:
        job = make_job("succeeded", kind=TUNING, hours=0.01, trials=2)
        begun = clock.now - timedelta(minutes=5)
        add(job, 1, "SUCCEEDED", started_at=begun, ended_at=clock.now, metrics={"accuracy": 0.93})
        add(job, 2, "INFEASIBLE", started_at=begun, ended_at=clock.now)
        count_trials(job, now=clock.now)
        came = "2 trials: 1 succeeded, 1 infeasible; best accuracy 0.93 by trial 1"

        assert f"{came}. Their machines ran" in text_of(client.get(f"/jobs/{job.pk}/"))
        assert came in text_of(client.get("/history/"))
        assert came in text_of(client.get("/"))

    def test_a_failure_says_which_trials_failed(self, make_job: MakeJob, client: Client, clock: Clock) -> None:
        error = {"code": 3, "message": "Too many failed trials: 2 trials failed, max_failed_trial_count is 2."}
        job = make_job("failed", kind=TUNING, hours=0.01, failed=2, error=error)
        for number in (1, 2):
            add(job, number, "INFEASIBLE", started_at=clock.now, ended_at=clock.now)
        count_trials(job, now=clock.now)

        text = text_of(client.get(f"/jobs/{job.pk}/"))

        assert "2 trials: 2 infeasible. Trials 1, 2 are infeasible; maxFailedTrialCount is 2." in text
        assert "Too many trials failed · 2 trials: 2 infeasible" in text_of(client.get("/history/"))

    def test_a_secret_in_the_reason_of_a_wait_is_hidden(
        self, make_job: MakeJob, signed_in: SignIn, approver: User, clock: Clock
    ) -> None:
        job = make_job("running", kind=TUNING, hours=0.01)
        containers = job.spec["trialJobSpec"]["workerPoolSpecs"][0]["containerSpec"]
        containers["env"] = [{"name": "API_TOKEN", "value": "hunter2hunter2"}]
        job.save(update_fields=["spec"])
        states = [["pending", clock.now.isoformat()]]
        add(job, 1, "ACTIVE", started_at=clock.now, job_states=states, job_error="refused hunter2hunter2")

        for address in (f"/jobs/{job.pk}/", f"/studies/{job.pk}/", f"/studies/{job.pk}/trials.csv"):
            shown = signed_in(approver).get(address).content.decode()
            assert "refused" in shown
            assert "hunter2hunter2" not in shown


def test_the_form_asks_for_the_time_of_one_trial(engineer: Client, example: dict[str, str]) -> None:
    tuning = engineer.post("/jobs/new/", example | STUDY | {"do": "add_parameter"}).content.decode()

    assert "4 trials of 6 minutes each, 2 at a time" in text_in(tuning, "estimate")
    assert "In 2 rounds they take about" in text_in(tuning, "estimate")
