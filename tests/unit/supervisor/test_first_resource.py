"""Tests that the demo's persistent resource is created once through the emulator's API; a failure stops nothing."""

import io
from pathlib import Path

import pytest

from dashboard.management.demo import machines
from dashboard.management.demo.machines import FirstResource
from dashboard.management.supervisor.console import Console
from dashboard.management.supervisor.keeper import Keeper
from tests.support.running_emulator import running

LIST = "/v1/projects/vision-research/locations/us-central1/persistentResources"


@pytest.fixture
def said() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def keeper(said: io.StringIO) -> Keeper:
    return Keeper(Console(["up"], stream=said))


def test_it_is_made_once_and_one_that_is_there_is_enough(tmp_path: Path, keeper: Keeper, said: io.StringIO) -> None:
    port_file = tmp_path / "emulator-port"
    watcher = FirstResource(port_file)
    watcher(keeper)
    assert not watcher.is_done, "the emulator has not chosen its port"

    with running(tmp_path / "state", scripted=True) as emulator:
        port_file.write_text(emulator.url.rpartition(":")[2] + "\n")
        watcher(keeper)
        watcher(keeper)
        again = FirstResource(port_file)
        again(keeper)

        (made,) = emulator.call("GET", LIST)["persistentResources"]
        calls = emulator.truth()["calls"]["persistentResources.create"]

    assert watcher.is_done
    assert again.is_done
    assert calls == 2, "a watcher that is done asks no more"
    assert made["name"].endswith("/persistentResources/night-shift")
    assert made["resourcePools"][0]["replicaCount"] == "2"
    assert said.getvalue() == ""


def test_an_emulator_that_never_answers_is_told_and_given_up(
    tmp_path: Path, keeper: Keeper, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "MAX_TRIES", 3)
    watcher = FirstResource(tmp_path / "none")

    for _ in range(5):
        watcher(keeper)

    assert watcher.tries == 3
    assert said.getvalue().count("has no persistent resource") == 1
