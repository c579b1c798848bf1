"""Tests that a spec becomes fields and fields become the same spec, whatever it contains."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.forms.compose.form import Compose
from dashboard.forms.compose.initial import initial_values
from dashboard.forms.compose.paths import MISSING, get, leaves
from jobs import spec
from jobs.spec import Submission
from jobs.strategies import STRATEGIES
from tests.support import samples, specs
from tests.support.examples import examples

TEAMS = [("1", "vision")]
HOUR = timedelta(hours=1)
A100 = {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}


def posted(form: Compose) -> dict[str, str]:
    """Return what a browser posts of the form: an input keeps no line ends, a text area sends them as CR LF."""
    forms = (form.job, form.advanced, form.tuning, form.pipeline, *form.pools, *form.parameters)
    areas = {each.add_prefix(name) for each in forms for name in each.fields if "<textarea" in str(each[name])}
    lines = {name: str(value).replace("\r\n", "\n").replace("\r", "\n") for name, value in form.data.items()}
    return {name: text.replace("\n", "\r\n" if name in areas else "") for name, text in lines.items()}


def composed(submission: Submission, **changes: str) -> Submission:
    """Fill the form from a submission, post it as a browser would, with `changes`, and read it."""
    begun = Compose(teams=TEAMS, initial=initial_values(submission, expected=HOUR))
    form = Compose(teams=TEAMS, data=posted(begun) | changes, is_final=True)
    form.read()
    again = form.submission(project=submission.project)
    assert again is not None
    assert form.is_readable, [dict(each.errors) for each in form.active if each.errors]
    return again


def sent(kind: str, body: dict[str, Any]) -> Submission:
    job, _ = spec.read(kind, body)
    return Submission(kind=kind, project="p", region="us-central1", job=job)


@st.composite
def submissions(draw: st.DrawFn) -> Submission:
    """Draw any job that can be read, under a strategy of its own that says so consistently."""
    drawn = specs.jobs() | specs.jobs(newer=True)
    kind, body = draw(drawn.filter(lambda found: found[0] != "persistent_resource"))
    strategy = draw(st.sampled_from(sorted(STRATEGIES)))
    return STRATEGIES[strategy].apply(sent(kind, body))


class TestAnySpec:
    @settings(max_examples=examples(3), suppress_health_check=list(HealthCheck))
    @given(submissions())
    def test_keeps_every_value(self, submission: Submission) -> None:
        before, after = (spec.rest_body(each.job) for each in (submission, composed(submission)))

        kept = dict(leaves(after))
        lost = {path: value for path, value in leaves(before) if value not in ({}, []) and kept.get(path) != value}
        assert lost == {}

    @settings(max_examples=examples(3), suppress_health_check=list(HealthCheck))
    @given(submissions())
    def test_stays_the_same_from_then_on(self, submission: Submission) -> None:
        once = composed(submission)

        assert spec.rest_body(composed(once).job) == spec.rest_body(once.job)
        assert (once.kind, once.project, once.region) == (submission.kind, submission.project, submission.region)


class TestEachKind:
    @pytest.mark.parametrize("kind", sorted(samples.BODIES))
    @pytest.mark.parametrize("strategy", sorted(STRATEGIES))
    def test_comes_back_as_it_went(self, kind: str, strategy: str) -> None:
        submission = STRATEGIES[strategy].apply(samples.submission(kind=kind))

        assert composed(submission) == submission

    def test_fills_the_fields_of_a_study(self) -> None:
        initial = initial_values(samples.submission(kind="hyperparameter_tuning_job"), expected=HOUR)

        assert (initial["metric_id"], initial["goal"], initial["max_trials"]) == ("accuracy", "MAXIMIZE", 4)
        row = initial["parameters"][0]
        assert (row["parameter_id"], row["kind"], row["low"], row["high"]) == ("learning-rate", "double", 0.001, 0.1)
        assert "carried" not in initial

    def test_fills_the_fields_of_a_pool(self) -> None:
        initial = initial_values(samples.submission(), expected=HOUR)

        assert initial["strategy"] == "spot"
        assert initial["timeout"] == timedelta(days=1)
        pool = initial["pools"][0]
        assert (pool["machine_type"], pool["replicas"], pool["runs"]) == ("a2-highgpu-1g", 1, "container")
        assert pool["accelerator_type"] is None
        assert pool["args"] == ("--epochs", "3") or pool["args"] == ["--epochs", "3"]
        assert pool["carried"] == {}


class TestCarried:
    BODY = samples.body() | {"encryptionSpec": {"kmsKeyName": "k"}}

    def submission(self) -> Submission:
        body = deepcopy(self.BODY)
        body["jobSpec"]["protectedArtifactLocationId"] = "us-central1"
        body["jobSpec"]["enableWebAccess"] = False
        body["jobSpec"]["workerPoolSpecs"][0]["lustreMounts"] = [{"instanceIp": "10.0.0.9", "mountPoint": "lake"}]
        return sent("custom_job", body)

    def test_keeps_what_has_no_field(self) -> None:
        again = spec.rest_body(composed(self.submission()).job)

        assert get(again, "jobSpec.protectedArtifactLocationId") == "us-central1"
        assert get(again, "jobSpec.enableWebAccess") is False
        assert get(again, "jobSpec.workerPoolSpecs[0].lustreMounts[0].mountPoint") == "lake"

    def test_leaves_it_out_when_asked(self) -> None:
        again = spec.rest_body(composed(self.submission(), drop_carried="on", **{"pool-0-drop_carried": "on"}).job)

        assert get(again, "jobSpec.protectedArtifactLocationId") is MISSING
        assert get(again, "jobSpec.workerPoolSpecs[0].lustreMounts") is MISSING
        assert get(again, "encryptionSpec.kmsKeyName") == "k"

    def test_a_field_counts_more(self) -> None:
        again = spec.rest_body(composed(self.submission(), web_access="on").job)

        assert get(again, "jobSpec.enableWebAccess") is True

    def test_does_not_go_into_another_kind(self) -> None:
        submission = sent("training_pipeline", samples.pipeline() | {"inputDataConfig": {"savedQueryId": "7"}})

        again = composed(submission, kind="custom_job")

        assert again.kind == "custom_job"
        assert get(spec.rest_body(again.job), "jobSpec.workerPoolSpecs[0].machineSpec.machineType") == "a2-highgpu-1g"

    def test_is_not_taken_back_when_somebody_changed_it(self) -> None:
        data = posted(Compose(teams=TEAMS, initial=initial_values(self.submission(), expected=HOUR)))

        form = Compose(teams=TEAMS, data=data | {"carried": data["carried"][:-3] + "abc"})
        form.read()

        assert not form.is_readable
        assert "hidden part of this form was changed" in str(form.job.errors["carried"])


class TestReservation:
    def reserved(self, *affinities: dict[str, Any]) -> Submission:
        pools = [
            samples.body(machine=A100 | ({"reservationAffinity": each} if each else {}))["jobSpec"]["workerPoolSpecs"][
                0
            ]
            for each in affinities
        ]
        return sent("custom_job", {"displayName": "x", "jobSpec": {"workerPoolSpecs": pools}})

    NAMED = {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["projects/p/zones/us-central1-a/reservations/r"],
    }

    def test_one_for_every_pool_stands_once(self) -> None:
        submission = self.reserved(self.NAMED, self.NAMED)

        initial = initial_values(submission, expected=HOUR)

        assert initial["reservation"] == self.NAMED["values"][0]
        assert initial["pools"][1]["affinity"] is None
        assert composed(submission) == submission

    def test_different_ones_stand_at_their_pools(self) -> None:
        submission = self.reserved(self.NAMED, {"reservationAffinityType": "ANY_RESERVATION"}, {})

        initial = initial_values(submission, expected=HOUR)

        assert "reservation" not in initial
        assert initial["pools"][0]["affinity"] == "SPECIFIC_RESERVATION"
        assert composed(submission) == submission


def test_a_skipped_pool_stays_empty() -> None:
    body = samples.body()
    body["jobSpec"]["workerPoolSpecs"] += [{}, body["jobSpec"]["workerPoolSpecs"][0]]
    submission = sent("custom_job", body)

    assert initial_values(submission, expected=HOUR)["pools"][1]["skip"] is True
    assert composed(submission) == submission
