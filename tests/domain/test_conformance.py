"""Tests of `manage.py conformance` against a scripted emulator: the claims, the budget, and the cleaning."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from jobs import conformance
from jobs.conformance import Experiment, OverBudget, RunBudget
from jobs.conformance.catalogue import WHOLE_RUN
from jobs.models import ExternalJob, Job, JobEvent, Team
from tests.support.running_emulator import Running, running

pytestmark = pytest.mark.django_db
SCARCE = {
    "quotas": {"us-central1": {"custom_model_training_preemptible_nvidia_t4_gpus": 0}},
    "machines": {"us-central1": {"NVIDIA_L4": 0}},
    "reclaim": {"mean_seconds": 200, "seed": 7},
}
"""No quota for a T4 on Spot, no L4, and Spot VMs that are preempted."""
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def service(tmp_path: Path, settings: Any) -> Iterator[Running]:
    """An emulator to which the site points."""
    with running(tmp_path / "emulator", scripted=True, is_waited_for=False) as emulator:
        settings.VERTEX_ENDPOINT = settings.LOGGING_ENDPOINT = settings.STORAGE_ENDPOINT = emulator.url
        settings.MONITORING_ENDPOINT = emulator.url
        settings.STATE_DIR = tmp_path
        emulator.call("POST", "/_emulator/capacity", SCARCE)
        yield emulator


@pytest.fixture
def run(service: Running, tmp_path: Path) -> Run:
    """`run("--only", "success")` returns exit code and output; the recording is `recording.jsonl`."""

    def call(*arguments: str, budget: str = "3.00") -> tuple[int, str]:
        out, code = StringIO(), 0
        place = ["--project", "apollo-research", "--region", "us-central1", "--bucket", "gs://apollo-data"]
        options = [*place, "--budget", budget, "--output", str(tmp_path / "recording.jsonl"), *arguments]
        try:
            call_command("conformance", *options, stdout=out)
        except SystemExit as end:
            code = int(str(end.code))
        except CommandError as error:
            out.write(f"{error}\n")
            code = error.returncode
        return code, out.getvalue()

    return call


def rows(tmp_path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a kind in the recording."""
    lines = map(json.loads, (tmp_path / "recording.jsonl").read_text().splitlines())
    return [row for row in lines if row["kind"] == kind]


def left(service: Running) -> list[str]:
    """Return the names of everything that exists at the emulator."""
    found = service.truth()
    place = "projects/apollo-research/locations/us-central1"
    resources = service.call("GET", f"/v1/{place}/persistentResources").get("persistentResources", [])
    objects = service.call("GET", "/storage/v1/b/apollo-data/o").get("items", [])
    return [each["name"] for each in [*found["jobs"], *found["studies"], *found["pipelines"], *resources, *objects]]


class TestClaims:
    def test_every_claim_holds_at_the_emulator(self, run: Run, tmp_path: Path, service: Running) -> None:
        _, text = run("--with", "all")

        claims = rows(tmp_path, "claim")
        assert len(claims) == sum(len(each.claims) for each in conformance.EXPERIMENTS) + len(WHOLE_RUN)
        assert [row for row in claims if row["outcome"] != "holds"] == [], text
        assert text.splitlines()[-1] == f"{len(claims)} of {len(claims)} claims hold; 0 differ."
        assert left(service) == []
        written = (tmp_path / "recording.jsonl").read_text()
        for private in ("apollo", "127.0.0.1", service.url):
            assert private not in written

    def test_a_recording_is_checked_again(self, run: Run, tmp_path: Path) -> None:
        run("--only", "exit-1")
        before = rows(tmp_path, "claim")

        recording = conformance.read(tmp_path / "recording.jsonl")
        names = {answer.experiment for answer in recording.answers}
        conformance.check_all(recording, [each for each in conformance.EXPERIMENTS if each.name in names])

        assert recording.outcomes == before
        _, text = run("--check", str(tmp_path / "recording.jsonl"))
        assert "claims hold" in text

    def test_another_service_differs(self, run: Run, tmp_path: Path, service: Running) -> None:
        service.fault("400", "customJobs.cancel", message="No.", times=1)

        code, text = run("--only", "cancel-queued")

        assert code == 1
        assert "DIFFERS  cancel-queued/cancel_answer" in text


