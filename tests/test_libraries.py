"""Tests that libraries are used through their public names, and that the lock files contain all that they need."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.environments import environment

ROOT = Path(__file__).parents[1]
PACKAGES = ("dashboard", "jobs", "emulator")
STARTS_SOMETHING = ("__main__", "dashboard.wsgi")


def classes() -> Iterator[type]:
    """Yield every class that our packages define."""
    for top in PACKAGES:
        package = importlib.import_module(top)
        for found in pkgutil.walk_packages(package.__path__, f"{top}."):
            if ".migrations" in found.name or found.name.endswith(STARTS_SOMETHING):
                continue
            module = importlib.import_module(found.name)
            yield from (
                each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == found.name
            )


def private_overrides(cls: type) -> list[str]:
    """Return the private methods of a library's class that `cls` defines anew."""
    libraries = [
        base
        for base in cls.__mro__[1:]
        if base.__module__.partition(".")[0] not in (*PACKAGES, *sys.stdlib_module_names)
    ]
    return [
        f"{cls.__module__}.{cls.__qualname__}.{name} overrides that of {base.__qualname__}"
        for name, value in vars(cls).items()
        if name.startswith("_") and not name.startswith("__") and inspect.isfunction(value)
        if value.__module__ == cls.__module__  # an enumeration copies those of its base
        for base in libraries
        if name in vars(base)
    ]


def private_assignments(source: str) -> list[int]:
    """Return the lines that give a value to a private attribute of anything but `self` and `cls`."""
    return [
        target.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute) and target.attr.startswith("_")
        if not (isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"))
    ]


def test_no_private_method_of_a_library_is_overridden() -> None:
    assert [problem for cls in classes() for problem in private_overrides(cls)] == []


def test_an_override_would_be_found() -> None:
    from django import forms

    class Trick(forms.Form):
        def _clean_fields(self) -> None: ...

    assert len(private_overrides(Trick)) == 1


@pytest.mark.parametrize("package", PACKAGES)
def test_no_private_attribute_of_another_object_is_set(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))

    assert {str(path): lines for path in files if (lines := private_assignments(path.read_text()))} == {}
    assert all("type: ignore[method-assign" not in path.read_text() for path in files)


def test_an_assignment_would_be_found() -> None:
    assert private_assignments("query._result_cache = []\nself._mine = 1") == [1]


def locked(name: str) -> dict[str, str]:
    """Return {package: version} of a lock file."""
    pinned = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE)
    return {canonicalize_name(package): version for package, version in pinned}


def missing_from(versions: dict[str, str], asked: list[Requirement]) -> set[str]:
    """Return what the asked packages need on this machine, directly or not, and `versions` does not hold."""
    missing, seen = set(), set()
    while asked:
        requirement = asked.pop()
        name = canonicalize_name(requirement.name)
        if not requirement.specifier.contains(versions.get(name, ""), prereleases=True):
            missing.add(str(requirement))
            continue
        for extra in {"", *requirement.extras} - {each for known, each in seen if known == name}:
            seen.add((name, extra))
            needed = [Requirement(each) for each in requires(name) or ()]
            asked += [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
    return missing


def asked_by(name: str) -> list[str]:
    """Return what a lock is made from; that of a site is made from the project itself."""
    if name == "run":
        return list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    return (ROOT / "requirements" / f"{name}.in").read_text().splitlines()


@pytest.mark.parametrize(
    ("installed", "asked_in"),
    [(["run"], ["run"]), (["run", "grpc"], ["grpc"]), (["run", "otel"], ["otel"]),
     (["dev"], ["run", "grpc", "otel", "dev"])],
)  # fmt: skip
def test_a_lock_holds_all_that_its_packages_need(installed: list[str], asked_in: list[str]) -> None:
    # pip installs what a lock names and nothing else (--no-deps): where a package needs another with an extra, it would
    # look for the newest release of that one instead of the locked one, and stop.
    lines = [line for name in asked_in for line in asked_by(name)]
    asked = [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]
    versions = {package: version for name in installed for package, version in locked(name).items()}

    assert missing_from(versions, asked) == set()


def test_the_lowest_versions_are_those_that_the_project_allows() -> None:
    allowed = [Requirement(line) for line in asked_by("run")]
    versions = locked("lowest")

    for requirement in allowed:
        (lowest,) = [each.version for each in requirement.specifier if each.operator == ">="]
        assert Version(versions[canonicalize_name(requirement.name)]) == Version(lowest), "run `make lock`"


def test_what_a_lock_lacks_would_be_found() -> None:
    versions = locked("run")

    assert missing_from(versions, [Requirement("celery[redis]")]) == set()
    assert missing_from({**versions, "redis": "1.0"}, [Requirement("celery[redis]")]) != set()
    assert missing_from({**versions, "vine": ""}, [Requirement("celery")]) != set()


def test_a_worker_loads_neither_pages_nor_what_only_they_need(tmp_path: Path) -> None:
    """Three workers and beat are started with each site: what they load costs its memory and start four times."""
    program = """
import sys
from dashboard.celery import app
app.loader.import_default_modules()
print(*sys.modules)
"""
    told = environment(tmp_path, 0, CELERY_SKIP_CHECKS="true", DJANGO_SETTINGS_MODULE="dashboard.settings")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=told, capture_output=True, text=True, check=True
    )

    loaded = set(done.stdout.split())
    assert {"jobs.tasks", "jobs.steps"} <= loaded
    assert loaded & {"authlib", "jinja2", "joserfc", "ninja", "starlette", "dashboard.pages", "dashboard.urls"} == set()
