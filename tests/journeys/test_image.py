"""Tests of the container image without a container engine: its files and commands, run as an unprivileged user."""

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
import requests
import yaml

from dashboard.management.supervisor import ports
from tests.support import dockerfile, postgres, redis, samples, waiting, wheel
from tests.support.blackhole import Blackhole
from tests.support.environments import ROOT, environment
from tests.support.running_emulator import Running
from tests.support.running_emulator import running as run_emulator

NOBODY = 65534
PACKAGES = sysconfig.get_paths()["purelib"]
BUILD, IMAGE = dockerfile.stages(ROOT / "Dockerfile")
PEOPLE = """
from django.contrib.auth.models import User
from jobs.models import Membership, Policy, Team
team = Team.objects.create(name="vision", project="vision-research", bucket="gs://vision-training")
Policy.objects.create(team=team, ask_over_usd=1_000_000)
Membership.objects.create(team=team, user=User.objects.create_user("ann"), role="engineer")
"""


def as_nobody() -> list[str]:
    """Return a command prefix that runs a program as a user who owns no file and cannot gain privileges."""
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    return drop if os.geteuid() == 0 else []


def interpreter() -> str:
    """Return a Python with the installed packages that this user may run. Ours may be in a home folder."""
    versioned = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in (sys.executable, f"/usr/bin/{versioned}", f"/usr/local/bin/{versioned}"):
        command = [*as_nobody(), "sh", "-c", f"exec {shlex.quote(found)} -c 'import django, granian, psycopg'"]
        if subprocess.run(command, env={"PYTHONPATH": PACKAGES}, capture_output=True, check=False).returncode == 0:
            return found
    raise AssertionError(f"no {versioned} can be run by another user than root: install one in /usr/bin")


@dataclass
class Container:
    """The image's folder tree, read-only, and the processes that run in it."""

    home: Path
    told: Mapping[str, str]
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def app(self) -> Path:
        """What is /app in the image."""
        return self.home / "app"

    @property
    def site(self) -> Path:
        """Where the wheel is installed."""
        return self.home / "site"

    def build(self) -> None:
        """Install the wheel, copy what the Dockerfile copies, and take the right to write from everybody."""
        self.home.chmod(0o755)
        wheel.pip("install", "--no-deps", "--no-index", "--target", self.site, wheel.build(self.home / "wheel"))
        for sources, target in dockerfile.copies(IMAGE):
            for source in sources:
                to = self.home / target.lstrip("/") / (Path(source).name if target.endswith("/") else "")
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, to)
        subprocess.run(["chmod", "-R", "a-w,a+rX", str(self.app), str(self.site)], check=True)
        (self.home / "bin").mkdir()
        (self.home / "bin" / "python").symlink_to(interpreter())
        state = self.home / "state"
        state.mkdir()
        if os.geteuid() == 0:
            os.chown(state, NOBODY, NOBODY)

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start the entry point as the image does; what it says goes to a file."""
        words = dockerfile.last(IMAGE, "ENTRYPOINT").words()
        return self.run([word.replace("/app", str(self.app)) for word in words] + list(arguments))

    def run(self, command: list[str]) -> "subprocess.Popen[bytes]":
        """Start a program as a user who owns no file of the image."""
        given = dockerfile.environment(IMAGE) | self.told
        given |= {"PATH": f"{self.home / 'bin'}:/usr/bin:/bin", "TRAINBOARD_STATE": str(self.home / "state")}
        given |= {"PYTHONPATH": f"{self.site}:{PACKAGES}"}
        with (self.home / "log").open("ab") as log:
            made = subprocess.Popen([*as_nobody(), *command], cwd=self.app, env=given, stdout=log, stderr=log)
        self.processes.append(made)
        return made

    def log(self) -> str:
        """The output of the program."""
        return (self.home / "log").read_text(errors="replace")

    def finish(self, *arguments: str) -> None:
        """Run to the end. Fail with the output if the exit code is not 0."""
        assert self.start(*arguments).wait(timeout=180) == 0, self.log()[-3000:]

    def close(self) -> None:
        """End all processes."""
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        subprocess.run(["chmod", "-R", "u+w", str(self.home)], check=True)


@dataclass(frozen=True)
class Site:
    """A container with a database, a broker and an emulator around it."""

    container: Container
    emulator: Running
    address: str
    database: str


@pytest.fixture
def site() -> Iterator[Site]:
    """Everything but the processes of the image."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb-image-", dir="/tmp")))
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb-image-data-", dir="/tmp")))
        stack.enter_context(postgres.running(data))
        broker = stack.enter_context(redis.running("system")).removeprefix("redis+socket://")
        database = stack.enter_context(Blackhole(postgres.folder(data) / ".s.PGSQL.5432"))
        redis_proxy = stack.enter_context(Blackhole(Path(broker)))
        emulator = stack.enter_context(run_emulator(data / "e", scripted=True, demands_credential=True))
        (host, port), (redis_host, redis_port) = database.address, redis_proxy.address
        key = home / "secret"
        key.write_text(secrets.token_hex(32))
        key.chmod(0o444)
        web = ports.choose("127.0.0.1")
        clean = {name: value for name, value in environment(home, web).items() if name in ("LANG", "HOME", "TZ")}
        told = clean | {
            "DATABASE_URL": f"postgres://postgres@{host}:{port}/trainboard",
            "REDIS_URL": f"redis://{redis_host}:{redis_port}/0",
            "TRAINBOARD_SECRET_KEY_FILE": str(key),
            "TRAINBOARD_VERTEX_ENDPOINT": emulator.url,
            "TRAINBOARD_POLL_SECONDS": "1",
            "TRAINBOARD_SWEEP_SECONDS": "1",
            "HOST": "127.0.0.1",
            "PORT": str(web),
            "WEB_WORKERS": "1",
        }
        container = Container(home, told)
        stack.callback(container.close)
        container.build()
        yield Site(container, emulator, f"http://127.0.0.1:{web}", postgres.url(data))


