"""Tests of what Trainboard does not know: it needs an approval whatever policy and cap say, and a typo is named."""

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from dashboard.forms.compose import paths
from jobs import spec
from jobs.assessment import Context, Outcome, assess
from jobs.gate import CeilingKind, CeilingUse
from jobs.policy_rules import PolicyRules, Rule
from jobs.strategies.checks import confirmable
from tests.support import samples


class TestMisuse:
    """No policy, cap or budget lets a job pass whose price is not known."""

    def assessed(self, body: dict[str, Any], *rules: Rule, cap: str = "", confirms: bool = True) -> Any:
        job, _ = spec.read("custom_job", body)
        asked = spec.Submission("custom_job", "p", "us-central1", job, confirmed=frozenset())
        if confirms:
            asked = replace(asked, confirmed=frozenset(each.confirm for each in confirmable(asked)))
        context = Context(policy=PolicyRules(rules), cap_usd=Decimal(cap) if cap else None)
        return assess(asked, context, expected=timedelta(hours=1))

    CHANGES: tuple[tuple[str, Any], ...] = (
        ("jobSpec.workerPoolSpecs[0].machineSpec", {"machineType": "n5-standard-8"}),
        ("jobSpec.workerPoolSpecs[0].machineSpec.acceleratorType", "NVIDIA_B300"),
        ("jobSpec.workerPoolSpecs[0].diskSpec", {"bootDiskType": "hyperdisk-ml"}),
        ("jobSpec.scheduling.strategy", "CALENDAR"),
        ("jobSpec.workerPoolSpecs[0].machineSpec.turbo", 1),
        ("jobSpec.workerPoolSpecsV2", [{"replicaCount": "100"}]),
        ("times", 1000),
    )

    @pytest.mark.parametrize(("path", "value"), CHANGES)
    @pytest.mark.parametrize("cap", ["", "0.01"])
    @pytest.mark.parametrize(
        "rules", [(), (Rule(outcome="allow"),), (Rule(outcome="ask", cost_over="50"),)], ids=["none", "all", "50"]
    )
    def test_an_unknown_part_always_asks(self, path: str, value: Any, cap: str, rules: tuple[Rule, ...]) -> None:
        body = deepcopy(samples.body())
        paths.put(body, path, value)

        found = self.assessed(body, *rules, cap=cap)

        assert found.outcome is Outcome.NEEDS_APPROVAL
        assert found.estimate.usd_per_hour is None
        assert found.estimate.most_usd is None

    @pytest.mark.parametrize("path", ["times", "studySpec.times", "trialJobSpec.times"])
    def test_an_unknown_part_of_a_study_exceeds_every_ceiling_in_dollars(self, path: str) -> None:
        body = samples.tuning_job()
        ceiling = CeilingUse(CeilingKind.JOB, Decimal(10**9), Decimal(0))
        context = Context(policy=PolicyRules((Rule(outcome="allow"),)), ceilings=(ceiling,))

        for inputs, kind, begin in (
            (body, "hyperparameter_tuning_job", ""),
            (samples.pipeline(tunes=True), "training_pipeline", "trainingTaskInputs."),
        ):
            paths.put(inputs, f"{begin}{path}", 1000)
            job, _ = spec.read(kind, inputs)
            asked = spec.Submission(kind, "p", "us-central1", job)
            found = assess(asked, context, expected=timedelta(hours=1))

            assert found.outcome is Outcome.REFUSED
            assert "over_ceiling" in {each.code for each in found.errors}

    @pytest.mark.parametrize("rules", [(), (Rule(outcome="allow"),), (Rule(outcome="ask", cost_over="50"),)])
    def test_a_known_machine_without_a_price_asks_too(self, rules: tuple[Rule, ...]) -> None:
        body = samples.body(machine={"machineType": "tpu7x-standard-4t", "tpuTopology": "2x2x1"})

        found = self.assessed(body, *rules)

        assert found.estimate.usd_per_hour is None
        assert found.outcome is Outcome.NEEDS_APPROVAL

    @pytest.mark.parametrize(
        ("typed", "hint"),
        [
            ("n1-standrad-4", "Did you mean `n1-standard-4`?"),
            ("n5-standard-8", "The nearest known one is `n4-standard-8`."),
            ("zz9", "No known one is similar."),
        ],
    )
    def test_a_typo_is_told_from_a_new_type(self, typed: str, hint: str) -> None:
        (finding,) = [
            each
            for each in self.assessed(samples.body(machine={"machineType": typed}), confirms=False).errors
            if each.code == "machine_type_trains"
        ]

        assert finding.message == f"“{typed}” is not known to Trainboard as of 22 August 2026; Vertex AI decides."
        assert finding.remedy == f"{hint} Correct it, or confirm that it is meant.".strip()
