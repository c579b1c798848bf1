"""Tests of the doctor against a real emulator: each fault is found with its remedy, and hides no other."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils.translation import override
from redis import Redis

from jobs import doctor, stages
from jobs.doctor import Check, Status, run, site
from jobs.doctor.permissions import PERMISSIONS, SERVICES
from jobs.models import Job, Team, Upkeep
from jobs.texts import is_translatable
from jobs.translations import translated
from jobs.upkeep.heartbeats import record_heartbeat
from tests.domain.conftest import Cloud, RequestJob
from tests.support.clock import Clock
from tests.support.openid import openid_server

pytestmark = pytest.mark.both_databases

ACCOUNT = "trainer@vision-research.iam.gserviceaccount.com"


@pytest.fixture(autouse=True)
def _redis_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redis, "set", lambda self, *_args, **_options: True)


@pytest.fixture
def processes(team: Team, clock: Clock) -> None:
    record_heartbeat("worker@a", "worker", queues=["celery", "sending", "messages"], now=clock.now)
    record_heartbeat("beat@a", "beat", now=clock.now)
    Upkeep.objects.create(name="quotas", answered_at=clock.now, due_at=clock.now)
    stages.sweep(clock.clock, {})


def run_as(job: Job, account: str) -> None:
    spec = job.spec | {"jobSpec": job.spec["jobSpec"] | {"serviceAccount": account}}
    Job.objects.filter(pk=job.pk).update(spec=spec)


def examine(cloud: Cloud) -> dict[tuple[str, str], Check]:
    found = doctor.examine(cloud.now, machine_now=lambda: cloud.now)
    by_name = {(each.group, each.name): each for each in found}
    assert len(by_name) == len(found)
    return by_name


def bad(found: dict[tuple[str, str], Check]) -> dict[str, Status]:
    """Return what did not pass; the emulator's answers carry the real time, the tests' clock stands in March."""
    return {name: each.status for (_, name), each in found.items() if each.status is not Status.PASS} | {
        "clock": Status.FAIL
    }


def test_a_site_with_everything_passes(cloud: Cloud, processes: None, request_job: RequestJob) -> None:
    run_as(request_job(), ACCOUNT)
    found = examine(cloud)

    assert bad(found) == {"clock": Status.FAIL}
    project = "Project vision-research"
    assert {name for group, name in found if group == project} == {
        *SERVICES, *(each.name for each in PERMISSIONS), "us-central1"
    }  # fmt: skip
    assert found["Service accounts", ACCOUNT].status is Status.PASS
    assert found["Bucket vision-training", "storage.objects.list"].status is Status.PASS


def test_each_missing_permission_names_the_command(cloud: Cloud, processes: None) -> None:
    missing = ["aiplatform.customJobs.create", "monitoring.timeSeries.list", "storage.objects.list"]
    cloud.control("access", {"deny": missing, "disable": ["logging.googleapis.com"]})
    found = examine(cloud)

    assert bad(found) == {
        "aiplatform.customJobs.create": Status.FAIL,
        "monitoring.timeSeries.list": Status.WARN,
        "storage.objects.list": Status.WARN,
        "logging.googleapis.com": Status.FAIL,
        "clock": Status.FAIL,
    }
    assert found["Project vision-research", missing[0]].repair == (
        "gcloud projects add-iam-policy-binding vision-research --member=serviceAccount:ACCOUNT"
        " --role=roles/aiplatform.user"
    )
    assert found["Project vision-research", "logging.googleapis.com"].repair == (
        "gcloud services enable logging.googleapis.com --project=vision-research"
    )


def test_an_account_that_may_not_be_used_fails(cloud: Cloud, processes: None, request_job: RequestJob) -> None:
    run_as(request_job(), ACCOUNT)
    cloud.control("access", {"deny": ["iam.serviceAccounts.actAs"]})

    check = examine(cloud)["Service accounts", ACCOUNT]

    assert check.status is Status.FAIL
    assert "--role=roles/iam.serviceAccountUser" in check.repair


def test_one_failing_check_hides_no_other(
    cloud: Cloud, processes: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(*_: Any) -> None:
        raise RuntimeError("secret-token")

    monkeypatch.setattr(site, "billing_client", explode)
    cloud.fail("projects.testIamPermissions", "503", times=5)
    cloud.fail("services.batchGet", "html", times=5)
    found = examine(cloud)

    assert found["This site", "prices"].status is Status.FAIL
    assert "secret-token" not in found["This site", "prices"].detail
    assert found["Project vision-research", "permissions"].status is Status.FAIL
    assert found["Project vision-research", "services"].status is Status.WARN
    assert found["Project vision-research", "us-central1"].status is Status.PASS


def test_says_so_when_google_is_unreachable_and_ends_soon(
    cloud: Cloud, processes: None, unreachable: None, settings: Any
) -> None:
    found = examine(cloud)

    assert found["Project vision-research", "us-central1"].status is Status.FAIL
    assert found["This site", "database"].status is Status.PASS


def test_a_late_check_has_no_time_left(cloud: Cloud, processes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MAX_SECONDS", 0)

    found = examine(cloud)

    assert found["Project vision-research", "permissions"].status is Status.FAIL
    assert found["This site", "migrations"].status is Status.PASS


def test_finds_what_is_wrong_with_the_site(cloud: Cloud, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "WARN_BYTES", 2**62)
    monkeypatch.setattr(site, "MAX_HEARTBEAT_AGE", timedelta(0))
    checks = doctor.examine(cloud.now, machine_now=lambda: cloud.now + timedelta(seconds=3))
    found = {each.name: each for each in checks if each.group == "This site"}

    assert found["beat"].repair == "celery -A dashboard.celery beat"
    assert found["worker for sending"].status is Status.FAIL
    assert found["clock"].status is Status.WARN
    assert "disk" not in found or found["disk"].status is Status.WARN


def test_an_open_list_fails_beside_another_team(team: Team, other_team: Team, clock: Clock) -> None:
    (found,) = site.check_teams(clock.clock.now())
    assert (found.status, found.detail) == (Status.FAIL, f"Empty lists allow everything to {other_team}, {team}.")

    Team.objects.filter(pk=team.pk).update(is_closed=True)
    other_team.delete()
    assert [each.status for each in site.check_teams(clock.clock.now())] == [Status.PASS]
    Team.objects.filter(pk=team.pk).update(is_closed=False)
    assert [each.status for each in site.check_teams(clock.clock.now())] == [Status.PASS], (
        "one team has nobody to take from"
    )


class TestHourly:
    def test_keeps_the_result_once_an_hour_and_when_asked(self, cloud: Cloud, processes: None) -> None:
        doctor.examine_when_due(cloud.now, machine_now=lambda: cloud.now)
        row = Upkeep.objects.get(name=doctor.UPKEEP)
        checks = [doctor.from_json(each) for each in row.result["checks"]]
        assert row.answered_at == cloud.now
        assert any(each.name == "Redis" and each.status is Status.PASS for each in checks)
        assert [each for each in checks if each.detail.endswith(".") and not is_translatable(each.detail)] == []
        with override("es"):
            told = {translated(each.name): translated(each.detail) for each in checks}
        assert told["proceso de sending"] == "Se está ejecutando."

        cloud.forward(minutes=10)
        doctor.examine_when_due(cloud.now, machine_now=lambda: cloud.now)
        row.refresh_from_db()
        assert row.answered_at == cloud.now - timedelta(minutes=10)

        doctor.request_examination(cloud.now)
        doctor.examine_when_due(cloud.now, machine_now=lambda: cloud.now)
        row.refresh_from_db()
        assert row.answered_at == cloud.now


class TestCommand:
    def run(self, *arguments: str) -> tuple[int, str]:
        out, code = StringIO(), 0
        try:
            call_command("doctor", *arguments, stdout=out)
        except SystemExit as end:
            code = int(str(end.code))
        return code, out.getvalue()

    def test_says_what_fails_and_exits_with_one(self, cloud: Cloud, processes: None) -> None:
        cloud.control("access", {"deny": ["aiplatform.customJobs.list"]})

        code, text = self.run()

        assert code == 1
        assert "FAIL  Project vision-research: aiplatform.customJobs.list. Missing." in text
        assert "PASS" not in text

    def test_writes_json(self, cloud: Cloud, processes: None) -> None:
        code, text = self.run("--json")
        whole = json.loads(text)

        assert code == (1 if whole["counts"]["fail"] else 0)
        assert sum(whole["counts"].values()) == len(whole["checks"]) > 30
        assert {"group", "name", "status", "detail", "repair"} == set(whole["checks"][0])


def test_reads_the_document_of_each_sign_in_provider(settings: Any, clock: Clock) -> None:
    with openid_server() as good, openid_server() as bad:
        bad.replies["/.well-known/openid-configuration"] = (200, b"no json")
        settings.SIGN_IN_PROVIDERS = (good.provider(), bad.provider(key="sso", name="SSO"))

        found = {check.name: check for check in site.check_sign_in(clock.now)}

    assert {name: check.status for name, check in found.items()} == {
        "sign-in with Corp": Status.PASS,
        "sign-in with SSO": Status.FAIL,
    }
    assert "did not return JSON" in found["sign-in with SSO"].detail
    assert bad.issuer in found["sign-in with SSO"].repair
