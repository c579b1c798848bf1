"""Tests of the version of the command line, and of its completion in a real shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trainboard_cli

import dashboard
from tests.support.environments import ROOT

COMPLETED = [
    (["sch"], "schedule"),
    (["schedule", "p"], "pause"),
    (["submit", "--exp"], "--expected"),
    (["submit", "peng"], "penguins.yaml"),
]
"""What is typed before the tab key, and what the last word becomes."""
ZSH_SETUP = """
PS1=
fpath=($PWD $fpath)
autoload -Uz compinit
compinit -u -D
show() { print -r -- "[$BUFFER]" }
zle -N show
bindkey "^T" show
zle-line-init() { print READY }
zle -N zle-line-init
"""
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./setup'
zpty -r shell said '*READY*'
zpty -w -n shell "$1"$'\t\x14'
zpty -r shell said '*\[trainboard *\]*'
print -r -- ${${said##*\[}%%\]*}
"""
"""Types a line and the tab key at a terminal of its own, and prints the line as it then is."""


def run(*arguments: str) -> str:
    """Return the output of a command."""
    command = [sys.executable, "-m", "trainboard_cli", *arguments]
    told = {**os.environ, "PYTHONPATH": str(ROOT / "cli")}
    return subprocess.run(command, env=told, capture_output=True, text=True, check=True).stdout


def test_the_version_is_the_site_s() -> None:
    assert run("--version") == f"{trainboard_cli.__version__}\n"
    assert trainboard_cli.__version__ == dashboard.__version__
    assert f"\nversion: {dashboard.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{dashboard.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(("typed", "offered"), COMPLETED)
def test_bash_completes_commands_options_and_files(typed: list[str], offered: str, tmp_path: Path) -> None:
    (tmp_path / "penguins.yaml").touch()
    (tmp_path / "completion").write_text(run("--print-completion", "bash"))
    words = " ".join(["trainboard", *typed])
    script = (
        f"source completion; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _shtab_trainboard; echo ${{COMPREPLY[*]}}"
    )

    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.split() == [offered]


@pytest.mark.parametrize(("typed", "offered"), COMPLETED)
def test_zsh_completes_commands_options_and_files(typed: list[str], offered: str, tmp_path: Path) -> None:
    (tmp_path / "penguins.yaml").touch()
    (tmp_path / "setup").write_text(ZSH_SETUP)
    (tmp_path / "_trainboard").write_text(run("--print-completion", "zsh"))

    done = subprocess.run(
        ["zsh", "-f", "-c", ZSH, "zsh", " ".join(["trainboard", *typed])],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip

    assert done.stdout.split() == ["trainboard", *typed[:-1], offered]
