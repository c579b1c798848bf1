"""Tests of several projects per team: a job runs in the selected one, as long as the team may use it."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs import requests, steps
from jobs.errors import NotAllowed
from jobs.fallback import Plan, Step
from jobs.models import AllowedResource, Job, Schedule, ScheduleRun, Team
from jobs.requests import schedules, templates
from jobs.requests.schedules import NotUsable, Times
from jobs.upkeep import watch_fallbacks, watch_schedules
from tests.domain.conftest import Cloud, RequestJob, Submit, look, watch
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
SECOND = "vision-two"
DAILY = Times("nightly", "0 6 * * *", "UTC")
ACCOUNT = "train@vision-research.iam.gserviceaccount.com"


@pytest.fixture
def second(team: Team) -> AllowedResource:
    """The team may use another project beside its default one."""
    return AllowedResource.objects.create(team=team, kind="project", name=SECOND)


def keep_schedule(team: Team, clock: Clock, project: str) -> Schedule:
    return schedules.create_schedule(
        DAILY,
        submission=samples.submission(project=project, **samples.limited(0.1, {})),
        team=team,
        by=team.members.get(username="owner"),
        expected=timedelta(minutes=6),
        now=clock.now,
    )


def test_a_job_runs_and_is_observed_in_the_chosen_project(
    second: AllowedResource, submit: Submit, cloud: Cloud
) -> None:
    job = submit("happy", project=SECOND)

    watch(cloud, job, minutes=300)

    assert job.state == "succeeded"
    listed = [
        len(cloud.call("GET", f"projects/{project}/locations/us-central1/customJobs").get("customJobs", []))
        for project in (SECOND, "vision-research")
    ]
    assert listed == [1, 0]


def test_a_further_attempt_runs_there_too(second: AllowedResource, request_job: RequestJob, cloud: Cloud) -> None:
    cloud.script("stockout")
    team = second.team
    submission = samples.submission(project=SECOND, **samples.limited(0.1, {}, least=4))
    team.policy.ask_over_usd = 1000
    team.policy.save()
    plan = Plan((Step("standard"),))
    asked = requests.RequestOptions(
        team, team.members.get(username="owner"), timedelta(minutes=6), cloud.now, plan=plan
    )  # fmt: skip
    requests.request_jobs([submission], asked, request_key="form")

    until = cloud.now + timedelta(hours=4)
    while Job.objects.count() < 2 and cloud.now < until:
        watch_fallbacks(cloud.clock)
        for job_id in steps.due_jobs(cloud.now):
            steps.advance(job_id, clock=cloud.clock)
        look(cloud)
        cloud.forward(seconds=45)

    assert list(Job.objects.values_list("project", flat=True)) == [SECOND, SECOND]


class TestTakenAway:
    @pytest.mark.parametrize("kind", ["project", "bucket", "service_account"])
    def test_an_approved_job_is_not_sent_any_more(
        self, second: AllowedResource, team: Team, request_job: RequestJob, cloud: Cloud, kind: str
    ) -> None:
        """A project is taken away as a bucket and an account are: by the check before a job is sent."""
        names = {"bucket": "vision-training", "service_account": ACCOUNT}
        job = request_job(project=SECOND)
        body = job.spec | {}
        body["jobSpec"] |= {
            "serviceAccount": ACCOUNT, "baseOutputDirectory": {"outputUriPrefix": "gs://vision-training/x"}
        }  # fmt: skip
        Job.objects.filter(pk=job.pk).update(spec=body)
        for each, name in names.items():
            AllowedResource.objects.create(team=team, kind=each, name=name)
            AllowedResource.objects.create(team=team, kind=each, name=f"other-{name}")

        AllowedResource.objects.get(kind=kind, name=names.get(kind, SECOND)).delete()
        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.state == "submit_failed"
        event = job.events.get(to_state="submit_failed")
        assert event.reason == "policy"
        assert f"The team may not use the {kind.replace('_', ' ')} {names.get(kind, SECOND)}" in event.message
        assert cloud.jobs() == []

    def test_a_job_that_was_sent_goes_on(self, second: AllowedResource, submit: Submit, cloud: Cloud) -> None:
        job = submit("happy", project=SECOND)
        second.delete()

        watch(cloud, job, minutes=300)

        assert job.state == "succeeded"

    def test_a_request_is_refused(self, request_job: RequestJob) -> None:
        with pytest.raises(NotAllowed) as refusal:
            request_job(project=SECOND)

        assert "project_not_allowed" in {each.code for each in refusal.value.findings}
        assert not Job.objects.exists()


class TestSchedules:
    def test_runs_are_requested_there_and_refused_once_it_is_taken_away(
        self, second: AllowedResource, team: Team, request_job: RequestJob, clock: Clock
    ) -> None:
        keep_schedule(team, clock, SECOND)
        clock.now = datetime(2026, 3, 3, 6, tzinfo=UTC)
        watch_schedules(clock.now)
        assert Job.objects.get().project == SECOND
        Job.objects.update(ended_at=clock.now, state="withdrawn")

        second.delete()
        clock.now = datetime(2026, 3, 4, 6, tzinfo=UTC)
        watch_schedules(clock.now)

        run = ScheduleRun.objects.latest("moment")
        assert run.outcome == "refused"
        assert f"The team may not use the project {SECOND}." in run.message
        assert Job.objects.count() == 1

    def test_none_is_made_in_a_project_of_others(self, team: Team, request_job: RequestJob, clock: Clock) -> None:
        with pytest.raises(NotUsable, match=f"may not use the project {SECOND}. Choose vision-research"):
            keep_schedule(team, clock, SECOND)

    def test_one_for_the_default_project_follows_it(self, team: Team, request_job: RequestJob, clock: Clock) -> None:
        row = keep_schedule(team, clock, team.project)
        Team.objects.filter(pk=team.pk).update(project="vision-new")

        fresh = Schedule.objects.get(pk=row.pk)

        assert schedules.submission_of(fresh, clock.now).project == "vision-new"


def test_a_template_of_the_default_project_is_replaced_by_one_of_another(
    second: AllowedResource, team: Team, request_job: RequestJob, clock: Clock
) -> None:
    request_job()
    content = {"expected": timedelta(hours=1), "by": team.members.get(username="owner"), "now": clock.now}
    kept = templates.save_template(team=team, name="kept", submission=samples.submission(), **content)
    assert (kept.project, templates.submission_of(kept).project) == ("", "vision-research")

    templates.replace_template(kept, submission=samples.submission(project=SECOND), **content)

    assert (kept.project, templates.submission_of(kept).project) == (SECOND, SECOND)
