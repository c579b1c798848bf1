"""Tests of `manage.py jobspec`: exit codes, output, and the one subcommand that writes rows."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from jobs.models import AllowedResource, Job, Team
from jobs.states import JobState

GOOD = """
workerPoolSpecs:
- machineSpec:
    machineType: n1-standard-4
  replicaCount: 1
  containerSpec:
    imageUri: us-docker.pkg.dev/vision/train/penguins:1
scheduling:
  timeout: 3600s
"""


class Ran:
    """What a command printed, and its exit code."""

    def __init__(self, *arguments: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.code: Any = 0
        try:
            call_command("jobspec", *arguments, stdout=out, stderr=err)
        except SystemExit as left:
            self.code = left.code
        self.out, self.err = out.getvalue(), err.getvalue()


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "train.yaml"
    path.write_text(GOOD)
    return str(path)


class TestCheck:
    def test_a_valid_file_leaves_with_0(self, good: str) -> None:
        ran = Ran("check", good)

        assert ran.code == 0
        assert "valid: custom job" in ran.out

    def test_findings_that_refuse_leave_with_1_and_their_line(self, tmp_path: Path) -> None:
        path = tmp_path / "bad.yaml"
        path.write_text(GOOD.replace("replicaCount: 1", "replicaCount: 2"))

        ran = Ran("check", str(path))

        assert ran.code == 1
        assert f"{path}:5: error: jobSpec.workerPoolSpecs[0].replicaCount:" in ran.out

    def test_what_is_no_job_leaves_with_2_and_others_are_still_read(self, tmp_path: Path, good: str) -> None:
        path = tmp_path / "bad.bin"
        path.write_bytes(b"\x00\x01")

        ran = Ran("check", str(path), good, "--json")

        assert ran.code == 2
        assert [report["valid"] for report in json.loads(ran.out)] == [False, True]

    def test_a_file_that_cannot_be_opened_is_2(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="Cannot read") as refusal:
            call_command("jobspec", "check", str(tmp_path / "none.yaml"))

        assert refusal.value.returncode == 2

    def test_json_tells_format_kind_findings_and_body(self, good: str) -> None:
        (report,) = json.loads(Ran("check", good, "--json", "--region", "europe-west4").out)

        assert (report["name"], report["format"], report["kind"]) == (good, "gcloud-yaml", "custom_job")
        assert report["region"] == "europe-west4"
        assert report["body"]["displayName"] == "train"
        assert report["body"]["jobSpec"]["scheduling"] == {"timeout": "3600s"}
        keys = {"code", "severity", "field", "message", "remedy", "line", "source", "read", "job", "confirm"}
        assert all(set(finding) == keys for finding in report["findings"])
        assert "name_assumed" in {finding["code"] for finding in report["findings"]}

    def test_a_template_is_valid_but_not_ready_and_names_its_placeholders(self, tmp_path: Path) -> None:
        path = tmp_path / "template.yaml"
        path.write_text(GOOD.replace("n1-standard-4", "${MACHINE}").replace("replicaCount: 1", "replicaCount: ${N}"))

        ran = Ran("check", str(path), "--json")

        (report,) = json.loads(ran.out)
        pool = "jobSpec.workerPoolSpecs[0]"
        assert ran.code == 1
        assert (report["valid"], report["ready"]) == (True, False)
        assert report["placeholders"] == [f"{pool}.machineSpec.machineType", f"{pool}.replicaCount"]

    def test_a_pool_that_nobody_has_seen_is_an_advice(self, tmp_path: Path) -> None:
        path = tmp_path / "pool.yaml"
        path.write_text(GOOD + "persistentResourceId: night-shift\n")

        ran = Ran("check", str(path), "--json")

        assert ran.code == 0, ran.out

    def test_standard_input_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))

        assert Ran("check", "-").code == 0

    def test_a_config_file_is_found_beside_its_command_and_nowhere_else(self, tmp_path: Path, good: str) -> None:
        command = tmp_path / "submit.sh"
        command.write_text("gcloud ai custom-jobs create --region=us-central1 --display-name=x --config=train.yaml\n")
        inside = tmp_path / "inside"
        inside.mkdir()
        (inside / "submit.sh").write_text(command.read_text().replace("train.yaml", "../train.yaml"))

        assert Ran("check", str(command)).code == 0
        assert "config_elsewhere" in Ran("check", str(inside / "submit.sh")).out


class TestConvert:
    @pytest.mark.parametrize(
        ("to", "words"),
        [
            ("rest", '"machineType": "n1-standard-4"'),
            ("gcloud-yaml", "# gcloud ai custom-jobs create"),
            ("gcloud", "--config=/dev/stdin"),
            ("python", "from google.cloud import aiplatform"),
            ("curl", "curl -X POST"),
        ],
    )
    def test_writes_every_format(self, good: str, to: str, words: str) -> None:
        ran = Ran("convert", good, "--to", to)

        assert ran.code == 0
        assert words in ran.out
        assert "name_assumed" in ran.err

    def test_says_where_gcloud_has_no_command(self, tmp_path: Path) -> None:
        path = tmp_path / "p.json"
        path.write_text('{"displayName": "x", "trainingTaskInputs": {"workerPoolSpecs": []}}')

        with pytest.raises(CommandError, match="training pipelines"):
            call_command("jobspec", "convert", str(path), "--to", "gcloud")


class TestSeveral:
    SCRIPT = "gcloud ai custom-jobs create --region=us-central1 --display-name=night --config=$(CONFIG)\n"
    TWO = f"displayName: a\njobSpec:{GOOD.replace(chr(10), chr(10) + '  ')}\n---\ndisplayName: b\njobSpec: {{}}\n"

    def test_a_script_is_read_with_the_file_that_it_names(self, tmp_path: Path, good: str) -> None:
        (tmp_path / "scripts").mkdir()
        script = tmp_path / "scripts" / "run.sh"
        for named in ("train.yaml", "$(CONFIG)"):
            script.write_text(self.SCRIPT.replace("$(CONFIG)", named))

            ran = Ran("convert", good, str(script), "--to", "rest")

            assert ran.code == 0
            assert json.loads(ran.out)["displayName"] == "night"
            (report,) = json.loads(Ran("check", str(script), good, "--json").out)
            assert report["name"] == str(script)

    def test_of_several_jobs_one_is_chosen(self, tmp_path: Path, owner: User) -> None:
        path = tmp_path / "two.yaml"
        path.write_text(self.TWO)

        for verb in (["convert", "--to", "rest"], ["submit", "--as", "owner"]):
            with pytest.raises(CommandError, match="contains several jobs: 1 a, 2 b"):
                call_command("jobspec", *verb, str(path))
        assert not Job.objects.exists()
        assert Ran("submit", str(path), "--as", "owner", "--job", "a").code == 0
        assert Job.objects.get().display_name == "a"
        assert json.loads(Ran("convert", str(path), "--to", "rest", "--job", "2").out)["displayName"] == "b"
        (report,) = json.loads(Ran("check", str(path), "--json").out)
        assert report["jobs"] == ["a", "b"]

    def test_files_that_do_not_name_each_other_are_not_one_job(self, tmp_path: Path, good: str) -> None:
        other = tmp_path / "other.yaml"
        other.write_text(GOOD)

        with pytest.raises(CommandError, match="Several of these files are jobs"):
            call_command("jobspec", "convert", good, str(other), "--to", "rest")


class TestSubmit:
    def test_requests_the_job_for_the_team_of_the_user(self, good: str, team: Team, owner: User) -> None:
        ran = Ran("submit", good, "--as", "owner", "--hours", "0.5")

        job = Job.objects.get()
        assert ran.code == 0
        assert ran.out.split() == [str(job.pk), job.state]
        assert (job.owner, job.team, job.project, job.region) == (owner, team, team.project, team.default_region)
        assert job.expected_seconds == 1800
        assert job.state in (JobState.APPROVED, JobState.AWAITING_APPROVAL)

    def test_requests_it_once_for_one_request_key(self, good: str, owner: User) -> None:
        first, second = (Ran("submit", good, "--as", "owner", "--request-key", "k") for _ in range(2))

        assert first.out == second.out
        assert Job.objects.count() == 1

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (("n1-standard-4", "${MACHINE}"), 1),
            (("replicaCount: 1", "replicaCount: 2"), 1),
            (("workerPoolSpecs", "workerPoolSpec"), 1),
            (("3600s", "\0"), 2),
        ],
    )
    def test_refuses_what_is_wrong_or_a_template(
        self, tmp_path: Path, owner: User, change: tuple[str, str], code: int
    ) -> None:
        path = tmp_path / "bad.yaml"
        path.write_text(GOOD.replace(*change))

        ran = Ran("submit", str(path), "--as", "owner")

        assert ran.code == code
        assert ran.err
        assert not Job.objects.exists()

    def test_refuses_people_without_the_right(self, good: str, owner: User, stranger: User) -> None:
        for arguments in (
            ["--as", "nobody"],
            ["--as", "stranger", "--team", "vision"],
            ["--as", "owner", "--hours", "0"],
        ):
            with pytest.raises(CommandError):
                call_command("jobspec", "submit", good, *arguments)

        assert not Job.objects.exists()

    def test_runs_in_a_further_project_of_the_team(self, good: str, owner: User, team: Team) -> None:
        AllowedResource.objects.create(team=team, kind="project", name="vision-two")

        call_command("jobspec", "submit", good, "--as", "owner", "--project", "vision-two")

        assert Job.objects.get().project == "vision-two"

    def test_refuses_another_project_than_the_teams(self, good: str, owner: User) -> None:
        ran = Ran("submit", good, "--as", "owner", "--project", "elsewhere")

        assert ran.code == 1
        assert "The team may not use the project elsewhere. Choose vision-research" in ran.err
        assert not Job.objects.exists()