@pytest.mark.stack
def test_a_job_runs_through_the_image_s_processes_with_a_read_only_tree(site: Site) -> None:
    box = site.container
    writes = box.run(["python", "-c", "import jobs; open(jobs.__file__, 'a')"])
    assert writes.wait(timeout=20) == 1, "the code can be written"
    box.finish("migrate")
    box.finish("shell", "-c", PEOPLE)
    parts = [box.start(name) for name in ("web", "worker", "sender", "messenger", "beat")]

    def answers() -> bool:
        try:
            return set(requests.get(f"{site.address}/readyz?for=all", timeout=5).json().values()) == {"ok"}
        except requests.RequestException:  # not there yet, or busy with its start
            return False

    waiting.until(answers, seconds=150, what=f"everything is ready\n{box.log()[-2000:]}")
    health = [word.replace("/app", str(box.app)) for word in json.loads(
        dockerfile.last(IMAGE, "HEALTHCHECK").rest.partition("CMD ")[2])]  # fmt: skip
    assert box.run(health).wait(timeout=20) == 0
    page = requests.get(f"{site.address}/accounts/login/", timeout=10).text
    sheet = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert requests.get(site.address + sheet, timeout=10).status_code == 200

    spec = box.home / "state" / "job.json"
    spec.write_text(json.dumps(samples.body(strategy="STANDARD")))
    spec.chmod(0o444)
    box.finish("jobspec", "submit", str(spec), "--as", "ann")

    def succeeded() -> bool:
        site.emulator.advance(60)
        with psycopg.connect(site.database) as database:
            return database.execute("SELECT state FROM jobs_job").fetchall() == [("succeeded",)]

    waiting.until(succeeded, seconds=120, every=0.5, what=f"the job has succeeded\n{box.log()[-3000:]}")
    assert [each.poll() for each in parts] == [None] * 5


