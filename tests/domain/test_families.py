"""Tests of families of runs: where each job is filed, once, and how people move it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from jobs import requests
from jobs.errors import NotPermitted
from jobs.fallback import Plan, Step
from jobs.metrics import Record, Series
from jobs.models import (
    Fallback,
    FallbackAttempt,
    Job,
    JobEvent,
    JobMetrics,
    LogLine,
    RunSummary,
    Schedule,
    ScheduleRun,
    Team,
)
from jobs.observation.log_metrics import fold_new_lines
from jobs.requests.families import MAX_MOVED, move_to_family
from jobs.spec import Submission, stored_submission
from jobs.upkeep import families, file_jobs, unfiled
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases
Copy = Callable[..., Job]


def submission(args: list[str], *, image: str = "") -> Submission:
    """The sample job with other arguments, or another image."""
    body = samples.body(**samples.limited(0.1, {}))
    container = body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    container |= {"args": args} | ({"imageUri": image} if image else {})
    return stored_submission("a job", "custom_job", body, project="vision-research", region="us-central1")


@pytest.fixture
def copy(team: Team, owner: User, clock: Clock) -> Copy:
    """`copy(job, ["--epochs", "5"])` is a copy of a job with other arguments, requested a second later."""

    def ask(job: Job | None, args: list[str], *, of: Team = team, by: User = owner, **changes: Any) -> Job:
        return requests.request_job(
            submission=submission(args, **changes), team=Team.objects.get(pk=of.pk), by=by,
            expected=timedelta(minutes=6), request_key=f"copy-{uuid4()}", now=clock.forward(seconds=1), cloned_from=job,
        )  # fmt: skip

    return ask


def family_of(job: Job) -> Any:
    return Job.objects.values_list("family", flat=True).get(pk=job.pk)


def test_a_job_is_a_family_of_its_own_until_it_is_copied(request_job: RequestJob, copy: Copy) -> None:
    alone, first = request_job(), request_job()
    again = copy(first, ["--epochs", "30"], image="us-docker.pkg.dev/trainboard/samples/penguins:v2")
    grandchild = copy(again, ["--epochs=4"])

    assert file_jobs() == 4

    assert family_of(alone) == alone.pk
    assert [family_of(job) for job in (first, again, grandchild)] == [first.pk] * 3


@pytest.mark.parametrize("changes", [{"image": "us-docker.pkg.dev/trainboard/samples/others:latest"}, {}])
def test_a_copy_with_another_program_begins_a_family(
    request_job: RequestJob, copy: Copy, changes: dict[str, str]
) -> None:
    first = request_job()
    other = copy(first, ["--epochs", "3"] if changes else ["--epochs", "3", "--distill"], **changes)

    file_jobs()

    assert family_of(other) == other.pk


def test_a_copy_for_another_team_begins_a_family(
    request_job: RequestJob, copy: Copy, other_team: Team, owner: User
) -> None:
    Team.objects.filter(pk=other_team.pk).update(project=Team.objects.get(pk=owner.memberships.get().team_id).project)
    other_team.memberships.create(user=owner, role="engineer")
    other = copy(request_job(), ["--epochs", "3"], of=other_team)

    file_jobs()

    assert family_of(other) == other.pk


def test_a_sweep_is_one_family_and_joins_that_of_the_job_it_was_made_from(
    request_job: RequestJob, team: Team, owner: User, clock: Clock
) -> None:
    first = request_job()
    sweeps = []
    for key, origin in (("alone", None), ("copied", first)):
        options = requests.RequestOptions(
            Team.objects.get(pk=team.pk), owner, timedelta(minutes=6), clock.forward(seconds=1), cloned_from=origin
        )
        wanted = [submission(["--epochs", str(number)]) for number in (1, 2)]
        sweeps.append(requests.request_jobs(wanted, options, request_key=key))

    file_jobs()

    assert {family_of(job) for job in sweeps[0]} == {sweeps[0][0].sweep}
    assert {family_of(job) for job in sweeps[1]} == {first.pk}


def test_the_runs_of_a_schedule_are_one_family(request_job: RequestJob, team: Team, owner: User, clock: Clock) -> None:
    runs = [request_job(), request_job()]
    schedule = Schedule.objects.create(
        team=team, owner=owner, name="nightly", cron="0 6 * * *", time_zone="UTC", kind=runs[0].kind, spec={},
        region="us-central1", expected_seconds=60, created_at=clock.now, updated_at=clock.now,
    )  # fmt: skip
    for number, job in enumerate(runs):
        ScheduleRun.objects.create(
            schedule=schedule,
            moment=clock.now + timedelta(days=number),
            made_at=clock.now,
            outcome="requested",
            job=job,
        )

    file_jobs()

    assert {family_of(job) for job in runs} == {schedule.pk}


@pytest.mark.parametrize("is_filed_before", [True, False])
def test_a_further_attempt_is_in_the_family_of_the_first(
    request_job: RequestJob, clock: Clock, *, is_filed_before: bool
) -> None:
    first = request_job()
    if is_filed_before:
        file_jobs()
    clock.forward(seconds=1)
    second = request_job(strategy="ON_DEMAND")
    row = Fallback.objects.create(plan=Plan((Step("standard"),)).as_dict(), words="Spot → Standard", began_at=clock.now)
    for number, job in enumerate((first, second), 1):
        FallbackAttempt.objects.create(fallback=row, number=number, job=job)

    file_jobs()

    assert family_of(second) == family_of(first) == first.pk


def test_jobs_from_before_are_filed_in_portions_and_only_once(
    request_job: RequestJob, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "PORTION", 2)
    first = request_job()
    jobs = [first, *(copy(first, ["--epochs", str(number)]) for number in range(4))]

    assert [file_jobs() for _ in range(4)] == [2, 2, 1, 0]
    assert {family_of(job) for job in jobs} == {first.pk}
    assert not unfiled().exists()

    chosen = uuid4()
    Job.objects.filter(pk=jobs[1].pk).update(family=chosen)
    file_jobs()
    assert family_of(jobs[1]) == chosen


def test_a_job_whose_spec_cannot_be_read_is_filed_too(request_job: RequestJob, copy: Copy) -> None:
    first = request_job()
    odd = copy(first, ["--epochs", "3"])
    Job.objects.filter(pk=odd.pk).update(spec={"jobSpec": 3})

    file_jobs()

    assert family_of(odd) == odd.pk
    assert RunSummary.objects.get(pk=odd.pk).settings == {}


def test_the_summary_has_settings_without_secrets_and_the_results_of_the_log(
    request_job: RequestJob, copy: Copy, clock: Clock
) -> None:
    first = request_job()
    secret = copy(first, ["--lr", "3e-4", "--hf-token", "hf_abcdefghijklmnopqrstuvwxyz012345"])
    series = Series("loss", "workerpool0-0", [(1.0, 1, 0.5), (2.0, 2, 0.4)], count=2, last=(2.0, 2, 0.4))
    JobMetrics.objects.create(job=first, record=Record([series]).as_json())

    file_jobs()

    assert RunSummary.objects.get(pk=first.pk).results == {"loss": [0.4, 0.4, 0.5]}
    settings = RunSummary.objects.get(pk=secret.pk).settings
    assert settings["--lr"] == 0.0003
    assert "abcdefghij" not in str(settings)

    for number in range(4):
        LogLine.objects.create(
            job=secret, timestamp=clock.forward(seconds=9), insert_id=str(number), replica="workerpool0-0",
            severity="INFO", message=f"step {number}/9 loss=0.{9 - number}5",
        )  # fmt: skip
    fold_new_lines(secret)

    assert RunSummary.objects.get(pk=secret.pk).results == {"loss": [0.65, 0.65, 0.95]}


class TestMoving:
    def test_joins_another_family_and_leaves_it(self, request_job: RequestJob, teammate: User, clock: Clock) -> None:
        first, second = request_job(), request_job()
        file_jobs()

        assert move_to_family([Job.objects.get(pk=second.pk)], first.pk, by=teammate, now=clock.now) == 1
        assert move_to_family([Job.objects.get(pk=second.pk)], first.pk, by=teammate, now=clock.now) == 0
        assert family_of(second) == first.pk
        move_to_family([Job.objects.get(pk=second.pk)], None, by=teammate, now=clock.forward(seconds=1))
        assert family_of(second) not in (first.pk, second.pk)

        events = JobEvent.objects.filter(kind="family").order_by("pk")
        assert [(each.actor, each.reason, each.detail["from"]) for each in events] == [
            (teammate, "joined", str(second.pk)),
            (teammate, "left", str(first.pk)),
        ]

    def test_the_first_job_may_leave_too(self, request_job: RequestJob, copy: Copy, owner: User, clock: Clock) -> None:
        first = request_job()
        other = copy(first, ["--epochs", "4"])
        file_jobs()

        move_to_family([Job.objects.get(pk=first.pk)], None, by=owner, now=clock.now)

        assert family_of(other) == first.pk != family_of(first)

    def test_is_for_those_who_may_request_jobs(
        self, request_job: RequestJob, team: Team, stranger: User, clock: Clock
    ) -> None:
        first, second = request_job(), request_job()
        file_jobs()

        for by in (person("watcher", team, "viewer"), stranger):
            with pytest.raises(NotPermitted):
                move_to_family([second], first.pk, by=by, now=clock.now)

        assert family_of(second) == second.pk

    def test_a_family_has_jobs_of_one_team(
        self, request_job: RequestJob, other_team: Team, owner: User, clock: Clock
    ) -> None:
        job, elsewhere = request_job(), request_job()
        file_jobs()
        Job.objects.filter(pk=elsewhere.pk).update(team=other_team)

        with pytest.raises(NotPermitted, match="no such family"):
            move_to_family([Job.objects.get(pk=job.pk)], elsewhere.pk, by=owner, now=clock.now)

    def test_has_an_end(self, request_job: RequestJob, owner: User, clock: Clock) -> None:
        with pytest.raises(ValueError, match="at most"):
            move_to_family([request_job()] * (MAX_MOVED + 1), None, by=owner, now=clock.now)
