"""Tests of the page of a job without a known run: one that succeeded, and a pipeline whose machines are to come."""

import pytest
from django.contrib.auth.models import User

from jobs import explain, timeline, transitions
from jobs.models import Job, LogLine
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


EXITED = {"code": 3, "message": "The replica workerpool0-0 exited with a non-zero status of 1."}
INTERNAL = {"code": 13, "message": "Internal error."}


def end(job: Job, state: str, clock: Clock, *, error: dict[str, object] | None = None, output: str = "") -> Job:
    """End a job of which no poll saw a run, and read the log: the lines of `output` are its program's."""
    ended = clock.forward(minutes=10)
    assert transitions.transition(job, state, now=ended, message=f"The job {state}.", error=error)
    replicas = ("service", "workerpool0-0") if output else ("service",)
    for number, replica in enumerate(replicas):
        words = output if number else "Waiting for job to be provisioned."
        LogLine.objects.create(job=job, timestamp=ended, insert_id=str(number), replica=replica, message=words)
    explain.refresh(job)
    return job


@pytest.mark.parametrize(
    ("state", "error", "output"),
    [
        ("failed", EXITED, ""),
        ("failed", INTERNAL, "epoch 1"),
        ("failed", None, "epoch 1"),
        ("cancelled", None, "epoch 1"),
        ("expired", None, "epoch 1"),
    ],
)
def test_a_job_that_ran_by_its_error_or_its_log_is_not_said_never_to_have_run(
    state: str,
    error: dict[str, object] | None,
    output: str,
    make_job: MakeJob,
    owner: User,
    stranger: User,
    signed_in: SignIn,
    clock: Clock,
) -> None:
    job = end(make_job("pending"), state, clock, error=error, output=output)

    page = signed_in(owner).get(f"/jobs/{job.pk}/")

    strip, text = strip_text(page.content.decode()), text_of(page)
    assert "– run time not known Vertex AI gave no start time" in strip
    assert "– cost not known because its run time is not known" in strip
    assert "So no run time and no cost are shown." in text
    assert "ever ran" not in text
    assert "nothing was billed" not in text
    shown = caller(owner).get(f"/jobs/{job.pk}").json()
    assert {name: shown[name] for name in ("started_at", "waited_seconds", "ran_seconds", "cost_usd")} == {
        "started_at": None, "waited_seconds": None, "ran_seconds": None, "cost_usd": None
    }  # fmt: skip
    for address in ("/?who=all", "/history/"):
        listed = text_of(signed_in(owner).get(address))
        assert "cost not known" in listed
        assert "not spent" not in listed
    assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404


@pytest.mark.parametrize(("state", "error"), [("failed", INTERNAL), ("cancelled", None), ("expired", None)])
def test_a_job_that_wrote_nothing_never_ran(
    state: str, error: dict[str, object] | None, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    job = end(make_job("pending"), state, clock, error=error)

    page = signed_in(owner).get(f"/jobs/{job.pk}/")

    assert "never ran" in strip_text(page.content.decode())
    shown = caller(owner).get(f"/jobs/{job.pk}").json()
    assert (shown["waited_seconds"] > 0, shown["ran_seconds"], shown["cost_usd"]) == (True, 0, None)
