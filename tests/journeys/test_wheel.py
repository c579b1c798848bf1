"""Tests of the installed package: its wheel in an empty environment, from an empty folder to a job that succeeded."""

import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path
from zipfile import Path as Zipped
from zipfile import ZipFile

import pytest
import requests
from django.utils import translation
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dashboard import __version__
from dashboard.management.supervisor import ports
from tests.support import compiled_texts, wheel
from tests.support.environments import ROOT
from tests.support.journey import QUICK, finished
from tests.support.person import Person
from tests.support.stack import Stack

pytestmark = pytest.mark.stack
PACKAGES = ("dashboard", "emulator", "jobs")
MOVED = {"templates/": "dashboard/templates/", "examples/": "emulator/examples/"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    return wheel.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what is locked."""
    return wheel.install(built, tmp_path_factory.mktemp("environment") / "v")


def files_in(folder: Path) -> set[str]:
    """Return the files below a folder, without compiled modules, which any process may write."""
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file() and each.suffix != ".pyc"}


class TestTheFile:
    def test_has_every_file_of_the_site_in_one_of_its_packages(self, built: Path) -> None:
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES, *MOVED]
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        wanted = {each for each in listing.stdout.splitlines() if (ROOT / each).is_file()}
        wanted |= {each.removesuffix("po") + "mo" for each in wanted if each.endswith(".po")}
        for top, inside in MOVED.items():
            wanted = {each.replace(top, inside, 1) if each.startswith(top) else each for each in wanted}

        names = {each for each in ZipFile(built).namelist() if ".dist-info/" not in each}

        assert names == {each for each in wanted if not each.endswith(".po")}
        assert {each.split("/")[0] for each in names} == set(PACKAGES)

    def test_names_its_version_and_what_it_needs(self, built: Path) -> None:
        (facts,) = (each for each in Zipped(built).iterdir() if each.name.endswith(".dist-info"))
        told = PathDistribution(facts)  # type: ignore[arg-type]

        assert (told.name, told.version) == ("trainboard-server", __version__)
        needed = [Requirement(each) for each in told.requires or () if "extra ==" not in each]
        assert len(needed) > 20
        pins = {canonicalize_name(name): version for name, version in wheel.LOCKED}
        assert [each for each in needed if not each.specifier.contains(pins[canonicalize_name(each.name)])] == []
        assert {each.name for each in told.entry_points} == {"trainboard-server"}


def test_a_job_succeeds_in_an_empty_folder(programs: Path, tmp_path: Path) -> None:
    packages = next(programs.parent.glob("lib/python*/site-packages"))
    before = files_in(packages)
    port = ports.choose("127.0.0.1")
    stack = Stack(tmp_path / "var", port, folder=tmp_path, program=[str(programs / "trainboard-server")],
                  TRAINBOARD_EMULATOR_SPEED="300")  # fmt: skip
    del stack.environment["TRAINBOARD_STATE"]
    try:
        stack.start()
        engineer, approver = (Person(stack.address).sign_in(name) for name in ("engineer", "approver"))
        job = engineer.request_example(**QUICK)
        approver.decide(job)

        assert finished(engineer, job)["state"] == "succeeded"
        assert f"Trainboard {__version__}" in engineer.open("/").text
        for each in (engineer, approver):
            each.close()
        sees_spanish(stack.address)
        assert stack.stop() == 0
    finally:
        stack.close()
    assert (tmp_path / "var" / "trainboard.sqlite3").exists()
    assert files_in(packages) == before


def sees_spanish(address: str) -> None:
    """Assert that the page to sign in is translated and has its style sheet."""
    compiled_texts.compile_new()
    with translation.override("es"):
        words = translation.gettext("Password")
    page = requests.get(f"{address}/accounts/login/", headers={"Accept-Language": "es"}, timeout=20).text
    sheet = page.partition('rel="stylesheet" href="')[2].partition('"')[0]

    assert words in page
    assert words != "Password"
    assert requests.get(address + sheet, timeout=20).status_code == 200


@pytest.mark.parametrize("command", ["--version", "version"])
def test_the_version_is_that_of_the_package(programs: Path, command: str, tmp_path: Path) -> None:
    for program in ([programs / "trainboard-server"], [sys.executable, ROOT / "manage.py"]):
        done = subprocess.run([*map(str, program), command], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout == f"{__version__}\n"
    assert list(tmp_path.iterdir()) == []
