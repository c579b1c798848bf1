"""Tests that one rule finds one cause: a single wrong value gives one finding at its field, under every strategy."""

from collections import defaultdict
from itertools import combinations
from typing import Any

import pytest

from jobs.spec import Submission
from jobs.strategies import RULES, STRATEGIES, Known, check, check_each
from tests.unit.strategies.cases import submission
from tests.unit.strategies.test_persistent import resource
from tests.unit.strategies.test_rules import ALL

FOLDER = "each names what is lost without the folder, and none of it follows from the other"
TWO_CAUSES = {
    ("flex_start_gpus_are_offered", "region_has_the_accelerator"): "Flex-start and the region lack the TPU",
    ("region_has_the_accelerator", "spot_uses_a2_or_a3"): "Spot and the region lack the TPU",
    ("flex_start_gpus_are_offered", "tuning_has_no_tpus"): "Flex-start and tuning lack TPUs",
    ("spot_uses_a2_or_a3", "tuning_has_no_tpus"): "Spot and tuning lack TPUs",
    ("flex_start_gpus_are_offered", "small_machines_keep_memory"): "Flex-start lacks it, and its memory is small",
    ("small_machines_keep_memory", "spot_uses_a2_or_a3"): "Spot may lack it, and its memory is small",
    ("disk_is_spelled_out", "newest_machines_take_hyperdisk"): "equal to the resource's, and what the machine takes",
    ("spot_saves_checkpoints", "tensorboard_has_an_output"): FOLDER,
    ("spot_saves_checkpoints", "uploaded_model_comes_from_somewhere"): FOLDER,
}
"""Pairs of rules that may tell of one field in one job, and the two causes that they name."""


def views(job: Submission, known: Known) -> list[list[Any]]:
    """Return what is found as the job asks for it, and under every strategy."""
    asked = [(each, each.apply(job)) for each in STRATEGIES.values()]
    return [check(job, resources=known), *check_each(asked, resources=known)]


def pairs_at_one_field(job: Submission) -> set[tuple[str, str]]:
    found = set()
    for findings in [*views(job, ()), *views(job, [resource()]), *views(job, [resource(state="ERROR")])]:
        codes = defaultdict(set)
        for finding in findings:
            codes[finding.field].add(finding.code)
        found |= {pair for each in codes.values() for pair in combinations(sorted(each), 2)}
    return found


@pytest.mark.parametrize(("kind", "body"), [(case[0], body) for case in ALL for body in case[3:5]])
def test_no_two_rules_tell_of_one_field_for_one_cause(kind: str, body: dict[str, Any]) -> None:
    assert pairs_at_one_field(submission(kind, body)) <= set(TWO_CAUSES)


def test_every_exception_is_met() -> None:
    met = {pair for case in ALL for body in case[3:5] for pair in pairs_at_one_field(submission(case[0], body))}

    assert met == set(TWO_CAUSES)


def test_no_two_rules_say_the_same() -> None:
    messages = [rule.message for rule in RULES.values()]

    assert len(messages) == len(set(messages))
