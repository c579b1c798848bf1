"""Tests of free ports, and of the emulator's remembered port."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard import rehearsal
from dashboard.management.supervisor import ports

LOOPBACK = "127.0.0.1"


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server


def test_a_taken_port_is_not_free(taken: socket.socket) -> None:
    assert not ports.is_free(LOOPBACK, taken.getsockname()[1])
    assert not ports.becomes_free(LOOPBACK, taken.getsockname()[1], seconds=0)


def test_a_port_may_become_free_in_time(taken: socket.socket) -> None:
    port = taken.getsockname()[1]
    leaving = threading.Timer(0.3, taken.close)
    leaving.start()

    assert ports.becomes_free(LOOPBACK, port, seconds=10)
    leaving.join()


def test_the_emulator_keeps_its_port(tmp_path: Path) -> None:
    note = tmp_path / "state" / "emulator-port"

    first = ports.remembered(note, LOOPBACK)

    assert ports.remembered(note, LOOPBACK) == first


def test_the_emulators_of_two_sites_look_from_different_places(tmp_path: Path) -> None:
    found = {ports.remembered(tmp_path / str(number) / "emulator-port", LOOPBACK) for number in range(8)}

    assert len(found) > 1
    assert found <= set(ports.EMULATOR_PORTS)


def test_the_emulator_moves_when_its_port_is_taken(tmp_path: Path, taken: socket.socket) -> None:
    note = tmp_path / "emulator-port"
    note.write_text(f"{taken.getsockname()[1]}\n")

    port = ports.remembered(note, LOOPBACK)

    assert port != taken.getsockname()[1]
    assert ports.is_free(LOOPBACK, port)
    assert int(note.read_text()) == port


def test_the_emulators_second_port_is_another_and_stays_too(tmp_path: Path) -> None:
    first = ports.remembered(tmp_path / "emulator-port", LOOPBACK)

    second = ports.remembered(tmp_path / "emulator-port", LOOPBACK, besides=first)

    assert second != first
    assert ports.remembered(tmp_path / "emulator-port", LOOPBACK, besides=first) == second


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "::ffff:127.0.0.1"])
def test_loopback_is_recognised(host: str) -> None:
    assert rehearsal.is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "board.example.org", ""])
def test_whatever_others_can_reach_is_not_loopback(host: str) -> None:
    assert not rehearsal.is_loopback(host)
