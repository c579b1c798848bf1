"""Tests that a request which is made again after a restore follows the job that it made before, whoever makes it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs import requests, steps
from jobs.errors import NotAllowed
from jobs.models import FallbackAttempt, Installation, Job, Policy, ScheduleRun, Team
from jobs.queue import installation
from jobs.requests import schedules
from jobs.requests.request_keys import adopted_key, api_key, attempt_key, given_key, job_id, new_key, schedule_key
from jobs.spec.sent import find_differences
from jobs.submission.adapters import VertexRemote
from jobs.upkeep import watch_fallbacks, watch_schedules
from jobs.upkeep.audit import audit
from jobs.vertex import Unavailable
from tests.conftest import person
from tests.domain.conftest import Cloud, RequestJob, Submit, look
from tests.domain.test_fallbacks import Begin, begin, sweep_while
from tests.support import samples
from tests.support.api import caller
from tests.support.clock import watch_from
from tests.support.older_copy import OlderCopy
from tests.support.person import compose_form

__all__ = ["begin"]
pytestmark = pytest.mark.both_databases
Repeat = Callable[[], Any]
ROW = UUID(int=7)


@pytest.fixture(autouse=True)
def _the_site_reads_the_tests_clock(monkeypatch: pytest.MonkeyPatch, cloud: Cloud) -> None:
    monkeypatch.setattr(timezone, "now", lambda: cloud.now)
    monkeypatch.setattr("jobs.clock.read_database_clock", lambda: cloud.now)


@pytest.fixture
def policy(request_job: RequestJob) -> None:
    """A policy that allows every job, and workers that watch the database since before the test."""
    Policy.objects.update(ask_over_usd=10_000)


def sweep(cloud: Cloud) -> None:
    """Take every step that is due and poll, as a sweep has workers do."""
    watch_schedules(cloud.now)
    watch_fallbacks(cloud.clock)
    for pk in steps.due_jobs(cloud.now):
        steps.advance(pk, clock=cloud.clock)
    look(cloud)


def live(cloud: Cloud) -> list[str]:
    """Return the names of the jobs at Vertex AI that have neither ended nor been cancelled."""
    ended = {"CANCELLING", "CANCELLED", "SUCCEEDED", "FAILED", "EXPIRED"}
    return [job["name"] for job in cloud.jobs() if job["state"].removeprefix("JOB_STATE_") not in ended]


def send_forget_repeat(cloud: Cloud, request: Repeat, *, pause: float = 90, polls_first: bool = False) -> Job:
    """Make a request and let it train, put an older copy of the database back, and make the request again.

    The older copy was made before the request, and is put in place after a `pause` in seconds. Return the row of the
    second request, and check that it follows the job of the first, which nobody has cancelled.
    """
    copy = OlderCopy()
    request()
    for pk in steps.due_jobs(cloud.now):
        steps.advance(pk, clock=cloud.clock)
    (name,) = live(cloud)
    first = Job.objects.get(remote_name=name)
    cloud.forward(seconds=pause)

    copy.put_back()
    installation.mark_restored("a test", now=cloud.now)
    cloud.forward(seconds=2)
    request()
    again = Job.objects.get(pk=first.pk)
    assert again.remote_name == ""
    assert again.requested_at > first.requested_at
    for _ in range(12):
        if polls_first:
            look(cloud)
        sweep(cloud)
        cloud.forward(seconds=15)

    again.refresh_from_db()
    assert live(cloud) == [name], "exactly one job, and the one that was training"
    assert again.remote_name == name
    assert again.events.filter(kind="submit_adopted").count() == 1
    assert list(audit(cloud.now)) == []
    assert again.events.filter(kind="duplicate").count() == 0
    return again


class TestRequestsMadeAgain:
    @pytest.mark.parametrize("polls_first", [False, True])
    def test_a_further_attempt(self, begin: Begin, cloud: Cloud, polls_first: bool) -> None:
        begin("stockout")
        sweep_while(cloud, lambda: not Job.objects.get().is_finished)
        cloud.script("happy")

        job = send_forget_repeat(cloud, lambda: watch_fallbacks(cloud.clock), polls_first=polls_first)

        assert FallbackAttempt.objects.get(number=2).job_id == job.pk

    def test_a_scheduled_run(self, policy: None, cloud: Cloud, team: Team, owner: User) -> None:
        schedules.create_schedule(
            schedules.Times("nightly", "0 6 * * *", "UTC"),
            submission=samples.submission(**samples.limited(0.1, {}, least=4)),
            team=team, by=owner, expected=timedelta(minutes=6), now=cloud.now,
        )  # fmt: skip
        cloud.forward(hours=21)

        job = send_forget_repeat(cloud, lambda: watch_schedules(cloud.now))

        assert ScheduleRun.objects.get().job_id == job.pk

    @pytest.mark.parametrize("pause", [0, 90, 86_400])
    def test_a_request_of_the_api_with_its_key(self, policy: None, cloud: Cloud, owner: User, pause: float) -> None:
        cloud.script("long")
        api, body = caller(owner), {"spec": samples.body(**samples.limited(72, {})), "expected_seconds": 259_200}
        statuses = []

        send_forget_repeat(
            cloud, lambda: statuses.append(api.post("/jobs", body, key="nightly").status_code), pause=pause
        )

        assert statuses == [201, 201]
        assert "another request" not in Job.objects.get().events.get(kind="submit_adopted").message
        assert api.post("/jobs", body, key="nightly").status_code == 200
        assert api.post("/jobs", body | {"expected_seconds": 60}, key="nightly").status_code == 422

    def test_a_posted_form(self, policy: None, cloud: Cloud, owner: User) -> None:
        browser = Client()
        browser.force_login(owner)
        form = compose_form(browser.get("/jobs/new/?example=1").content.decode()).values | {"do": "submit"}
        send_forget_repeat(cloud, lambda: browser.post("/jobs/new/", form))

    def test_a_lagging_list_is_waited_for(self, policy: None, cloud: Cloud, request_job: RequestJob) -> None:
        """The client repeats a request seconds after a failover, when the job of the first is not listed yet."""
        copy = OlderCopy()
        steps.advance(request_job(key="one").pk, clock=cloud.clock)
        copy.put_back()
        cloud.forward(seconds=1)
        installation.mark_restored("a failover", now=cloud.now)
        watch_from(cloud.now)  # a worker that has not seen the events that are gone
        cloud.fail("customJobs.list", "stale", times=9, seconds=29)

        job = request_job(key="one")
        for _ in range(10):
            steps.advance(job.pk, clock=cloud.clock)
            cloud.forward(seconds=10)

        job.refresh_from_db()
        assert [each["name"] for each in cloud.jobs()] == [job.remote_name]

    def test_a_copy_put_in_place_without_a_trace(self, policy: None, cloud: Cloud, request_job: RequestJob) -> None:
        """Workers that start after the restore cannot know of it."""
        copy = OlderCopy()
        steps.advance(request_job(key="one").pk, clock=cloud.clock)
        copy.put_back()
        cloud.forward(minutes=5)
        watch_from(cloud.now)
        Installation.objects.update(trusted_since=cloud.now - timedelta(days=30))
        cloud.forward(minutes=5)

        job = request_job(key="one")
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert [each["name"] for each in cloud.jobs()] == [job.remote_name]

    def test_what_was_never_sent_is_sent_once(self, policy: None, cloud: Cloud, request_job: RequestJob) -> None:
        installation.mark_restored("a test", now=cloud.now)
        cloud.forward(seconds=2)
        job = request_job(key="one")
        steps.advance(job.pk, clock=cloud.clock)
        assert cloud.jobs() == []
        assert "restored or restarted" in Job.objects.get().last_error

        for _ in range(10):
            cloud.forward(seconds=10)
            steps.advance(job.pk, clock=cloud.clock)

        assert len(cloud.jobs()) == 1
        assert Job.objects.get().last_error == ""


@pytest.mark.parametrize("polls_first", [False, True])
def test_another_request_with_the_key_shows_the_job_that_runs(
    policy: None, cloud: Cloud, owner: User, polls_first: bool
) -> None:
    """Before a restore it gets 422. After one, nothing here knows the first body, but Vertex AI does."""
    cloud.script("long")
    api, machines = caller(owner), samples.limited(72, {})
    small = {"spec": samples.body(name="small", labels={"run": "one"}, **machines), "expected_seconds": 86_400}
    large = {"spec": samples.body(name="large", extra_replicas=3, **machines), "expected_seconds": 86_400}
    bodies = iter([small, large])

    job = send_forget_repeat(cloud, lambda: api.post("/jobs", next(bodies), key="k"), polls_first=polls_first)

    as_sent = requests.request_job(
        submission=samples.submission(name="small", labels={"run": "one"}, **machines),
        team=job.team, by=owner, expected=timedelta(days=1), request_key="the same again", now=cloud.now,
    )  # fmt: skip
    as_sent.refresh_from_db()
    shown = ("display_name", "machines", "strategy", "hourly_usd", "estimate_usd", "max_usd", "gpus")
    assert [getattr(job, name) for name in shown] == [getattr(as_sent, name) for name in shown]
    assert job.spec["labels"] == {"run": "one"}
    assert find_differences(job.kind, as_sent.spec, job.spec) == []
    event = job.events.get(kind="submit_adopted")
    assert "another request with the same key" in event.message
    assert "jobSpec.workerPoolSpecs[1]" in event.message
    assert api.post("/jobs", large, key="k").json()["type"].endswith("key-reused")
    assert api.post("/jobs", small, key="k").json()["is_repeated"] is True


def test_a_poll_that_lists_the_job_first_shows_it_too(
    policy: None, submitted: Job, cloud: Cloud, request_job: RequestJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of a scope leaves out the bodies, so the job is looked up, by a later poll if that fails."""
    copy = OlderCopy()
    first = request_job(key="one", name="small")
    steps.advance(first.pk, clock=cloud.clock)
    copy.put_back()
    installation.mark_restored("a test", now=cloud.now)
    cloud.forward(seconds=60)
    job = request_job(key="one", name="large", extra_replicas=3)

    def fails(*_: Any) -> Any:
        raise Unavailable("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(VertexRemote, "find", fails)
        look(cloud)
    job.refresh_from_db()
    assert (job.remote_name, job.display_name) == ("", "large")

    cloud.forward(seconds=30)
    look(cloud)
    job.refresh_from_db()
    assert (job.remote_name != "", job.display_name, job.machines) == (True, "small", first.machines)


@pytest.mark.parametrize("kind", Job.Kind.values)
def test_what_vertex_ai_fills_in_is_no_other_request(submit: Submit, cloud: Cloud, kind: str) -> None:
    job = submit("happy", kind=kind)

    assert find_differences(kind, job.spec, cloud.call("GET", job.remote_name)) == []


class TestKeys:
    def test_an_id_depends_on_the_person_and_the_key(self, policy: None, cloud: Cloud, team: Team, owner: User) -> None:
        body = {"spec": samples.body(**samples.limited(0.1, {})), "expected_seconds": 360}
        people = [caller(owner), caller(person("another", team, "engineer"))]

        made = {api.post("/jobs", body, key=key).json()["job"]["id"] for api in people for key in ("k", "l")}

        assert len(made) == 4

    def test_an_account_with_the_name_and_key_of_another_one_gets_an_error(
        self, request_job: RequestJob, owner: User, team: Team
    ) -> None:
        job = request_job(key="k")
        User.objects.filter(pk=owner.pk).update(username="renamed")
        namesake = person("owner", team, "engineer")

        with pytest.raises(NotAllowed, match="used before by another account"):
            request_job(key="k", by=namesake)
        assert Job.objects.get() == job

    def test_another_site_with_the_same_people_makes_other_ids(
        self, request_job: RequestJob, settings: Any, owner: User
    ) -> None:
        first = request_job(key="k")
        settings.INSTANCE = "staging"
        assert job_id(owner, "k") != first.pk

    def test_a_key_from_outside_is_none_of_ours(self) -> None:
        ours = [
            attempt_key(ROW, 2), schedule_key(ROW, timezone.now()), api_key("x"), new_key(), adopted_key("projects/1"),
            "run-1", "demo:resnet", "given-" + "0" * 48,
        ]  # fmt: skip

        given = [given_key(key) for key in [*ours, "x" * 64]]

        assert not set(given) & set(ours)
        assert max(map(len, given)) <= 57

    def test_the_key_of_an_older_form_is_kept(self) -> None:
        assert given_key("0f" * 16) == "0f" * 16


def test_a_form_cannot_take_the_place_of_a_further_attempt(begin: Begin, cloud: Cloud, owner: User) -> None:
    first = begin("stockout")
    fallback = FallbackAttempt.objects.get(job=first).fallback_id
    browser = Client()
    browser.force_login(owner)
    form = compose_form(browser.get("/jobs/new/?example=1").content.decode()).values | {"do": "submit"}
    assert browser.post("/jobs/new/", form | {"request_key": attempt_key(fallback, 2)}).status_code == 302
    (forged,) = Job.objects.exclude(pk=first.pk)
    Job.objects.filter(pk=forged.pk).update(due_at=None)

    for _ in range(200):
        cloud.forward(seconds=45)
        sweep(cloud)
        if FallbackAttempt.objects.filter(number=2).exists():
            break

    assert FallbackAttempt.objects.get(number=2).job != forged


class TestRequestsThatAwaitApproval:
    @pytest.fixture
    def forgotten(self, cloud: Cloud, request_job: RequestJob, team: Team) -> Job:
        """A request that awaits an approval for the second time: a forgotten one has a job at Vertex AI."""
        copy = OlderCopy()
        steps.advance(request_job(key="one").pk, clock=cloud.clock)
        copy.put_back()
        installation.mark_restored("a test", now=cloud.now)
        Policy.objects.filter(team=team).update(ask_over_usd=0)
        cloud.forward(minutes=2)
        job = request_job(key="one")
        assert job.state == "awaiting_approval"
        return job

    def test_an_approved_one_follows_the_job(self, forgotten: Job, cloud: Cloud, approver: User) -> None:
        assert requests.approve(forgotten, by=approver, comment="", now=cloud.now)
        sweep(cloud)

        forgotten.refresh_from_db()
        assert [each["name"] for each in cloud.jobs()] == [forgotten.remote_name]

    @pytest.mark.parametrize("is_rejected", [True, False])
    def test_the_job_of_a_refused_one_is_cancelled(
        self, forgotten: Job, cloud: Cloud, owner: User, approver: User, is_rejected: bool
    ) -> None:
        if is_rejected:
            requests.reject(forgotten, by=approver, comment="no", now=cloud.now)
        else:
            assert steps.cancel(forgotten, by=owner, clock=cloud.clock)
        forgotten.refresh_from_db()
        assert forgotten.state == ("rejected" if is_rejected else "withdrawn")

        sweep(cloud)

        (remote,) = cloud.jobs()
        assert cloud.cancelled() == [remote["name"]]
        assert cloud.calls()["customJobs.cancel"] == 1
        assert forgotten.events.filter(kind="duplicate").count() == 1
        forgotten.refresh_from_db()
        assert forgotten.due_at is None

    def test_no_look_up_follows_where_nothing_was_restored(
        self, cloud: Cloud, request_job: RequestJob, team: Team, owner: User
    ) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=0)
        job = request_job()
        assert steps.cancel(job, by=owner, clock=cloud.clock)

        assert (Job.objects.get().state, Job.objects.get().due_at) == ("withdrawn", None)
