"""Tests of calls as a team's service account. The test's own IAM Credentials API shows the identity of each call."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.contrib.auth.models import User

from jobs import clients, steps
from jobs.doctor import Status, examine, google
from jobs.models import Job, Team
from jobs.people import team_settings
from jobs.people.members import NotChanged
from tests.domain.conftest import Cloud, RequestJob, look
from tests.support.servers import in_thread

pytestmark = pytest.mark.django_db
VISION, SPEECH, TRAINER = (
    f"{name}@vision-research.iam.gserviceaccount.com" for name in ("vision", "speech", "trainer")
)


class Iam(ThreadingHTTPServer):
    """Gives tokens; `asked` are the accounts that were asked for since it was emptied, each once.

    A token has ended when it is given, so that each call asks for one.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), IamHandler)
        self.asked: set[str] = set()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def take(self) -> set[str]:
        asked, self.asked = self.asked, set()
        return asked


class IamHandler(BaseHTTPRequestHandler):
    server: Iam

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer: dict[str, Any] = {"access_token": "own", "expires_in": 3600, "token_type": "Bearer"}
        if ":generateAccessToken" in self.path:
            account = self.path.rpartition("/")[2].partition(":")[0]
            assert self.headers["Authorization"] == "Bearer own"
            self.server.asked.add(account)
            answer = {"accessToken": f"of-{account}", "expireTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def iam(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, cloud: Cloud) -> Iterator[Iam]:
    """The API, and a key of Trainboard's own account that it accepts."""
    server = Iam()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    account = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "throwaway",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "client_email": "trainboard@p.iam.gserviceaccount.com",
        "token_uri": f"{server.url}/token",
    }
    (tmp_path / "key.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    settings.IAM_ENDPOINT = server.url
    with in_thread(server):
        yield server


def act_as(team: Team, account: str) -> None:
    Team.objects.filter(pk=team.pk).update(acts_as=account)


def test_a_job_keeps_the_account_it_was_requested_with(
    iam: Iam, cloud: Cloud, request_job: RequestJob, team: Team
) -> None:
    act_as(team, VISION)
    job = request_job()
    act_as(team, SPEECH)
    steps.advance(job.pk, clock=cloud.clock)

    assert iam.take() == {VISION}, "it is created"
    cloud.forward(minutes=3)
    look(cloud)
    job.refresh_from_db()
    assert (job.acts_as, job.state) == (VISION, "running")
    assert iam.take() == {VISION}, "it is observed, and its log read"
    steps.cancel(job, by=job.owner, clock=cloud.clock)
    steps.advance(job.pk, clock=cloud.clock)
    assert iam.take() == {VISION}, "it is cancelled"

    other = request_job(name="other")
    steps.advance(other.pk, clock=cloud.clock)
    assert (Job.objects.get(pk=other.pk).acts_as, iam.take()) == (SPEECH, {SPEECH})
    cloud.forward(minutes=3)
    look(cloud)
    assert iam.take() == {VISION, SPEECH}, "a scope is listed once as each account of its jobs"
    assert Job.objects.get(pk=other.pk).state == "running"


def test_a_team_without_an_account_is_trainboards_own(iam: Iam, cloud: Cloud, request_job: RequestJob) -> None:
    steps.advance(request_job().pk, clock=cloud.clock)
    cloud.forward(minutes=3)
    look(cloud)

    assert iam.take() == set()
    assert Job.objects.get().state == "running"


def test_calls_about_a_project_are_made_as_the_account_of_its_teams(team: Team) -> None:
    act_as(team, VISION)
    assert clients.account_of(team.project) == VISION

    Team.objects.create(name="second", project=team.project)
    assert clients.account_of(team.project) == VISION, "Trainboard's own account is not used for a team that has one"

    Team.objects.create(name="third", project=team.project, acts_as=SPEECH)
    assert clients.account_of(team.project) == min(VISION, SPEECH)
    assert clients.account_of("speech-elsewhere") == ""


def test_one_client_is_kept_for_each_account(iam: Iam) -> None:
    assert clients.client(VISION) is clients.client(VISION)
    assert clients.client(VISION) is not clients.client(SPEECH)


def test_only_a_service_account_is_taken(team: Team, admin: User) -> None:
    for wrong in ("ada@example.com", "x@p.iam.gserviceaccount.com/../y", "vision", "é" * 9 + "@gserviceaccount.com"):
        with pytest.raises(NotChanged, match="service account"):
            team_settings.set_project(team, team.project, wrong, by=admin)
    team_settings.set_project(team, team.project, f" {VISION} ", by=admin)
    assert Team.objects.get(pk=team.pk).acts_as == VISION


@pytest.mark.parametrize("denied", [True, False])
def test_the_doctor_checks_that_tokens_are_given(iam: Iam, cloud: Cloud, team: Team, denied: bool) -> None:
    act_as(team, VISION)
    cloud.control("access", {"deny": ["iam.serviceAccounts.getAccessToken"] if denied else []})

    found = {(each.group, each.name): each for each in examine(cloud.now, machine_now=lambda: cloud.now)}
    check = found["Accounts of teams", VISION]

    assert check.status is (Status.FAIL if denied else Status.PASS)
    assert ("--role=roles/iam.serviceAccountTokenCreator" in check.repair) == denied
    assert iam.take() == {VISION}, "permissions in the project are those of the team's account"


def test_the_doctor_checks_buckets_and_service_accounts_as_the_teams_account(
    iam: Iam, cloud: Cloud, request_job: RequestJob, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    act_as(team, VISION)
    job = request_job()
    spec = job.spec | {"jobSpec": job.spec["jobSpec"] | {"serviceAccount": TRAINER}}
    Job.objects.filter(pk=job.pk).update(spec=spec)
    cloud.control("access", {"deny": ["iam.serviceAccounts.actAs", "storage.objects.list"]})
    asked_as = []
    whole = google.platform_client
    monkeypatch.setattr(google, "platform_client", lambda acts_as="": asked_as.append(acts_as) or whole(acts_as))

    found = {(each.group, each.name): each for each in examine(cloud.now, machine_now=lambda: cloud.now)}

    account = found["Service accounts", f"{TRAINER}, as {VISION}"]
    bucket = found[f"Bucket vision-training, as {VISION}", "storage.objects.list"]
    assert (account.status, bucket.status) == (Status.FAIL, Status.WARN)
    for check in (account, bucket):
        assert f"--member=serviceAccount:{VISION} " in check.repair
    assert asked_as == [VISION] * 3, "in the project, in the bucket and on the job's account"
