"""Tests of times in the reader's zone: two users in two zones, a change to summer time, and what stays in UTC."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.template import Context, Template
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.drawing import figures
from dashboard.drawing.scale import Scale, axis, step_of, ticks
from jobs.models import Profile, Team
from jobs.people.accounts import set_reader
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
BERLIN, SAO_PAULO, KATHMANDU = "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu"


def choose(client: Client, zone: str) -> Any:
    return client.post("/account/", {"first_name": "", "last_name": "", "time_zone": zone})


class TestTwoPeople:
    def test_each_reads_a_job_in_the_own_zone(
        self, make_job: MakeJob, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        job = make_job("running")
        here, there = signed_in(owner), signed_in(teammate)
        assert choose(here, BERLIN).status_code == 302
        assert choose(there, SAO_PAULO).status_code == 302

        for _ in range(2):  # one process answers both in turns
            berlin, sao_paulo = (client.get(f"/jobs/{job.pk}/").content.decode() for client in (here, there))
            assert "2 Mar 2026, 10:00:00 CET" in berlin
            assert "2 Mar 2026, 06:00:00 UTC-03" in sao_paulo
            for page in (berlin, sao_paulo):
                assert " UTC<" not in page
                assert 'datetime="2026-03-02T09:00:00Z"' in page

    def test_the_choice_holds_in_other_browsers_and_ends_with_it(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("running")
        other = signed_in(owner)
        choose(signed_in(owner), KATHMANDU)

        assert "2 Mar 2026, 14:45:00 UTC+05:45" in text_of(other.get(f"/jobs/{job.pk}/"))
        assert f'value="{KATHMANDU}" selected' in other.get("/account/").content.decode()
        choose(other, "")
        assert "2 Mar 2026, 09:00:00 UTC" in text_of(other.get(f"/jobs/{job.pk}/"))

    def test_without_a_choice_it_is_that_of_the_site(self, make_job: MakeJob, engineer: Client, settings: Any) -> None:
        settings.TIME_ZONE = "America/New_York"
        job = make_job("running")

        assert "2 Mar 2026, 04:00:00 EST" in text_of(engineer.get(f"/jobs/{job.pk}/"))
        assert "Site default (America/New_York)" in text_of(engineer.get("/account/"))

    @pytest.mark.parametrize("zone", ["Mars/Base", "../../etc/passwd", "Etc/GMT+5", "x" * 300, "a\0b"])
    def test_an_unknown_zone_is_refused(self, engineer: Client, zone: str) -> None:
        answer = choose(engineer, zone)

        assert answer.status_code == 422
        assert "find error" in answer.content.decode()
        assert not Profile.objects.exclude(time_zone="").exists()

    def test_a_zone_that_is_known_no_more_is_that_of_the_site(self, engineer: Client, owner: User) -> None:
        Profile.objects.create(user=owner, time_zone="Europe/Atlantis")

        assert engineer.get("/").status_code == 200

    def test_it_costs_no_query(self, make_job: MakeJob, engineer: Client, owner: User) -> None:
        job = make_job("running")
        counts = []
        for zone in ("", BERLIN):
            set_reader(owner, time_zone=zone, language="")
            for path in ("/", f"/jobs/{job.pk}/"):
                engineer.get(path)
                with CaptureQueriesContext(connection) as queries:
                    engineer.get(path)
                counts.append([query["sql"] for query in queries])
                assert [sql for sql in counts[-1] if 'FROM "jobs_profile"' in sql] == []

        assert [len(each) for each in counts[:2]] == [len(each) for each in counts[2:]]


class TestWhatStaysInUtc:
    def test_exports_and_the_api_of_events(self, make_job: MakeJob, engineer: Client, owner: User) -> None:
        job = make_job("succeeded")
        set_reader(owner, time_zone=BERLIN, language="")

        assert "2026-03-02T09:00:00" in engineer.get("/history/jobs.csv").getvalue().decode()
        assert "+01:00" not in engineer.get(f"/jobs/{job.pk}/events.json").content.decode()

    def test_months_of_spending(self, make_job: MakeJob, signed_in: SignIn, owner: User, clock: Clock) -> None:
        set_reader(owner, time_zone="Pacific/Kiritimati", language="")  # UTC+14
        clock.now = datetime(2026, 3, 31, 23, 0, tzinfo=UTC)
        make_job("succeeded")

        assert "in March spent, UTC" in text_of(signed_in(owner).get("/"))


def test_an_invitation_names_the_zone(team: Team, signed_in: SignIn, settings: Any) -> None:
    settings.SENDS_EMAIL = True
    lead = person("lead", team, "lead")
    set_reader(lead, time_zone=BERLIN, language="")

    signed_in(lead).post(f"/teams/{team.pk}/invitations/", {"email": "ada@example.com", "role": "viewer"})

    assert "until 9 Mar 2026, 10:00:00 CET." in mail.outbox[0].body


class TestSummerTime:
    """In Berlin 02:00 becomes 03:00 on 29 March 2026, and 03:00 becomes 02:00 on 25 October."""

    CHANGE = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    BACK = datetime(2026, 10, 25, 1, 0, tzinfo=UTC)

    def test_moments_on_both_sides_name_their_zone(self) -> None:
        with timezone.override(ZoneInfo(BERLIN)):
            before, after = (self.CHANGE + timedelta(seconds=shift) for shift in (-1, 0))
            assert figures.moment_text(before) == "29 Mar 2026, 01:59:59 CET"
            assert figures.moment_text(after) == "29 Mar 2026, 03:00:00 CEST"
            assert figures.moment_text(self.BACK - timedelta(minutes=30)) == "25 Oct 2026, 02:30:00 CEST"
            assert figures.moment_text(self.BACK + timedelta(minutes=30)) == "25 Oct 2026, 02:30:00 CET"
            assert figures.zones(before, after) == "CET, CEST"
            assert figures.countdown(after + timedelta(hours=1), before) == "gives up in 1 h (at 04:00 CEST)"

    @pytest.mark.parametrize("change", [CHANGE, BACK])
    @pytest.mark.parametrize("hours", [2, 7, 24, 72, 400])
    def test_hours_on_the_axis_are_evenly_apart_and_none_is_missing(self, change: datetime, hours: int) -> None:
        scale = Scale(change - timedelta(hours=hours / 2), change + timedelta(hours=hours / 2))
        step = step_of(scale)
        with timezone.override(ZoneInfo(BERLIN)):
            found = list(ticks(scale))
            apart = {later - earlier for earlier, later in itertools.pairwise(found)}
            days = [figures.local(tick) for tick in found]

        assert all(scale.start <= tick <= scale.end for tick in found)
        assert found[0] - scale.start < step + timedelta(hours=1)
        assert scale.end - found[-1] < step + timedelta(hours=1)
        if step < timedelta(days=1):
            assert apart == {step}
        else:
            assert {(day.hour, day.minute) for day in days} == {(0, 0)}

    def test_the_axis_writes_the_hours_of_the_reader(self) -> None:
        scale = Scale(self.CHANGE - timedelta(hours=1), self.CHANGE + timedelta(hours=1))
        with timezone.override(ZoneInfo(BERLIN)):
            drawn = axis(scale)

        assert "01:00" in drawn
        assert "04:00" in drawn
        assert "02:00" not in drawn

    def test_a_page_on_the_day_of_the_change(
        self, make_job: MakeJob, owner: User, clock: Clock, signed_in: SignIn
    ) -> None:
        clock.now = self.CHANGE - timedelta(seconds=15)
        job = make_job("running")
        set_reader(owner, time_zone=BERLIN, language="")

        page = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "29 Mar 2026, 01:59:45 CET" in page
        assert "29 Mar 2026, 03:00:" in page
        assert "02:00:" not in page


@pytest.mark.parametrize("name", ["moment", "clock", "day", "soon:at"])
def test_every_kind_of_time_has_its_zone_at_hand(name: str) -> None:
    with timezone.override(ZoneInfo(SAO_PAULO)):
        text = Template("{{ at|" + name + " }}").render(Context({"at": datetime(2026, 3, 2, 2, 0, tzinfo=UTC)}))

    assert "1 Mar 2026, 23:00:00 UTC-03" in text
