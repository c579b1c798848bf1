"""Tests of every rule: a valid spec passes, and one just beyond the boundary gives a finding at its field."""

from datetime import timedelta
from typing import Any

import pytest

from jobs.spec import Severity, Submission
from jobs.strategies import OFF, RULES, STRATEGIES, check, max_wait, strategy_of
from jobs.texts import is_translatable
from tests.unit.strategies import cases, more_cases, tuning_cases
from tests.unit.strategies.cases import BODIES, Case, submission
from tests.unit.strategies.more_cases import WAIT

CUSTOM: list[Case] = [
    *cases.NAMES,
    *cases.POOLS,
    *cases.MACHINES,
    *more_cases.DISKS,
    *more_cases.TASKS,
    *more_cases.SURROUNDINGS,
    *more_cases.TIME,
    *more_cases.AFFINITIES,
    *more_cases.STRATEGY_RULES,
]
ALL = [
    *(("custom_job", *case) for case in CUSTOM),
    *(("hyperparameter_tuning_job", *case) for case in tuning_cases.TUNING),
    *(("training_pipeline", *case) for case in tuning_cases.PIPELINES),
]
TESTED_ELSEWHERE = {
    "reservation_is_asked_for",
    "resource_is_known",
    "resource_is_running",
    "pools_match_the_resource",
    "replicas_fit_the_resource",
    "replicas_are_free",
    "service_account_is_allowed",
    "network_and_key_are_the_resources",
}


def found(code: str, judged: Submission) -> list[str]:
    """Return the fields at which a rule finds something."""
    return [finding.field for finding in check(judged) if finding.code == code]


@pytest.mark.parametrize(
    ("kind", "code", "field", "passes", "fails"), ALL, ids=[f"{case[1]}-{n}" for n, case in enumerate(ALL)]
)
def test_rule_lets_the_boundary_pass_and_finds_what_is_beyond(
    kind: str, code: str, field: str, passes: dict[str, Any], fails: dict[str, Any]
) -> None:
    assert found(code, submission(kind, passes)) == []
    assert found(code, submission(kind, fails)) == [field]


def test_every_rule_has_a_case() -> None:
    assert {case[1] for case in ALL} | TESTED_ELSEWHERE == set(RULES)


@pytest.mark.parametrize("kind", BODIES)
def test_sound_submissions_are_only_advised(kind: str) -> None:
    codes = {finding.code for finding in check(submission(kind, {}))}

    assert codes <= {"tuning_containers_report_metrics"}


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_rules_say_what_they_require_and_where_that_comes_from(rule: Any) -> None:
    assert rule.message.endswith(".")
    assert rule.source.title
    assert rule.source.read >= "2026-01-01"


def test_messages_are_sentences_with_a_remedy() -> None:
    for kind, _, _, _, fails in ALL:
        for finding in check(submission(kind, fails)):
            assert finding.message.endswith("."), finding
            assert finding.remedy.endswith((".", "?")), finding
            assert len(finding.message) < 400, finding
            assert is_translatable(finding.message), finding
            assert is_translatable(finding.remedy), finding


class TestSeverities:
    LONG = {"jobSpec.scheduling.timeout": "14401s"}

    def test_are_the_rules_own_unless_a_site_sets_them(self) -> None:
        judged = submission("custom_job", self.LONG)
        code = "long_runs_save_checkpoints"

        assert [f.severity for f in check(judged) if f.code == code] == [Severity.NOTE]
        assert [f.severity for f in check(judged, severities={code: "approval"}) if f.code == code] == [
            Severity.APPROVAL
        ]
        assert [f.severity for f in check(judged, severities={code: Severity.ERROR})] == [Severity.ERROR]
        assert check(judged, severities={code: OFF}) == []

    def test_that_are_none_change_nothing(self) -> None:
        judged = submission("custom_job", self.LONG)

        assert check(judged, severities={"long_runs_save_checkpoints": "loud", "no_such_rule": "off"}) == check(judged)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, "standard"),
        ({"jobSpec.scheduling.strategy": "STANDARD"}, "standard"),
        ({"jobSpec.scheduling.strategy": "ON_DEMAND"}, "standard"),
        (cases.NONE, "standard"),
        (cases.SPOT, "spot"),
        ({"jobSpec.scheduling.strategy": "LOW_COST"}, "spot"),
        (cases.FLEX | {"jobSpec.scheduling.maxWaitDuration": "0s"}, "flex_start"),
        (cases.ANY, "reservation"),
        (cases.RESERVED, "reservation"),
        (cases.PR, "persistent"),
        (cases.PR | cases.SPOT, "persistent"),
    ],
)
def test_strategy_is_read_from_the_spec(changes: dict[str, Any], key: str) -> None:
    assert strategy_of(submission("custom_job", changes)).key == key


