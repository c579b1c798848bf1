"""Tests of every command against a live server: its output, also as JSON, and its exit code."""

import json
import re
import shlex
import stat
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from jobs.budgets import set_ceiling
from jobs.clock import database_now
from jobs.models import ApiToken, Fallback, Job, LogLine, Team
from tests.cli.conftest import WAY, Terminal, move
from tests.support import waiting
from tests.support.api import token_of

pytestmark = pytest.mark.django_db(transaction=True)
SUBMIT = ("submit", "job.yaml", "--expected", "3 min")


class TestLogin:
    def test_keeps_a_token_that_only_its_user_can_read(
        self, new_terminal: Callable[..., Terminal], owner: User, live_server: object
    ) -> None:
        shell, url, token = new_terminal(None), str(live_server), token_of(owner)

        assert shell.run("list").code == 2
        ran = shell.run("login", url, typed=f"{token}\n")

        kept = shell.folder / ".config/trainboard/credentials.json"
        assert ran.code == 0, ran.err
        assert "Signed in as owner" in ran.out
        assert token not in ran.out + ran.err
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert shell.run("list").code == 0

    def test_does_not_keep_a_token_that_does_not_work(
        self, new_terminal: Callable[..., Terminal], live_server: object
    ) -> None:
        shell = new_terminal(None)

        assert shell.run("login", str(live_server), typed="tb_nothing\n").code == 7
        assert not (shell.folder / ".config").exists()

    def test_sends_no_token_over_an_open_connection(self, new_terminal: Callable[..., Terminal]) -> None:
        ran = new_terminal(None).run("login", "http://trainboard.example.org", typed="tb_x\n")

        assert ran.code == 2
        assert "not encrypted" in ran.err


