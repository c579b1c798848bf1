"""Tests of the page of a job without a known run: one that succeeded, and a pipeline whose machines are to come."""

from django.contrib.auth.models import User

from jobs import timeline, transitions
from jobs.states import JobState
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.pages.test_job_strip import strip_text
from tests.support.api import caller
from tests.support.clock import Clock


def test_the_page_claims_no_run_time_and_no_cost(
    make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
) -> None:
    job = make_job("pending")
    ended = clock.forward(minutes=10)
    assert transitions.transition(job, JobState.SUCCEEDED, now=ended, message="The job succeeded.")

    page = signed_in(owner).get(f"/jobs/{job.pk}/")

    strip = strip_text(page.content.decode())
    assert "– run time not known Vertex AI gave no start time" in strip
    assert "– cost not known because its run time is not known" in strip
    assert "never ran" not in strip
    assert "nothing was billed" not in strip
    text = text_of(page)
    assert "Trainboard did not see it run, and neither Vertex AI nor the log shows when it started." in text
    assert "So no run time and no cost are shown." in text
    assert "It ran 0 s" not in text
    shown = caller(owner).get(f"/jobs/{job.pk}").json()
    assert (shown["started_at"], shown["cost_usd"]) == (None, None)
    assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404


def test_a_pipeline_that_runs_without_machines_costs_nothing(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    job = make_job("pending", kind="training_pipeline")
    now = clock.forward(minutes=1)
    transitions.transition(
        job,
        JobState.RUNNING,
        now=now,
        message="Vertex AI is running the pipeline.",
        detail={timeline.HAS_MACHINES: False},
    )
    clock.forward(minutes=30)

    page = signed_in(owner).get(f"/jobs/{job.pk}/")

    assert job.started_at is None
    assert "nothing is billed before" in strip_text(page.content.decode())
    assert "Running, without machines yet" in text_of(page)
    job.refresh_from_db()
    transitions.record_custom_job_state(job, "", "running", now=clock.now, occurred_at=clock.now, message="It runs.")
    job.refresh_from_db()
    assert job.started_at == clock.now
    assert list(job.messages.values_list("kind", flat=True)) == ["started"]
