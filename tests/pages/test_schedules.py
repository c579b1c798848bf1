"""Tests of the schedule pages: created from a template or job, changed by owner and leads, hidden from strangers."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Job, Policy, Schedule, ScheduleRun, Team, Template
from jobs.upkeep import watch_schedules
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
FIELDS = {"name": "Nightly resnet", "cron": "0 6 * * 1-5", "time_zone": "Europe/Berlin", "do": "save"}


@pytest.fixture
def row(engineer: Client, make_job: MakeJob) -> Schedule:
    """A schedule of the owner, made from a job."""
    engineer.post(f"/schedules/new/?job={make_job('succeeded').pk}", FIELDS)
    return Schedule.objects.get()


class TestMaking:
    def test_from_a_job(self, row: Schedule, engineer: Client, owner: User) -> None:
        page = text_of(engineer.get(f"/schedules/{row.pk}/"))

        assert (row.owner, row.cron, row.time_zone) == (owner, "0 6 * * 1-5", "Europe/Berlin")
        assert "It has not run yet." in page
        assert page.count("2026") >= 5 or "Next runs" in page
        assert "Nightly resnet" in text_of(engineer.get("/schedules/"))

    def test_from_a_template(self, engineer: Client, make_job: MakeJob, team: Team, owner: User, clock: Clock) -> None:
        job = make_job("succeeded")
        kept = Template.objects.create(
            team=team, name="base", kind=job.kind, spec=job.spec, region=job.region, expected_seconds=60,
            created_by=owner, created_at=clock.now, updated_at=clock.now, cap_usd=5,
        )  # fmt: skip

        answer = engineer.post(f"/schedules/new/?template={kept.pk}", FIELDS)

        row = Schedule.objects.get()
        assert answer["Location"] == f"/schedules/{row.pk}/"
        assert (row.expected_seconds, row.cap_usd) == (60, 5)

    def test_shows_the_next_five_runs_before_it_is_kept(self, engineer: Client, make_job: MakeJob) -> None:
        answer = engineer.post(f"/schedules/new/?job={make_job('succeeded').pk}", FIELDS | {"do": "preview"})

        assert answer.content.decode().count(", 06:00 CET</li>") == 5
        assert not Schedule.objects.exists()

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"cron": "often"}, "Write five fields"),
            ({"cron": "* * * * *"}, "more often than every five minutes"),
            ({"time_zone": "Mars"}, "is not a time zone"),
            ({"name": ""}, "required"),
            ({"last_day": "2020-01-01"}, "no run before its last day ends"),
            ({"cron": "\x00 6 * * *"}, "Null characters"),
        ],
    )
    @pytest.mark.parametrize("do", ["save", "preview"])
    def test_says_what_is_wrong_and_loses_nothing(
        self, wrong: dict[str, str], told: str, do: str, engineer: Client, make_job: MakeJob
    ) -> None:
        answer = engineer.post(f"/schedules/new/?job={make_job('succeeded').pk}", FIELDS | wrong | {"do": do})

        if "last_day" in wrong and do == "preview":
            assert answer.status_code == 200
            return
        assert answer.status_code == 422
        assert told in text_of(answer)
        assert 'value="Europe/Berlin"' in answer.content.decode() or "time_zone" in wrong
        assert not Schedule.objects.exists()

    def test_begins_with_a_template_or_a_job(self, engineer: Client) -> None:
        assert engineer.get("/schedules/new/")["Location"] == "/schedules/"


class TestChanging:
    def test_its_owner_changes_pauses_resumes_and_deletes_it(self, row: Schedule, engineer: Client) -> None:
        engineer.post(f"/schedules/{row.pk}/edit/", FIELDS | {"cron": "30 7 * * *"})
        row.refresh_from_db()
        assert row.cron == "30 7 * * *"

        engineer.post(f"/schedules/{row.pk}/pause/")
        assert "Paused. owner paused it." in text_of(engineer.get(f"/schedules/{row.pk}/"))
        engineer.post(f"/schedules/{row.pk}/resume/")
        row.refresh_from_db()
        assert row.is_enabled

        engineer.post(f"/schedules/{row.pk}/delete/")
        assert not Schedule.objects.exists()

    def test_a_lead_may_and_another_engineer_may_not(
        self, row: Schedule, team: Team, teammate: User, signed_in: SignIn
    ) -> None:
        lead = signed_in(person("lead", team, "lead"))
        other = signed_in(teammate)

        assert other.get(f"/schedules/{row.pk}/").status_code == 200
        for path in ("edit", "pause", "run", "delete"):
            assert other.post(f"/schedules/{row.pk}/{path}/", FIELDS).status_code == 403
        assert lead.post(f"/schedules/{row.pk}/pause/").status_code == 302
        row.refresh_from_db()
        assert row.paused_because == "lead paused it."

    def test_a_viewer_looks_only(self, row: Schedule, team: Team, signed_in: SignIn) -> None:
        viewer = signed_in(person("viewer", team, "viewer"))

        page = text_of(viewer.get(f"/schedules/{row.pk}/"))
        assert "Nightly resnet" in page
        assert "Pause" not in page
        assert viewer.post(f"/schedules/{row.pk}/pause/").status_code == 403
        job = Job.objects.get()
        assert viewer.post(f"/schedules/new/?job={job.pk}", FIELDS).status_code == 403

    def test_a_stranger_sees_nothing(self, row: Schedule, stranger: User, signed_in: SignIn) -> None:
        browser = signed_in(stranger)

        assert "Nightly" not in text_of(browser.get("/schedules/"))
        for path in ("", "edit/", "pause/", "run/", "delete/"):
            assert browser.get(f"/schedules/{row.pk}/{path}").status_code == 404
        assert browser.post(f"/schedules/new/?job={Job.objects.get().pk}", FIELDS).status_code == 404

    def test_the_audit_log_tells_who_changed_it(
        self, row: Schedule, engineer: Client, team: Team, signed_in: SignIn
    ) -> None:
        engineer.post(f"/schedules/{row.pk}/pause/")

        page = text_of(signed_in(person("lead", team, "lead")).get("/audit/"))
        assert "Nightly resnet" in page


def test_runs_are_listed_with_their_jobs(row: Schedule, engineer: Client, clock: Clock) -> None:
    clock.now = datetime(2026, 3, 3, 5, 0, tzinfo=UTC)
    watch_schedules(clock.now)

    page = text_of(engineer.get(f"/schedules/{row.pk}/"))

    job = ScheduleRun.objects.get().job
    assert job is not None
    assert job.display_name in page
    assert "requested" in page


class TestRunNow:
    def test_a_second_click_finds_the_first_job(self, row: Schedule, engineer: Client) -> None:
        page = engineer.get(f"/schedules/{row.pk}/run/")
        key = page.context["key"]
        assert str(key) in page.content.decode()

        for _ in range(2):
            assert engineer.post(f"/schedules/{row.pk}/run/", {"key": key}).status_code == 302

        job = ScheduleRun.objects.get().job
        assert job is not None
        assert job.display_name in text_of(engineer.get(f"/schedules/{row.pk}/"))
        assert Schedule.objects.get().next_at == row.next_at

    def test_says_why_there_is_no_job(self, row: Schedule, engineer: Client, team: Team) -> None:
        Policy.objects.filter(team=team).update(regions=["europe-west4"])
        refused = text_of(engineer.post(f"/schedules/{row.pk}/run/", {"key": "a"}, follow=True))
        Policy.objects.filter(team=team).update(regions=[])
        engineer.post(f"/schedules/{row.pk}/run/", {"key": "b\x00"})
        busy = text_of(engineer.post(f"/schedules/{row.pk}/run/", {"key": "c"}, follow=True))

        assert "It was not requested." in refused
        assert "the run before, has not ended" in busy
        assert ScheduleRun.objects.count() == 1
