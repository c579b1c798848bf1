"""Tests of quotas on the compose page: free amounts beside the strategy, and shortages with the command."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.test import Client

from jobs import known_quotas
from jobs.models import QuotaReading, Team
from tests.pages.conftest import SignIn, fields_of, text_of
from tests.support.clock import Clock


def needed(page: str) -> str:
    """Return the first quota metric that the page names."""
    return page.partition('title="aiplatform.googleapis.com/')[2].partition('"')[0]


def test_shows_what_was_free_and_notes_what_is_short(
    engineer: Client, example: dict[str, str], team: Team, clock: Clock
) -> None:
    fields = example | {"run_time": "1 h"}
    metric = needed(engineer.post("/jobs/new/check/", fields).content.decode())
    assert metric
    place = {"project": team.project, "region": fields["region"], "metric": metric}
    row = QuotaReading.objects.create(**place, limit=1_000, used=996, quota_id="Q", read_at=clock.now)
    clock.forward(minutes=10)

    text = text_of(engineer.post("/jobs/new/check/", fields))
    assert "( 4 of 1000 free, read 10 min ago )" in text.replace("(4", "( 4")

    QuotaReading.objects.filter(pk=row.pk).update(used=1_000)
    known_quotas.forget()
    text = text_of(engineer.post("/jobs/new/check/", fields))
    assert f"of {metric} in {fields['region']}: 0 of 1000 free, read at 09:00 UTC on 2 Mar." in text
    assert "gcloud beta quotas preferences create" in text

    clock.forward(hours=24)
    assert timedelta(days=1) < clock.now - row.read_at
    assert "of 1000 free" not in text_of(engineer.post("/jobs/new/check/", fields))


def test_another_team_s_project_is_not_told_of(stranger: User, signed_in: SignIn, team: Team, clock: Clock) -> None:
    browser = signed_in(stranger)
    fields = fields_of(browser.get("/jobs/new/?example=1").content.decode()) | {"run_time": "1 h"}
    metric = needed(browser.post("/jobs/new/check/", fields).content.decode())
    place = {"project": team.project, "region": fields["region"], "metric": metric}
    QuotaReading.objects.create(**place, limit=1_234, used=0, quota_id="Q", read_at=clock.now)

    assert metric
    assert "1234" not in text_of(browser.post("/jobs/new/check/", fields | {"project": team.project}))