class TestDockerfile:
    def test_the_last_stage_runs_as_nobody_and_builds_nothing(self) -> None:
        user = dockerfile.last(IMAGE, "USER").rest
        runs = [each.rest for each in IMAGE if each.keyword == "RUN"]

        assert user.split(":") == ["10001", "10001"]
        assert not any(word in run for run in runs for word in (" install ", "apt-get", "gcc", "curl"))
        assert all("latest" not in each.rest for stage in (BUILD, IMAGE) for each in stage if each.keyword == "FROM")
        installs = [each.rest for each in BUILD if each.keyword == "RUN" and " install " in each.rest]
        assert [each for each in installs if "--require-hashes" not in each and "--no-index" not in each] == []
        assert any("--no-build-isolation" in each.rest for each in BUILD), "the build backend is the locked one"

    @pytest.mark.parametrize(("extra", "files"), [("", ["run"]), ("otel", ["run", "otel"])])
    def test_holds_the_extra_that_it_is_built_with(self, extra: str, files: list[str]) -> None:
        command = next(each.rest for each in BUILD if each.keyword == "RUN" and "--requirement" in each.rest)
        shown = subprocess.run(["sh", "-c", f"set -- {command}; printf '%s\\n' \"$@\""], env={"EXTRA": extra},
                               capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
        asked = [shown[at + 1] for at, word in enumerate(shown) if word == "--requirement"]

        assert asked == [f"/build/{name}.txt" for name in files]
        copied = next(each.words() for each in BUILD if each.keyword == "COPY")
        assert {Path(each).name for each in asked} <= {Path(each).name for each in copied}

    def test_extras_agree_with_what_always_runs(self) -> None:
        pins = [
            dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE))
            for name in ("run", "otel")
        ]

        shared = pins[0].keys() & pins[1].keys()
        assert shared
        assert {name: (pins[0][name], pins[1][name]) for name in shared if pins[0][name] != pins[1][name]} == {}

    def test_what_is_copied_exists_and_is_not_ignored(self) -> None:
        sources = {each for stage in (BUILD, IMAGE) for found, _ in dockerfile.copies(stage) for each in found}
        kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}

        assert {each for each in sources if not (ROOT / each).exists()} == set()
        assert {each for each in sources if Path(each).parent.name not in sources} == kept


class TestCompose:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())

    def test_has_every_process_and_what_they_need(self) -> None:
        services = self.compose["services"]

        assert set(services) == {"migrate", "web", "worker", "sender", "messenger", "beat", "postgres", "redis"}
        for name in ("migrate", "web", "worker", "sender", "messenger", "beat"):
            service = services[name]
            assert service["command"] == [name]
            assert f"\n  {name})" in (ROOT / "deploy/start.sh").read_text()
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert set(service["depends_on"]) <= set(services)
        assert services["web"]["ports"] == ["127.0.0.1:8000:8000"]
        assert not any("ports" in services[name] for name in ("postgres", "redis"))

    def test_versions_are_pinned_and_secrets_are_files(self) -> None:
        for name, service in self.compose["services"].items():
            tag = service["image"].rpartition(":")[2]
            assert tag == "local" or re.match(r"\d+\.\d+", tag), name
            assert set(service.get("secrets", ())) <= set(self.compose["secrets"]), name
            for variable, value in service.get("environment", {}).items():
                is_secret = any(word in variable for word in ("PASSWORD", "SECRET", "TOKEN"))
                assert not is_secret or variable.endswith("_FILE") or value.endswith(":-}"), variable
        assert all(set(each) == {"file"} for each in self.compose["secrets"].values())

    def test_variables_are_those_of_the_site(self) -> None:
        listed = (ROOT / "README.md").read_text()
        for name in self.compose["services"]["web"]["environment"]:
            plain = name.removesuffix("_FILE")
            assert f"`{plain}`" in listed or plain in ("PGPASSWORD", "GOOGLE_APPLICATION_CREDENTIALS"), name
