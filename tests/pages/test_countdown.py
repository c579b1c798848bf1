"""Tests of waits with a limit: Flex-start counts down, and a delay before submission counts as waiting."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from dashboard.drawing.figures import countdown
from jobs import transitions
from jobs.models import Job, JobEvent
from jobs.states import JobState
from jobs.timeline.waiting import gives_up_at, may_wait
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

QUOTA = "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_cpus"


def flex(make_job: MakeJob, state: str = "queued", **scheduling: Any) -> Job:
    return make_job(state, name="patient", strategy="FLEX_START", scheduling=scheduling)


def both(client: Any, job: Job) -> tuple[str, str]:
    """Return the text of the board and of the job's page."""
    return text_of(client.get("/?who=all")), text_of(client.get(f"/jobs/{job.pk}/"))


class TestFlexStart:
    @pytest.mark.parametrize("state", ["queued", "pending"])
    def test_counts_down_to_the_moment_at_which_it_gives_up(
        self, state: str, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = flex(make_job, state, maxWaitDuration="14400s")
        assert job.submitted_at is not None
        until = job.submitted_at + timedelta(hours=4)
        client = signed_in(owner)

        for hours, left in ((1, "3 h"), (3, "1 h")):
            clock.now = job.submitted_at + timedelta(hours=hours)
            board, page = both(client, job)
            assert f"{until:%H:%M} gives up" in board
            assert f"gives up in {left} (at {until:%H:%M} UTC)" in page
            assert f'datetime="{until:%Y-%m-%dT%H:%M:%SZ}"' in client.get("/?who=all").content.decode()

    def test_waits_a_day_unless_it_says_how_long(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = flex(make_job)
        assert job.submitted_at is not None
        clock.now = job.submitted_at + timedelta(minutes=30)

        at = job.submitted_at + timedelta(days=1)
        board, page = both(signed_in(owner), job)
        assert f"{at.day} {at:%b} gives up" in board
        assert f"gives up in 23 h 30 min (at {at.day} {at:%b, %H:%M} UTC)" in page

    def test_without_a_limit_says_so(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        board, page = both(signed_in(owner), flex(make_job, maxWaitDuration="0s"))

        assert "Its maxWaitDuration is 0." in page
        assert "gives up" not in board + page

    def test_that_is_over_says_when_it_was(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = flex(make_job, maxWaitDuration="60s")
        assert job.submitted_at is not None
        clock.now = job.submitted_at + timedelta(minutes=5)

        until = job.submitted_at + timedelta(minutes=1)
        board, page = both(signed_in(owner), job)
        assert f"{until:%H:%M} gave up" in board
        assert f"its wait ended at {until:%H:%M} UTC" in page

    @pytest.mark.parametrize("state", ["running", "succeeded", "approved"])
    def test_of_a_job_that_does_not_wait_at_vertex_ai_counts_nothing(
        self, state: str, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        assert "gives up" not in " ".join(both(signed_in(owner), flex(make_job, state, maxWaitDuration="3600s")))

    def test_that_ran_out_offers_a_longer_wait_none_and_other_strategies(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("queued", strategy="FLEX_START", scheduling={"maxWaitDuration": "60s"})
        assert transitions.transition(
            job, "expired", now=job.state_since + timedelta(minutes=2), message="Its wait ran out."
        )
        client = signed_in(owner)

        page = client.get(f"/jobs/{job.pk}/").content.decode()

        for action in ("longer_wait", "endless_wait", "spot"):
            assert f"fix={action}" in page
        longer = client.get(f"/jobs/new/?job={job.pk}&fix=longer_wait").content.decode()
        endless = client.get(f"/jobs/new/?job={job.pk}&fix=endless_wait").content.decode()
        assert '"maxWaitDuration": "120s"' in text_of_html(longer)
        assert '"maxWaitDuration": "0s"' in text_of_html(endless)

    def test_is_told_to_no_stranger(self, make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
        job = flex(make_job, maxWaitDuration="3600s")
        client = signed_in(stranger)

        assert "gives up" not in client.get("/?who=all").content.decode()
        assert client.get(f"/jobs/{job.pk}/").status_code == 404


def text_of_html(page: str) -> str:
    return page.replace("&quot;", '"')


class TestBeforeSubmission:
    @pytest.fixture
    def put_off(self, make_job: MakeJob, clock: Clock) -> Job:
        """A job that could not be submitted twice, for two reasons, and waits for its third try."""
        job = make_job("approved", name="put-off")
        for reason in ("Too many requests: 60 submissions a minute.", QUOTA):
            clock.forward(minutes=5)
            told = {"message": f"Not submitted: {reason}", "once_key": reason[:20], "last_error": reason}
            assert transitions.record_event(job, JobEvent.Kind.STEP_FAILED, now=clock.now, **told)
        clock.forward(minutes=5)
        return job

    def test_counts_as_waiting_on_every_page_with_its_reason(
        self, put_off: Job, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)
        history = text_of(client.get("/history/"))
        board, page = both(client, put_off)

        for words in (board, history):
            row = words.split("put-off", 1)[1]
            assert "quota" in row.casefold()
            assert "15 min" in row
        assert "quota" in page.casefold()
        assert "Not submitted: Too many requests" in page
        assert f"Not submitted: {QUOTA}" in page

    def test_is_told_to_no_stranger(self, put_off: Job, stranger: User, signed_in: SignIn) -> None:
        client = signed_in(stranger)

        assert client.get(f"/jobs/{put_off.pk}/").status_code == 404
        for address in ("/?who=all", "/history/"):
            assert "put-off" not in client.get(address).content.decode()


NOW = datetime.fromisoformat("2026-11-22T10:53:00+00:00")


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (timedelta(hours=3, minutes=12), "gives up in 3 h 12 min (at 14:05 UTC)"),
        (timedelta(hours=20), "gives up in 20 h (at 23 Nov, 06:53 UTC)"),
        (timedelta(), "its wait ended at 10:53 UTC"),
        (-timedelta(days=1), "its wait ended at 21 Nov, 10:53 UTC"),
    ],
)
def test_countdown_in_words(left: timedelta, words: str) -> None:
    assert countdown(NOW + left, NOW) == words


@given(st.one_of(st.none(), st.text(max_size=12), st.integers(), st.integers(0, 10**14).map("{}s".format)))
def test_any_stored_wait_is_read(asked: object) -> None:
    """What is stored was read loosely, or comes from a job that was adopted."""
    spec = {"jobSpec": {"scheduling": {"strategy": "FLEX_START", "maxWaitDuration": asked}}}
    job = Job(strategy="flex_start", spec=spec, state=JobState.QUEUED, submitted_at=NOW)

    limit, until = may_wait(job), gives_up_at(job)

    assert limit is not None
    assert until is None or until - NOW == limit