class TestStrategies:
    def test_come_in_the_order_people_see(self) -> None:
        assert list(STRATEGIES) == ["standard", "spot", "flex_start", "reservation", "persistent"]

    @pytest.mark.parametrize("kind", BODIES)
    @pytest.mark.parametrize("before", [{}, cases.SPOT, cases.FLEX, cases.RESERVED, cases.PR])
    def test_apply_asks_for_one_strategy_and_drops_the_others(self, kind: str, before: dict[str, Any]) -> None:
        changed = submission(kind, before if kind == "custom_job" else {})

        for key in ("standard", "spot", "flex_start", "reservation"):
            after = STRATEGIES[key].apply(changed)

            assert strategy_of(after).key == key
            assert after.machines_summary == changed.machines_summary
            assert [f.code for f in check(after) if f.severity is Severity.ERROR] == []

    def test_apply_keeps_what_belongs_to_them(self) -> None:
        waiting = submission("custom_job", cases.FLEX | {"jobSpec.scheduling.maxWaitDuration": "0s"})
        named = submission("custom_job", cases.PR)

        assert STRATEGIES["flex_start"].apply(waiting).job == waiting.job
        assert STRATEGIES["spot"].apply(waiting).job_spec.scheduling.max_wait_duration is None
        assert STRATEGIES["persistent"].apply(named).job == named.job
        assert (
            STRATEGIES["reservation"].apply(submission("custom_job", cases.RESERVED)).job_spec
            == submission("custom_job", cases.RESERVED).job_spec
        )

    @pytest.mark.parametrize("key", ["standard", "spot", "flex_start", "persistent"])
    def test_apply_lets_a_pool_go_on_wanting_no_reservation(self, key: str) -> None:
        asked = submission("custom_job", cases.NONE | cases.PR)

        after = STRATEGIES[key].apply(asked)

        assert after.job_spec.worker_pool_specs == asked.job_spec.worker_pool_specs

    def test_can_judge_a_submission_that_asks_for_another(self) -> None:
        plain = submission("custom_job", {})

        assert "reservation_is_asked_for" in {f.code for f in check(plain, strategy=STRATEGIES["reservation"])}
        assert "resource_is_named" in {f.code for f in check(plain, strategy=STRATEGIES["persistent"])}
        assert "reservation_is_asked_for" not in {f.code for f in check(submission("custom_job", cases.RESERVED))}

    def test_say_who_is_preempted_how_often_restarted_and_how_long_they_wait(self) -> None:
        assert [s.key for s in STRATEGIES.values() if s.preemptible] == ["spot"]
        assert (STRATEGIES["spot"].restart_allowance, STRATEGIES["standard"].restart_allowance) == (6, 3)
        assert STRATEGIES["flex_start"].default_wait is not None
        assert STRATEGIES["flex_start"].default_wait.total_seconds() == 86_400

    @pytest.mark.parametrize(("asked", "hours"), [({}, 24), ({WAIT: "3600s"}, 1), ({WAIT: "0s"}, 0)])
    def test_wait_as_long_as_the_job_says(self, asked: dict[str, Any], hours: int) -> None:
        assert max_wait(submission("custom_job", cases.FLEX | asked)) == timedelta(hours=hours)
        assert max_wait(submission("custom_job", asked)) is None

    def test_serve_the_machines_that_their_pages_name(self) -> None:
        def served(key: str, machine_type: str) -> bool:
            return STRATEGIES[key].serves(cases_machine(machine_type))

        assert served("flex_start", "g2-standard-4")
        assert not served("flex_start", "g4-standard-48")
        assert not served("flex_start", "n1-standard-4")
        assert not served("standard", "a4x-highgpu-4g")
        assert served("reservation", "a4x-highgpu-4g")
        assert not served("spot", "n2d-standard-4")


def cases_machine(machine_type: str) -> Any:
    from jobs.catalog import machine

    found_machine = machine(machine_type)
    assert found_machine is not None
    return found_machine
