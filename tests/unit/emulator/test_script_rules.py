"""Tests of the rules that give a script to a job."""

import urllib.error

import pytest

from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body, state
from tests.unit.emulator.test_scripts import facts, submit


class TestChoosing:
    """Who plays what."""

    def test_the_latest_rule_that_fits_wins(self, scripted: Running) -> None:
        scripted.script("fails")
        scripted.script("oom", match="red*")
        scripted.script("stockout", match='labels.team="blue"')
        made = [
            scripted.call("POST", JOBS, job_body(name=name, labels=labels))
            for name, labels in (("any", {}), ("red 1", {}), ("red 2", {"team": "blue"}))
        ]

        assert [facts(scripted, job)["script"] for job in made] == ["fails", "oom", "stockout"]

    def test_an_unknown_story_is_refused(self, scripted: Running) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            submit(scripted, "heroic")

        with refused.value:
            assert b"heroic" in refused.value.read()

    def test_an_unknown_state_is_shown_for_a_while(self, scripted: Running) -> None:
        job = submit(scripted, "strange")
        scripted.advance(170 + 90)
        assert state(scripted, job) == "JOB_STATE_REBALANCING"
        scripted.advance(60)

        assert state(scripted, job) == "JOB_STATE_RUNNING"
