"""Tests of the commands `web`, `worker` and `beat`: which program each becomes."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from dashboard.management import processes

QUEUES = [each.name for each in settings.CELERY_TASK_QUEUES]


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands of the programs that this process would have become."""
    commands: list[Sequence[str]] = []
    monkeypatch.setattr(processes, "become", commands.append)
    monkeypatch.setattr("dashboard.management.supervisor.prepare.static_files", lambda _log: None)
    return commands


def test_a_worker_serves_all_queues_or_those_that_are_named(became: list[Sequence[str]]) -> None:
    call_command("worker")
    call_command("worker", "--queue", QUEUES[1], "--name", "sender", "--threads", "2")

    served = [command[command.index("--queues") + 1].split(",") for command in became]
    assert served == [QUEUES, [QUEUES[1]]]
    assert became[1][became[1].index("--hostname") + 1] == "sender@%h"
    assert became[1][became[1].index("--concurrency") + 1] == "2"


def test_web_listens_on_this_machine_unless_told(became: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "8123")
    call_command("web")
    call_command("web", "--host", "0.0.0.0", "--workers", "3")
    call_command("beat")

    hosts = [command[command.index("--host") + 1] for command in became[:2]]
    assert hosts == ["127.0.0.1", "0.0.0.0"]
    assert became[0][became[0].index("--port") + 1] == "8123"
    assert became[1][became[1].index("--workers") + 1] == "3"
    assert "beat" in became[2]


@pytest.mark.parametrize("name", ["jobs.py", "emulator/__init__.py"])
def test_a_folder_with_a_package_named_as_ours_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs").mkdir()  # a folder that is no package hides none
    monkeypatch.setattr(settings, "IS_INSTALLED", True)
    processes.check_folder(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()

    with pytest.raises(CommandError, match="Choose another folder"):
        processes.check_folder(tmp_path)
    monkeypatch.setattr(settings, "IS_INSTALLED", False)
    processes.check_folder(tmp_path)