class TestSubmit:
    def test_requests_a_job(self, terminal: Terminal) -> None:
        ran = terminal.run(*SUBMIT, "--json")

        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["job"]["id"] == str(Job.objects.get().pk)
        assert (Job.objects.get().display_name, Job.objects.get().expected_seconds) == ("job", 180)

    def test_caps_what_the_job_may_cost(self, terminal: Terminal) -> None:
        assert terminal.run(*SUBMIT, "--cap", "40").code == 0
        assert Job.objects.get().cap_usd == 40

        ran = terminal.run(*SUBMIT, "--cap", "a lot")
        assert ran.code != 0
        assert "cap_usd" in ran.err

    def test_names_the_ceiling_that_refuses_a_job(self, terminal: Terminal, team: Team, admin: User) -> None:
        set_ceiling(team, "gpus", Decimal(0), by=admin, reason="agreed", now=database_now())

        ran = terminal.run(*SUBMIT)

        assert ran.code != 0
        assert "The ceiling of the team vision for GPUs at once is 0. In use: 0. It needs 1." in ran.err + ran.out
        assert "Only a site admin can change a ceiling." in ran.err + ran.out
        assert not Job.objects.exists()

    def test_sends_what_trainboard_does_not_know_when_it_is_confirmed(self, terminal: Terminal) -> None:
        file = terminal.folder / "job.yaml"
        file.write_text(file.read_text().replace("a2-highgpu-1g", "n5-standard-8").replace("_A100", "_B300"))

        named: list[str] = []
        ran = terminal.run(*SUBMIT)
        while ran.code == 1 and len(named) < 2:
            assert not Job.objects.exists()
            named += [shlex.split(each)[0] for each in re.findall(r"--confirm ('[^']+'|[^ )]+)\)", ran.err)]
            ran = terminal.run(*SUBMIT, *(word for each in named for word in ("--confirm", each)))

        assert ran.code == 0, ran.err
        assert {each.rpartition("=")[2] for each in named} == {"n5-standard-8", "NVIDIA_TESLA_B300"}
        job = Job.objects.get()
        (pool,) = job.spec["jobSpec"]["workerPoolSpecs"]
        machine = {"machineType": "n5-standard-8", "acceleratorType": "NVIDIA_TESLA_B300", "acceleratorCount": 1}
        assert pool["machineSpec"] == machine
        assert job.state == "awaiting_approval", "what has no price needs an approval"

    def test_requests_further_attempts(self, terminal: Terminal) -> None:
        further = ("--then", "flex-start", "--then", "same@europe-west4", "--max-wait", "6h", "--max-total", "40")
        ran = terminal.run(*SUBMIT, *further)

        assert ran.code == 0, ran.err
        plan = Fallback.objects.get().plan
        assert [(step["strategy"], step["region"]) for step in plan["steps"]] == [
            ("flex_start", ""),
            ("", "europe-west4"),
        ]
        assert (plan["wait_hours"], plan["max_usd"]) == (6, "40")

    @pytest.mark.parametrize("limit", [("--max-wait", "6h"), ("--max-total", "40")])
    def test_refuses_limits_of_further_attempts_without_one(self, terminal: Terminal, limit: tuple[str, str]) -> None:
        ran = terminal.run(*SUBMIT, *limit)

        assert (ran.code, Job.objects.exists()) == (2, False)
        assert "Give --then, too." in ran.err

    def test_prints_findings_at_their_line(self, terminal: Terminal) -> None:
        ran = terminal.run("submit", "bad.yaml", "--expected", "3m")

        line = (terminal.folder / "bad.yaml").read_text().splitlines().index("    acceleratorCount: 3") + 1
        assert ran.code == 1
        places = (f"bad.yaml:{line}: error:", f"bad.yaml:{line - 1}: error:")
        assert any(text.startswith(places) for text in ran.err.splitlines())
        assert not Job.objects.exists()

    @pytest.mark.parametrize(
        ("end", "code", "words"),
        [("succeeded", 0, "job: succeeded"), ("failed", 3, "job: failed"), ("cancelled", 4, "job: cancelled")],
    )
    def test_exits_with_the_outcome(self, terminal: Terminal, end: str, code: int, words: str) -> None:
        process = terminal.start(*SUBMIT, "--wait")
        waiting.until(lambda: Job.objects.exists(), seconds=30)
        move(Job.objects.get(), *WAY, end)
        out, err = process.communicate(timeout=60)

        assert process.returncode == code, err
        assert words in out
        assert "It is running now." in out

    def test_a_rejected_job_has_its_own_code(self, terminal: Terminal) -> None:
        process = terminal.start("submit", "dear.yaml", "--expected", "200h", "--wait")
        waiting.until(lambda: Job.objects.exists(), seconds=30)
        move(Job.objects.get(), "rejected")
        process.communicate(timeout=60)

        assert process.returncode == 5

    def test_continues_with_its_job_after_it_was_killed(self, terminal: Terminal) -> None:
        first = terminal.start(*SUBMIT, "--wait")
        waiting.until(lambda: Job.objects.exists(), seconds=30)
        first.kill()
        first.communicate()

        again = terminal.start(*SUBMIT, "--wait")
        move(Job.objects.get(), *WAY, "succeeded")
        out, _ = again.communicate(timeout=60)

        assert again.returncode == 0
        assert f"continues with {Job.objects.get().pk}" in out
        terminal.run(*SUBMIT)
        assert Job.objects.count() == 2, "after its outcome was told, the same command is another job"

    def test_a_given_key_requests_one_job_and_no_other(self, terminal: Terminal) -> None:
        for _ in range(2):
            assert terminal.run(*SUBMIT, "--key", "run-7").code == 0
        ran = terminal.run("submit", "job.yaml", "--expected", "4m", "--key", "run-7")

        assert Job.objects.count() == 1
        assert ran.code == 1
        assert "Idempotency-Key was used for another request" in ran.err

    def test_stops_waiting_at_the_timeout(self, terminal: Terminal) -> None:
        ran = terminal.run(*SUBMIT, "--wait", "--timeout", "1s")

        assert ran.code == 8
        assert "has not ended" in ran.err

    @pytest.mark.parametrize(("name", "words"), [("nothing.yaml", "Cannot read"), ("image", "not UTF-8 text")])
    def test_says_which_file_cannot_be_read(self, terminal: Terminal, name: str, words: str) -> None:
        (terminal.folder / "image").write_bytes(b"\xff\xfe\x00\x80")
        ran = terminal.run("submit", name, "--expected", "3m")

        assert ran.code == 2
        assert words in ran.err