class TestBudget:
    def test_too_small_a_budget_creates_nothing(self, run: Run, service: Running) -> None:
        code, text = run(budget="0.05")

        assert code == 2
        assert "over the budget of $0.05" in text
        assert "Nothing was created." in text
        assert "customJobs.create" not in service.truth()["calls"]

    @pytest.mark.parametrize("budget", ["much", "NaN", "-1", "Infinity"])
    def test_a_budget_is_an_amount(self, run: Run, budget: str) -> None:
        code, text = run(f"--budget={budget}")

        assert code == 2
        assert "is not an amount in USD" in text

    def test_a_machine_without_a_price_creates_nothing(self, run: Run, service: Running) -> None:
        code, text = run("--machine", "z9-standard-4")

        assert code == 2
        assert "No price is known" in text
        assert "customJobs.create" not in service.truth()["calls"]

    def test_a_job_that_costs_more_than_planned_ends_the_run(
        self, run: Run, service: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its plan claims that it may run for 10 s, and it runs for minutes."""
        usual = next(each for each in conformance.EXPERIMENTS if each.name == "cancel-running")
        cheap = replace(usual, plan=lambda site: [replace(usual.plan(site)[0], timeout_seconds=-175)])
        later = next(each for each in conformance.EXPERIMENTS if each.name == "timeout")
        monkeypatch.setattr(conformance, "EXPERIMENTS", (cheap_steps(cheap), later))

        code, text = run("--parallel", "1")

        assert code == 2
        assert "so everything is cancelled" in text
        assert service.truth()["calls"]["customJobs.create"] == 1
        assert left(service) == []

    @given(st.lists(st.tuples(st.integers(1, 5), st.decimals(0, 3, places=4))))
    def test_what_is_committed_never_exceeds_the_budget(self, asked: list[tuple[int, Decimal]]) -> None:
        budget = RunBudget(Decimal(2))
        for number, usd in asked:
            before = dict(budget.committed)
            try:
                budget.commit(number, usd)
            except OverBudget:
                assert budget.committed == before
            assert sum(budget.committed.values()) <= 2


def cheap_steps(experiment: Experiment) -> Experiment:
    """Return the experiment with steps that only watch its job."""

    def steps(lab: Any, planned: Any) -> Iterator[float]:
        yield from lab.watch(lab.create(planned[0]))

    return replace(experiment, steps=steps)


class TestCleaning:
    def test_nothing_has_to_be_removed_after_refusals(self, run: Run, service: Running, tmp_path: Path) -> None:
        code, text = run("--only", "refusals")

        assert code == 0, text
        assert "Removing" not in text
        assert (tmp_path / "conformance.jsonl").read_text() == ""

    def test_a_create_without_an_answer_is_found_by_its_label(self, run: Run, service: Running) -> None:
        service.fault("lost", "customJobs.create", times=1)

        code, text = run("--only", "exit-1")

        assert code == 0  # nothing was observed, so nothing differs
        assert service.truth()["calls"]["customJobs.create"] == 1
        assert "Nothing is left." in text
        assert left(service) == []

    def test_a_list_may_show_such_a_job_late(self, run: Run, service: Running) -> None:
        service.fault("lost", "customJobs.create", times=1)
        service.fault("stale", "customJobs.list", seconds=60, times=1_000)

        run("--only", "exit-1")

        assert left(service) == []

    def test_objects_of_the_run_are_deleted_and_no_others(
        self, run: Run, service: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(conformance, "new_run", lambda: "r0000000a")
        for name in ("trainboard-conformance/r0000000a/exit-1/model/x", "trainboard-conformance/r0000000b/y", "z"):
            path = f"/upload/storage/v1/b/apollo-data/o?uploadType=media&name={quote(name, safe='')}"
            service.call("POST", path, {})

        _, text = run("--only", "cancel-queued")

        assert "Nothing is left." in text
        assert left(service) == ["trainboard-conformance/r0000000b/y", "z"]

    def test_what_could_not_be_removed_stays_in_the_journal(self, run: Run, service: Running, tmp_path: Path) -> None:
        service.fault("503", "customJobs.list", times=1_000, after=0)
        code, text = run("--only", "exit-1")
        assert code == 2
        assert "--clean" in text
        assert left(service) != []

        service.forget_faults()
        code, text = run("--clean")

        assert code == 0
        assert left(service) == []
        assert (tmp_path / "conformance.jsonl").read_text() == ""

    def test_a_line_of_the_journal_that_was_cut_is_left_out(self, run: Run, service: Running, tmp_path: Path) -> None:
        (tmp_path / "conformance.jsonl").write_text('{"run": "r1", "number": 1, "exper')

        code, _ = run("--clean")

        assert code == 0

    def test_missing_permissions_end_the_run(self, run: Run, service: Running) -> None:
        service.fault("403", "customJobs.create", times=1_000, message="Permission denied.")

        code, text = run("--only", "exit-1")

        assert code == 2
        assert "Permission denied." in text


class TestReplay:
    def test_observation_makes_the_same_of_a_recording(self, run: Run, tmp_path: Path) -> None:
        run("--only", "success", "--only", "exit-134", "--only", "cancel-queued", "--only", "cancel-running")
        before = {model: model.objects.count() for model in (Job, Team, JobEvent, ExternalJob)}

        found = {each.experiment: each for each in conformance.replay(conformance.read(tmp_path / "recording.jsonl"))}

        assert {name: (each.state, each.restarts) for name, each in found.items()} == {
            "success": ("succeeded", 0),
            "exit-134": ("failed", 3),
            "cancel-queued": ("cancelled", 0),
            "cancel-running": ("cancelled", 0),
        }
        assert found["cancel-queued"].run_time == timedelta()
        assert found["success"].run_time > timedelta(seconds=20)
        assert {model: model.objects.count() for model in before} == before
        code, text = run("--replay", str(tmp_path / "recording.jsonl"))
        assert code == 0
        assert "failed, ran " in text

    @pytest.mark.parametrize("text", ["{", "[1]", '{"kind": "http", "method": "customJobs.get", "body": {}}'])
    def test_a_file_that_is_no_recording_is_refused(self, run: Run, tmp_path: Path, text: str) -> None:
        (tmp_path / "other.jsonl").write_text(text)

        code, words = run("--replay", str(tmp_path / "other.jsonl"))

        assert code == 2
        assert "line 1" in words
