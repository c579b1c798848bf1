"""Tests of Django's admin: teams, people and policies can be edited; jobs and events are read-only."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from jobs import observation
from jobs.models import LogFeed, Policy, RetentionSetting, Scope, SetAsideItem, Team, Template, Upkeep
from jobs.observation.set_aside import SetAside
from jobs.upkeep import retention
from tests.conftest import PASSWORD
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock


@pytest.mark.parametrize("model", ["team", "membership", "policy", "job", "jobevent", "discovery", "externaljob"])
def test_lists_and_opens_every_model(make_job: MakeJob, admin: User, signed_in: SignIn, model: str) -> None:
    job = make_job("running")
    discovery = observation.request_discovery(project=job.project, region=job.region, by=job.owner, now=job.state_since)
    client = signed_in(admin)
    keys = {
        "team": job.team_id,
        "membership": job.team.memberships.get(user=job.owner).pk,
        "policy": job.team.policy.pk,
        "job": job.pk,
        "jobevent": job.events.order_by("pk")[0].pk,
        "discovery": discovery.pk,
        "externaljob": discovery.found.create(kind=job.kind, remote_name="x", display_name="x", state="x", body={}).pk,
    }

    assert client.get(f"/admin/jobs/{model}/").status_code == 200
    assert client.get(f"/admin/jobs/{model}/{keys[model]}/change/").status_code == 200


@pytest.mark.parametrize("model", ["job", "jobevent"])
def test_never_writes_jobs_or_events(make_job: MakeJob, admin: User, signed_in: SignIn, model: str) -> None:
    job = make_job("running")
    key = job.pk if model == "job" else job.events.order_by("pk")[0].pk
    client = signed_in(admin)

    assert client.get(f"/admin/jobs/{model}/add/").status_code == 403
    assert client.post(f"/admin/jobs/{model}/{key}/change/", {"state": "succeeded"}).status_code == 403
    assert client.post(f"/admin/jobs/{model}/{key}/delete/", {"post": "yes"}).status_code == 403


def test_changes_a_policy(team: Team, admin: User, signed_in: SignIn) -> None:
    row = Policy.objects.get(team=team)

    answer = signed_in(admin).post(
        f"/admin/jobs/policy/{row.pk}/change/",
        {"team": team.pk, "ask_over_usd": "25", "refuse_over_usd": "", "regions": '["us-central1"]'},
    )

    row.refresh_from_db()
    assert answer.status_code == 302
    assert row.ask_over_usd == 25
    assert row.regions == ["us-central1"]


def test_is_closed_to_people_who_are_not_staff(stranger: User, owner: User, signed_in: SignIn) -> None:
    for person in (stranger, owner):
        assert signed_in(person).get("/admin/jobs/job/").status_code == 302


@pytest.mark.parametrize("model", ["scope", "logfeed"])
def test_tells_how_the_last_looks_went(admin: User, signed_in: SignIn, model: str) -> None:
    at = {"project": "vision-research", "last_error": "Vertex AI answered 503.", "failures": 2}
    row = (
        LogFeed.objects.create(**at)
        if model == "logfeed"
        else Scope.objects.create(region="r", kind="custom_job", **at)
    )
    client = signed_in(admin)

    assert "Vertex AI answered 503." in client.get(f"/admin/jobs/{model}/").content.decode()
    assert client.get(f"/admin/jobs/{model}/{row.pk}/change/").status_code == 200
    assert client.post(f"/admin/jobs/{model}/{row.pk}/change/", {"failures": 0}).status_code == 403


def test_shows_and_deletes_what_was_set_aside(admin: User, stranger: User, signed_in: SignIn) -> None:
    SetAside("logs of vision-research", now=timezone.now()).put("line 7", "DataError: value too long")
    row, client = SetAsideItem.objects.get(), signed_in(admin)

    assert "DataError: value too long" in client.get("/admin/jobs/setasideitem/").content.decode()
    assert client.get(f"/admin/jobs/setasideitem/{row.pk}/change/").status_code == 200
    assert client.post(f"/admin/jobs/setasideitem/{row.pk}/change/", {"reason": "x"}).status_code == 403
    assert signed_in(stranger).get("/admin/jobs/setasideitem/").status_code == 302
    assert signed_in(stranger).post(f"/admin/jobs/setasideitem/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    assert SetAsideItem.objects.exists()
    assert client.post(f"/admin/jobs/setasideitem/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not SetAsideItem.objects.exists()


def test_sets_how_long_rows_are_kept(admin: User, stranger: User, signed_in: SignIn) -> None:
    given = {"kind": "log_lines", "days": "7"}
    assert signed_in(stranger).post("/admin/jobs/retentionsetting/add/", given).status_code == 302
    assert not RetentionSetting.objects.exists()
    client = signed_in(admin)

    assert client.post("/admin/jobs/retentionsetting/add/", given | {"days": "0"}).status_code == 200, (
        "said to be wrong"
    )
    assert client.post("/admin/jobs/retentionsetting/add/", given).status_code == 302

    assert retention.days_kept()["log_lines"] == 7
    assert "log lines of replicas" in client.get("/admin/jobs/retentionsetting/").content.decode()


def test_an_old_session_needs_the_password_again(
    admin: User, owner: User, stranger: User, signed_in: SignIn, clock: Clock, settings: Any
) -> None:
    client, outside, address = signed_in(admin), signed_in(stranger), f"/admin/auth/user/{owner.pk}/change/"
    form = {"username": owner.username, "email": "new@example.com", "is_active": "on", "is_superuser": "on"}
    form |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)

    assert client.get(address).status_code == 200
    assert "Confirm that it is you" in text_of(client.post(address, form))
    assert client.post(address, form | {"confirm_password": "wrong"}).status_code == 422
    assert outside.post(address, form).status_code == 302
    owner.refresh_from_db()
    assert (owner.email == "new@example.com", owner.is_superuser) == (False, False)
    assert client.post(address, form | {"confirm_password": PASSWORD}).status_code == 302
    owner.refresh_from_db()
    assert (owner.email, owner.is_superuser) == ("new@example.com", True)
    clock.forward(seconds=settings.CONFIRM_AGE.total_seconds() + 1)
    assert "Confirm that it is you" not in text_of(client.post("/admin/logout/"))


def test_tells_what_the_last_prune_removed(admin: User, signed_in: SignIn) -> None:
    row = Upkeep.objects.create(name="prune", result={"sessions": 12})
    client = signed_in(admin)

    assert "upkeep: prune" in client.get("/admin/jobs/upkeep/").content.decode()
    assert "sessions" in client.get(f"/admin/jobs/upkeep/{row.pk}/change/").content.decode()


def test_shows_templates(team: Team, owner: User, admin: User, signed_in: SignIn) -> None:
    now = timezone.now()
    Template.objects.create(
        team=team,
        name="nightly",
        kind="custom_job",
        spec={},
        region="r",
        expected_seconds=60,
        created_by=owner,
        created_at=now,
        updated_at=now,
    )

    assert "nightly" in signed_in(admin).get("/admin/jobs/template/").content.decode()


def test_has_the_sites_icon(admin: User, signed_in: SignIn) -> None:
    assert 'rel="icon" href="/static/trainboard/mark' in signed_in(admin).get("/admin/").content.decode()
