"""Tests of every step in docs/cli.md: install with pip, create a token, train a job, and the CI workflow."""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.environments import ROOT
from tests.support.person import Person, forms
from tests.support.stack import Stack

pytestmark = pytest.mark.stack
GUIDE = (ROOT / "docs/cli.md").read_text()
SECONDS = 300


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of the guide in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


def make_token(person: Person) -> str:
    """Make a token on the page, as the guide says, and return what the page shows once."""
    page = person.open("/account/tokens/")
    form = next(form for form in forms(page.text) if form.action == "/account/tokens/")
    values = [*form.values.items(), ("name", "guide"), ("days", "7"), ("scopes", "read"), ("scopes", "submit")]
    made = person.session.post(person.address + form.action, values, headers={"Referer": page.url}, timeout=20)
    found = re.search(r'id="token">(tb_[\w-]+)<', made.text)
    assert found, made.text
    return found[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout, as far as the guide needs it."""
    shutil.copytree(ROOT / "cli", tmp_path / "cli", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """Return a new person's environment; pip takes what is installed here in place of an index."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**kept, **pip, "HOME": str(folder), "PYTHONPATH": sysconfig.get_path("purelib"), "NO_PROXY": "*"}


def run(script: str, folder: Path, variables: dict[str, str]) -> str:
    """Run a script as a shell that stops at the first error; return what it printed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=variables, text=True, timeout=SECONDS,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_five_minute_way_leads_to_a_trained_job(
    person: Callable[[str], Person], stack: Stack, folder: Path
) -> None:
    token = make_token(person("engineer"))
    script = "\n".join(blocks("sh")).replace("http://127.0.0.1:8000", stack.address).replace("tb_...", token)

    printed = run(script, folder, environment(folder))

    assert "penguins: succeeded" in printed
    assert "* Standard" in printed
    assert token not in printed


def test_the_workflow_for_github_actions_runs(person: Callable[[str], Person], stack: Stack, folder: Path) -> None:
    workflow: dict[Any, Any] = yaml.safe_load(blocks("yaml")[0])
    job = workflow["jobs"]["train"]
    known = {
        "vars.TRAINBOARD_URL": stack.address,
        "secrets.TRAINBOARD_TOKEN": make_token(person("engineer")),
        "github.run_id": "4711",
        "github.run_attempt": "1",
    }

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: known[found[1]], text)

    steps = [filled(step["run"]) for step in job["steps"] if "run" in step]
    written = next(block for block in blocks("sh") if "penguins.yaml <<" in block).partition("trainboard estimate")[0]
    before = blocks("sh")[0].replace("trainboard-env/bin/pip install ./cli\n", "")  # what setup-python does
    variables = environment(folder) | {name: filled(value) for name, value in job["env"].items()}

    printed = run("\n".join([before, written, *steps]), folder, variables)

    assert len(steps) == 3
    assert "penguins: succeeded" in printed
    again = run("\n".join([before, steps[-1]]), folder, variables)
    assert "continues with" in again, "the run's key finds its job again"
