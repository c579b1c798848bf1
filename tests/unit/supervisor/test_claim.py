"""Tests that only one `up` runs on a state folder at a time."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dashboard.management.supervisor.claim import FILE, Claimed, claim, running

HOLD_UNTIL_ASKED = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from dashboard.management.supervisor.claim import claim
with claim(Path(sys.argv[1])) as held:
    held.write(stopping=True)
    print("held", flush=True)
    sys.stdin.read()
"""
HOLD_AND_DIE = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from dashboard.management.supervisor.claim import claim
with claim(Path(sys.argv[1])) as held:
    held.write(address="http://127.0.0.1:8000")
    os.kill(os.getpid(), 9)
"""


def test_a_second_claim_learns_who_holds_the_first(tmp_path: Path) -> None:
    with claim(tmp_path) as held:
        held.write(address="http://127.0.0.1:8000")

        with pytest.raises(Claimed) as refusal, claim(tmp_path, patience=0):
            pass

    assert refusal.value.owner["address"] == "http://127.0.0.1:8000"


def test_one_that_is_stopping_is_waited_for(tmp_path: Path) -> None:
    hold = [sys.executable, "-c", HOLD_UNTIL_ASKED, str(tmp_path), str(Path(__file__).parents[3])]
    with subprocess.Popen(hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        leaving = threading.Timer(0.5, other.communicate, [""])
        leaving.start()

        with claim(tmp_path, patience=0) as held:
            assert held.left == {}
        leaving.join()


def test_it_ends_in_order(tmp_path: Path) -> None:
    with claim(tmp_path) as held:
        held.write(address="http://127.0.0.1:8000")

    assert running(tmp_path) is None
    with claim(tmp_path) as held:
        assert held.left == {}


def test_others_can_ask_who_runs(tmp_path: Path) -> None:
    assert running(tmp_path) is None
    with claim(tmp_path) as held:
        assert running(tmp_path) == {}
        held.write(host="127.0.0.1")
        facts = running(tmp_path)

    assert facts is not None
    assert facts["host"] == "127.0.0.1"


def test_a_killed_owner_frees_it_and_leaves_its_note(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    killed = subprocess.run([sys.executable, "-c", HOLD_AND_DIE, str(tmp_path), root], check=False)
    assert killed.returncode == -9

    assert running(tmp_path) is None
    with claim(tmp_path) as held:
        assert held.left["address"] == "http://127.0.0.1:8000"


def test_a_spoilt_note_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('["cut')

    with claim(tmp_path) as held:
        assert held.left == {}
