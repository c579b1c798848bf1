"""Tests of cached rows of the board: each viewer sees what a newly rendered row would show."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.safestring import SafeString

from dashboard.pages import board
from dashboard.pages.parts.board_rows import BoardRow
from dashboard.pages.parts.drawn_rows import RowLook, draw_row
from dashboard.pages.parts.fragments import VERSION_HEADER
from dashboard.queries.board import KEPT_SECONDS
from jobs import cache, transitions
from jobs.models import Job, Membership, Scope, Team
from jobs.people.accounts import set_reader
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
STATES = ("awaiting_approval", "queued", "running", "succeeded", "failed")
ADDRESSES = ("/", "/?who=all", "/?who=mine", "/?hide=machines&hide=times", "/?hours=48", "/?group=owner")


def live_part(client: Client, address: str = "/") -> str:
    answer = client.get(address, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", answer.content.decode())


class TestEverybodyReadsTheirOwnBoard:
    def test_as_if_no_row_was_kept(
        self, make_job: MakeJob, team: Team, owner: User, teammate: User, approver: User, admin: User, signed_in: SignIn
    ) -> None:
        for state in STATES:
            make_job(state, by=owner)
            make_job(state, by=teammate)
        make_job("queued", strategy="SPOT")
        in_kathmandu = person("far-away", team, "engineer")
        set_reader(in_kathmandu, time_zone="Asia/Kathmandu", language="")
        in_spanish = person("lectora", team, "viewer")
        set_reader(in_spanish, time_zone="", language="es")
        people = [owner, teammate, approver, admin, in_kathmandu, in_spanish, person("looker", team, "viewer")]
        asked = [(signed_in(each), address) for each in people for address in ADDRESSES]

        anew = []
        for client, address in asked:
            caches["rows"].clear()
            cache.forget_all()
            anew.append(live_part(client, address))
        for _ in range(2):  # rows that others have drawn, then all of them
            assert [live_part(client, address) for client, address in asked] == anew

    def test_a_stranger_sees_no_row_that_is_kept(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        make_job("running", name="secret-plan")
        assert "secret-plan" in live_part(signed_in(owner))

        assert "secret-plan" not in live_part(signed_in(stranger))
        assert "secret-plan" not in live_part(signed_in(stranger), "/?who=all")


class TestARowIsDrawnAgain:
    def test_when_its_job_changes(self, make_job: MakeJob, owner: User, clock: Clock, signed_in: SignIn) -> None:
        job, client = make_job("running"), signed_in(owner)
        assert "SUCCEEDED" not in live_part(client)

        transitions.transition(job, "succeeded", now=clock.forward(seconds=1), message="It is done.")

        assert "SUCCEEDED" in live_part(client)

    def test_after_a_minute(self, make_job: MakeJob, owner: User, clock: Clock, signed_in: SignIn) -> None:
        make_job("running")
        client = signed_in(owner)
        before = live_part(client)

        clock.forward(seconds=60)

        lengths = [re.search(r'<b class="length">([^<]+)', part) for part in (before, live_part(client))]
        assert None not in lengths
        assert len({each[1] for each in lengths if each}) == 2

    def test_when_vertex_ai_stops_answering(
        self, make_job: MakeJob, owner: User, clock: Clock, signed_in: SignIn
    ) -> None:
        job, client = make_job("running"), signed_in(owner)
        assert "last seen" not in live_part(client)

        Scope.objects.update_or_create(
            project=job.project, region=job.region, kind=job.kind,
            defaults={"failing_since": clock.now, "last_error": "503"},
        )  # fmt: skip

        assert "last seen" in live_part(client)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The states of the jobs whose rows are rendered."""
    states: list[str] = []

    def counted(row: BoardRow, look: RowLook, key: str) -> SafeString:
        states.append(row.job.state)
        return draw_row(row, look, key)

    monkeypatch.setattr(board, "draw_row", counted)
    return states


def test_a_second_viewer_costs_no_row(
    make_job: MakeJob, team: Team, teammate: User, signed_in: SignIn, drawn: list[str]
) -> None:
    for state in STATES:
        make_job(state)
    live_part(signed_in(teammate))
    assert sorted(drawn) == sorted(STATES)
    drawn.clear()

    live_part(signed_in(person("another", team, "engineer")))

    assert drawn == []


def test_a_job_that_waits_for_a_persistent_resource_has_a_row_of_each_set_of_teams_for_ten_seconds(
    make_job: MakeJob, team: Team, teammate: User, clock: Clock, signed_in: SignIn, drawn: list[str]
) -> None:
    make_job("queued", resource="night-shift")
    another = person("another", team, "engineer")
    for reader in (teammate, another):
        live_part(signed_in(reader), "/?who=all")
    assert drawn == ["queued"]

    Membership.objects.create(team=Team.objects.create(name="twin"), user=another, role="viewer")
    live_part(signed_in(another), "/?who=all")
    assert drawn == ["queued"] * 2

    clock.forward(seconds=10)
    live_part(signed_in(teammate))
    assert drawn == ["queued"] * 3


def test_a_second_viewer_loads_only_jobs_that_have_changed(
    make_job: MakeJob, team: Team, owner: User, clock: Clock, signed_in: SignIn
) -> None:
    jobs = [make_job(state) for state in STATES]
    live_part(signed_in(owner))
    second = signed_in(person("another", team, "engineer"))

    def loaded() -> set[Job]:
        """Return the jobs that a refresh reads to order and count them, not to draw their rows."""
        with CaptureQueriesContext(connection) as queries:
            live_part(second)
        read = [each["sql"] for each in queries if '"cloned_from_id"' in each["sql"] and '"spec"' not in each["sql"]]
        return {job for job in jobs for sql in read if str(job.pk) in sql or job.pk.hex in sql}

    loaded()  # draws the rows, which read differently to who does not own them
    assert loaded() == set()
    transitions.transition(jobs[2], "succeeded", now=clock.forward(seconds=1), message="It is done.")
    assert loaded() == {jobs[2]}
    clock.forward(seconds=KEPT_SECONDS + 1)
    assert loaded() == set(jobs), "what metrics say of its end is read anew"


def test_a_refresh_of_a_whole_page_on_which_nothing_has_changed_reads_no_jobs(
    make_job: MakeJob, owner: User, clock: Clock, signed_in: SignIn
) -> None:
    jobs = [make_job(state) for state in STATES]
    client = signed_in(owner)
    version = re.search(r'"X-Shown-Version": "(\w+)"', client.get("/").content.decode())
    assert version is not None
    shown = {"HX-Request": "true", VERSION_HEADER: version[1]}

    with CaptureQueriesContext(connection) as queries:
        assert client.get("/", headers=shown).status_code == 204
    assert not [each["sql"] for each in queries if '"cloned_from_id"' in each["sql"] or '"last_error"' in each["sql"]]

    transitions.transition(jobs[2], "succeeded", now=clock.forward(seconds=1), message="It is done.")
    assert client.get("/", headers=shown).status_code == 200