class TestOthers:
    @pytest.fixture
    def job(self, terminal: Terminal) -> Job:
        terminal.run("submit", "dear.yaml", "--expected", "200h")
        return Job.objects.get()

    def test_list_estimate_and_diagnose(self, terminal: Terminal, job: Job) -> None:
        assert str(job.pk) in terminal.run("list", "--state", "to-approve").out
        assert json.loads(terminal.run("list", "--state", "running", "--json").out) == []
        refused = terminal.run("list", "--team", "nosuch", "--json")
        assert (refused.code, json.loads(refused.out)["problem"]["status"]) == (1, 422)
        assert "There is no team 'nosuch'; the nearest is 'vision'." in refused.err
        estimate = terminal.run("estimate", "dear.yaml", "--expected", "200h").out
        assert "* Spot" in estimate
        assert "needs an approval" in estimate
        assert "- to -" not in estimate
        assert terminal.run("estimate", "bad.yaml", "--expected", "1h").code == 1
        assert "awaiting_approval" in terminal.run("diagnose", str(job.pk)).out

    def test_diagnose_says_why_a_job_failed(self, terminal: Terminal) -> None:
        terminal.run(*SUBMIT)
        job = Job.objects.get()
        error = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different one."}
        move(job, *WAY[:3], "failed", error=error)

        ran = terminal.run("diagnose", str(job.pk))

        assert len(ran.out.splitlines()) > 2
        assert terminal.run("watch", str(job.pk)).code == 3

    def test_an_approver_decides_and_the_owner_may_not(
        self, terminal: Terminal, new_terminal: Callable[..., Terminal], job: Job, approver: User
    ) -> None:
        theirs = new_terminal(approver)

        assert terminal.run("approve", str(job.pk)).code == 7
        assert theirs.run("approve", str(job.pk), "--amount", "1").code == 1
        ran = theirs.run("approve", str(job.pk), "--comment", "go")
        assert (ran.code, Job.objects.get().state) == (0, "approved"), ran.err
        assert theirs.run("reject", str(job.pk), "--comment", "too late").code == 1
        ran = terminal.run("cancel", str(job.pk))
        assert (ran.code, ran.out.strip()) == (0, f"{job.display_name}: withdrawn")
        assert Job.objects.get().state == "withdrawn"

    def test_a_job_that_was_sent_keeps_its_state_until_it_has_ended(self, terminal: Terminal, job: Job) -> None:
        Job.objects.update(state="running", attempted_at=job.requested_at, remote_name="projects/1/locations/x/jobs/1")

        assert terminal.run("cancel", str(job.pk)).out.strip() == f"{job.display_name}: running, cancellation requested"
        ran = terminal.run("cancel", str(job.pk))
        assert (ran.code, ran.out) == (1, "")
        assert "The cancellation of the job is on its way." in ran.err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [([], "the following arguments are required: --comment"), (["--comment", " "], "a rejection needs a reason")],
    )
    def test_a_rejection_needs_a_reason(
        self,
        new_terminal: Callable[..., Terminal],
        job: Job,
        approver: User,
        arguments: list[str],
        message: str,
    ) -> None:
        ran = new_terminal(approver).run("reject", str(job.pk), *arguments)

        assert (ran.code, Job.objects.get().state) == (2, "awaiting_approval")
        assert message in ran.err

    def test_a_stranger_sees_nothing(
        self, terminal: Terminal, new_terminal: Callable[..., Terminal], job: Job, stranger: User
    ) -> None:
        theirs = new_terminal(stranger)

        assert json.loads(theirs.run("list", "--json").out) == []
        assert [theirs.run(verb, str(job.pk)).code for verb in ("watch", "logs", "cancel", "diagnose")] == [7] * 4

    def test_logs_are_printed_without_what_steers_a_terminal(self, terminal: Terminal, job: Job) -> None:
        LogLine.objects.create(job=job, timestamp=database_now(), insert_id="1", replica="r", message="a\x1b[2Jb")
        move(job, "withdrawn")

        ran = terminal.run("logs", str(job.pk), "-f")

        assert ran.code == 0
        assert "a\N{REPLACEMENT CHARACTER}[2Jb" in ran.out

    def test_a_revoked_token_is_a_sentence(self, terminal: Terminal) -> None:
        ApiToken.objects.update(revoked_at=database_now())

        ran = terminal.run("list")

        assert ran.code == 7
        assert "valid API token" in ran.err
        assert "Traceback" not in ran.err
