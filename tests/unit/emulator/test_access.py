"""Tests of requests by other web pages, of the credential where callers cannot be identified, and of private files."""

import http.client
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.replicas.images import SAMPLES
from emulator.state.store import Store
from tests.support.running_emulator import Running, running
from tests.unit.emulator.conftest import JOBS, job_body, log_texts, python, until
from tests.unit.emulator.test_command import ROOT


def ask(emulator: Running, verb: str, path: str, **headers: str) -> tuple[int, str]:
    """Send a request with headers of any name (`_` for `-`); return status and message."""
    address = emulator.url.split("/")[2]
    connection = http.client.HTTPConnection(address, timeout=20)
    try:
        connection.request(verb, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        body = answer.read().decode()
    finally:
        connection.close()
    return answer.status, json.loads(body)["error"]["message"] if answer.status >= 400 else body


def modes(folder: Path) -> dict[str, str]:
    """What others than the owner may do, by path; only where they may do anything."""
    paths = [folder, *folder.rglob("*")]
    loose = [path for path in paths if not path.is_symlink() and path.stat().st_mode & 0o077]
    return {str(path.relative_to(folder)): oct(path.stat().st_mode) for path in loose}


class TestOtherPages:
    """What a page elsewhere can make the browser of our own user send."""

    @pytest.mark.parametrize(
        "headers",
        [
            {"Host": "attacker.example"},
            {"Host": "attacker.example:8900"},
            {"Host": "127.0.0.1.attacker.example"},
            {"Host": "0.0.0.0:8900"},
            {"Host": "[::1"},
            {"Host": ""},
            {"Host": "a b"},
            {"Host": "127.0.0.1:80:80"},
            {"Host": "localhost@attacker.example"},
            {"Host": "attacker.example/@127.0.0.1"},
            {"Host": "localhost.attacker.example"},
            {"Origin": "https://attacker.example"},
            {"Origin": "null"},
            {"Origin": ""},
            {"Origin": "http://127.0.0.1:1"},
            {"Sec_Fetch_Site": "cross-site"},
            {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
            {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
        ],
        ids=str,
    )
    def test_are_refused_and_use_up_no_fault(self, scripted: Running, headers: dict[str, str]) -> None:
        scripted.fault("503", "customJobs.list")

        for verb, path in (("POST", JOBS), ("GET", JOBS), ("POST", "/_emulator/faults"), ("OPTIONS", JOBS)):
            assert ask(scripted, verb, path, **headers)[0] == 403

        assert [plan["struck"] for plan in scripted.truth()["faults"]] == [0]

    def test_may_not_post_by_a_form_though_they_may_link_here(self, scripted: Running) -> None:
        link = {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}

        assert ask(scripted, "GET", "/_emulator/", **link)[0] == 200
        assert ask(scripted, "POST", "/_emulator/", **link)[0] == 403

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost:80", "[::1]:8900", "LOCALHOST", "127.9.9.9:1"])
    def test_are_told_by_the_name_that_they_call(self, scripted: Running, host: str) -> None:
        assert ask(scripted, "GET", JOBS, Host=host)[0] == 200

    @pytest.mark.parametrize("site", ["none", "same-origin"])
    def test_do_not_stop_our_own_page(self, scripted: Running, site: str) -> None:
        assert ask(scripted, "GET", "/_emulator/", Sec_Fetch_Site=site, Origin=scripted.url)[0] == 200


class TestCredential:
    @pytest.fixture
    def demanding(self, tmp_path: Path) -> Iterator[Running]:
        """An emulator as on a system that does not tell whose a connection is."""
        with running(tmp_path / "state", scripted=True, demands_credential=True, is_waited_for=False) as emulator:
            yield emulator

    @pytest.mark.parametrize("path", ["/_emulator/health", "/_emulator/", JOBS, "/storage/v1/b", "/token", "/none"])
    def test_is_demanded_everywhere(self, demanding: Running, path: str) -> None:
        status, message = ask(demanding, "GET", path)

        assert status == 403
        assert "Send the content of the file credential" in message

    def test_lets_in_as_a_bearer_token_and_in_the_address(self, demanding: Running) -> None:
        secret = (demanding.state / "credential").read_text()

        assert ask(demanding, "GET", JOBS, Authorization=f"Bearer {secret}")[0] == 200
        assert demanding.url.endswith(f"/_access/{secret}")
        assert demanding.call("GET", "/_emulator/health")["address"] == demanding.url

    @pytest.mark.parametrize("given", ["Bearer", "Bearer x", "Basic {}", "{}", "Bearer {}x", "Bearer ü"])
    def test_must_be_the_right_one(self, demanding: Running, given: str) -> None:
        secret = (demanding.state / "credential").read_text()

        assert ask(demanding, "GET", JOBS, Authorization=given.format(secret))[0] == 403
        for path in (f"/_access/{secret}x{JOBS}", f"/_access/{JOBS}", f"/_access{JOBS}", f"/x/_access/{secret}{JOBS}"):
            assert ask(demanding, "GET", path)[0] == 403

    def test_does_not_help_other_pages(self, demanding: Running) -> None:
        path = demanding.url.partition("/_access")[2]

        assert ask(demanding, "POST", f"/_access{path}{JOBS}", Origin="https://attacker.example")[0] == 403

    def test_is_new_at_each_start_and_its_owners_only(self, tmp_path: Path) -> None:
        secrets = []
        for _ in range(2):
            with running(tmp_path, scripted=True, demands_credential=True):
                file = tmp_path / "credential"
                assert file.stat().st_mode & 0o777 == 0o600
                secrets.append(file.read_text())
        assert len(set(secrets)) == 2
        assert min(map(len, secrets)) > 40

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is always demanded")
    def test_of_an_earlier_start_is_removed(self, tmp_path: Path) -> None:
        (tmp_path / "credential").write_text("old")

        with running(tmp_path, scripted=True):
            assert not (tmp_path / "credential").exists()

    def test_leads_the_pages_buttons_back(self, demanding: Running) -> None:
        with urllib.request.urlopen(f"{demanding.url}/_emulator/", data=b"do=forget+faults", timeout=20) as answer:
            assert answer.url.startswith(f"{demanding.url}/_emulator/?note=Done")

    def test_is_given_to_replicas(self, tmp_path: Path) -> None:
        code = (
            "import os, urllib.request as r\n"
            "print(r.urlopen(os.environ['STORAGE_EMULATOR_HOST'] + '/storage/v1/b').status)"
        )
        with running(tmp_path / "state", demands_credential=True) as emulator:
            job = emulator.call("POST", JOBS, python(code))

            assert until(lambda: log_texts(emulator, job)) == ["200"]

    def test_is_demanded_by_the_program_when_told_to(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "emulator", "--port", "0", "--state", str(tmp_path), "--demand-credential"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                url = process.stdout.readline().split()[-1]
                with pytest.raises(urllib.error.HTTPError, match="403"):
                    urllib.request.urlopen(f"{url}/_emulator/health", timeout=20)
                secret = (tmp_path / "credential").read_text()
                assert Running(f"{url}/_access/{secret}", tmp_path).call("GET", "/_emulator/health")["status"] == "ok"
            finally:
                process.kill()
            assert "every request must include the credential" in process.stderr.read()
            assert secret not in url


class TestFiles:
    def test_are_the_owners_only_also_those_of_an_earlier_start(self, tmp_path: Path) -> None:
        state = tmp_path / "state"
        for folder in ("buckets/team/models", "work/1/workerpool0-0", "programs"):
            (state / folder).mkdir(parents=True)
        for folder in state.rglob("*"):
            folder.chmod(0o755)
        for file in ("emulator.sqlite3", "emulator.sqlite3-wal", "lock", "buckets/team/models/weights", "work/1/log"):
            (state / file).touch()
            (state / file).chmod(0o644)
        (state / "buckets" / "link").symlink_to(tmp_path / "outside")
        outside = tmp_path / "outside"
        outside.touch(mode=0o644)
        outside.chmod(0o644)
        assert modes(state)

        Store(state).close()

        assert modes(state) == {}
        assert outside.stat().st_mode & 0o777 == 0o644, "a link is not followed"

    def test_of_others_in_the_folder_keep_it_open(self, tmp_path: Path) -> None:
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(0o755)
        (shared / "of somebody else").touch()

        Store(shared).close()

        assert shared.stat().st_mode & 0o777 == 0o755
        assert (shared / "emulator.sqlite3").stat().st_mode & 0o777 == 0o600

    def test_in_a_folder_that_everybody_writes_to_are_private_and_it_stays(self, tmp_path: Path) -> None:
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(0o1777)

        Store(shared).close()
        Store(shared).close()

        assert shared.stat().st_mode & 0o7777 == 0o1777

    def test_that_a_job_writes_are_the_owners_only(self, tmp_path: Path) -> None:
        code = "import pathlib, os; pathlib.Path(os.environ['AIP_MODEL_DIR'], 'w').write_text('x'); print('done')"
        command = [sys.executable, "-m", "emulator", "--port", "0", "--state", str(tmp_path), "--speed", "1000"]
        tmp_path.chmod(0o755)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, umask=0) as process:
            assert process.stdout is not None
            try:
                emulator = Running(process.stdout.readline().split()[-1], tmp_path)
                output = {"outputUriPrefix": "gs://team/out"}
                job = emulator.call("POST", JOBS, python(code, baseOutputDirectory=output))
                until(lambda: log_texts(emulator, job))
                emulator.call("POST", JOBS, job_body(image=next(iter(SAMPLES))))
                until(lambda: list((tmp_path / "work").glob("*/*/app/train.py")))
                until(lambda: not modes(tmp_path), seconds=10)
                assert (tmp_path / "buckets" / "team" / "out" / "model" / "w").exists()
            finally:
                process.kill()
