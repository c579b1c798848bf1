"""Tests of the embedded Redis: a short private socket that really responds."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from dashboard.management.supervisor import plan
from dashboard.management.supervisor.child import Child
from emulator import grpc


def test_the_emulator_answers_grpc_only_where_it_can(site: plan.Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan.emulator(site, port=1, grpc_port=None, speed=1).command.count("--grpc") == 0
    command = plan.emulator(site, port=1, grpc_port=2, speed=1).command
    assert command[command.index("--grpc") + 1] == "2"

    assert grpc.is_installed()
    monkeypatch.setattr("emulator.grpc.PACKAGES", ("grpc", "no_such_package_at_all"))
    assert not grpc.is_installed()
    monkeypatch.setattr("emulator.grpc.PACKAGES", ("no_such_package_at_all.inside",))
    assert not grpc.is_installed()


@pytest.fixture
def site(tmp_path: Path) -> plan.Site:
    return plan.Site(Path(__file__).parents[3], tmp_path, "127.0.0.1", 8000, {"PATH": os.environ["PATH"]})


def test_redis_answers_on_its_socket_and_nowhere_else(site: plan.Site) -> None:
    folder = plan.socket_folder(site.state)
    part = plan.redis(site, folder / "redis")
    assert part.is_ready is not None
    assert not part.is_ready()

    child = Child(part)
    try:
        while not part.is_ready():
            assert not child.has_ended()
    finally:
        child.terminate()
        child.process.wait(timeout=10)
        child.close()

    assert "--port" in part.command
    assert part.command[part.command.index("--port") + 1] == "0"
    plan.forget_socket_folder(site.state, folder)
    assert not folder.exists()


def test_the_socket_folder_is_private(tmp_path: Path) -> None:
    folder = plan.socket_folder(tmp_path)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    plan.forget_socket_folder(tmp_path, folder)


def test_the_folder_of_a_killed_run_is_removed(tmp_path: Path) -> None:
    left = plan.socket_folder(tmp_path)

    plan.forget_socket_folder(tmp_path, plan.socket_folder(tmp_path))

    assert not left.exists()


def test_the_socket_path_is_short_where_temporary_folders_are_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    folder = plan.socket_folder(tmp_path)

    assert len(bytes(folder / "redis")) <= plan.SOCKET_BYTES
    plan.forget_socket_folder(tmp_path, folder)


@pytest.mark.parametrize(("host", "address"), [("127.0.0.1", "http://127.0.0.1:8000"), ("::1", "http://[::1]:8000")])
def test_the_address_is_one_for_a_browser(site: plan.Site, host: str, address: str) -> None:
    assert plan.Site(site.folder, site.state, host, 8000, {}).address == address
