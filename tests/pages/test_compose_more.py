"""Tests of the compose page beyond one worker pool: initial values, rows, kinds, strategies, lists, request text."""

import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Job, Team
from jobs.requests import imported_drafts
from tests.pages.conftest import STUDY, MakeJob, SignIn, fields_of, text_in, text_of
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
OOM = {"code": 8, "message": "Replicas low on memory: workerpool0."}


class TestStart:
    def test_a_job_is_copied_into_the_fields_and_remembered(
        self, engineer: Client, make_job: MakeJob, owner: User
    ) -> None:
        job = make_job("succeeded", name="resnet", labels={"phase": "two"})

        page = engineer.get(f"/jobs/new/?job={job.pk}").content.decode()
        fields = fields_of(page)
        answer = engineer.post("/jobs/new/", fields)

        assert f"A copy of resnet, which {owner.get_username()} requested." in page
        assert (fields["name"], fields["strategy"], fields["labels"]) == ("resnet", "spot", "phase=two")
        copy = Job.objects.exclude(pk=job.pk).get()
        assert answer["Location"] == f"/jobs/{copy.pk}/"
        assert copy.cloned_from == job
        assert copy.spec == job.spec

    @pytest.mark.parametrize("kind", sorted(samples.BODIES))
    def test_a_draft_of_any_kind_is_requested_as_it_is(
        self, engineer: Client, team: Team, owner: User, clock: Clock, kind: str
    ) -> None:
        submission = samples.submission(kind=kind)
        draft = imported_drafts.save_draft(
            submission=submission, team=team, by=owner, now=clock.now, expected=timedelta(minutes=6)
        )

        engineer.post("/jobs/new/", fields_of(engineer.get(f"/jobs/new/?draft={draft.pk}").content.decode()))

        assert Job.objects.get().spec == draft.spec
        assert Job.objects.get().kind == kind

    def test_a_failed_job_offers_copies_that_mend_it(self, engineer: Client, make_job: MakeJob) -> None:
        job = make_job("failed", error=OOM)

        link = re.search(r'href="([^"]*fix=next_machine_size)"', engineer.get(f"/jobs/{job.pk}/").content.decode())
        assert link
        page = engineer.get(link[1].replace("&amp;", "&")).content.decode()

        assert fields_of(page)["pool-0-machine_type"] == "a2-highgpu-2g"
        assert "Changed: worker pool 0 has a2-highgpu-2g instead of a2-highgpu-1g." in page

    def test_a_fix_that_nobody_suggested_changes_nothing(self, engineer: Client, make_job: MakeJob) -> None:
        job = make_job("failed", error=OOM)

        page = engineer.get(f"/jobs/new/?job={job.pk}&fix=<b>more_disk").content.decode()

        assert fields_of(page)["pool-0-machine_type"] == "a2-highgpu-1g"
        assert "Changed:" not in page

    def test_a_stranger_finds_no_such_job(self, stranger: User, signed_in: SignIn, make_job: MakeJob) -> None:
        job = make_job("failed", error=OOM)

        assert signed_in(stranger).get(f"/jobs/new/?job={job.pk}&fix=more_disk").status_code == 404

    def test_a_stranger_cannot_claim_to_have_copied_a_job(
        self, stranger: User, signed_in: SignIn, make_job: MakeJob
    ) -> None:
        job, client = make_job("succeeded"), signed_in(stranger)
        fields = fields_of(client.get("/jobs/new/?example=1").content.decode())

        client.post("/jobs/new/", fields | {"cloned_from": str(job.pk)})

        assert Job.objects.exclude(pk=job.pk).get().cloned_from is None


class TestRows:
    def press(self, engineer: Client, fields: dict[str, str], do: str) -> dict[str, str]:
        answer = engineer.post("/jobs/new/", fields | {"do": do})
        assert answer.status_code == 200
        return fields_of(answer.content.decode())

    def test_pools_are_added_up_to_four_and_removed(self, engineer: Client, example: dict[str, str]) -> None:
        fields = example
        for _ in range(5):
            fields = self.press(engineer, fields, "add_pool")

        assert [name for name in fields if name.endswith("machine_type")] == [
            f"pool-{at}-machine_type" for at in range(4)
        ]
        assert fields["pool-3-args"] == example["pool-0-args"]
        fields = self.press(engineer, fields | {"pool-2-args": "--second"}, "remove_pool-1")
        assert fields["pool-1-args"] == "--second"
        assert "pool-3-machine_type" not in fields
        assert Job.objects.count() == 0

    def test_the_primary_pool_stays(self, engineer: Client, example: dict[str, str]) -> None:
        assert "pool-0-machine_type" in self.press(engineer, example, "remove_pool-0")

    def test_a_skipped_pool_is_sent_empty(self, engineer: Client, example: dict[str, str]) -> None:
        fields = self.press(engineer, self.press(engineer, example, "add_pool"), "add_pool")

        engineer.post("/jobs/new/", fields | {"pool-1-skip": "on", "pool-2-replicas": "2", "run_time": "6 min"})

        pools = Job.objects.get().spec["jobSpec"]["workerPoolSpecs"]
        assert (len(pools), pools[1], pools[2]["replicaCount"]) == (3, {}, "2")

    def test_parameters_are_added_and_removed(self, engineer: Client, example: dict[str, str]) -> None:
        fields = self.press(engineer, example | {"parameter-0-parameter_id": "lr"}, "add_parameter")
        fields = self.press(engineer, fields | {"parameter-1-parameter_id": "depth"}, "remove_parameter-0")

        assert fields["parameter-0-parameter_id"] == "depth"
        assert "parameter-1-parameter_id" not in fields

    @pytest.mark.parametrize("do", ["add_", "remove_pool-99", "remove_pool-²", "remove_team-0", "<b>", "add_pool" * 9])
    def test_an_unknown_button_changes_nothing(self, engineer: Client, example: dict[str, str], do: str) -> None:
        assert self.press(engineer, example, do).keys() == example.keys()


class TestKinds:
    def test_a_study_is_requested(self, engineer: Client, example: dict[str, str]) -> None:
        answer = engineer.post("/jobs/new/", example | STUDY)

        assert answer.status_code == 302, text_in(answer.content.decode(), "compose")
        job = Job.objects.get()
        assert job.kind == "hyperparameter_tuning_job"
        study = job.spec["studySpec"]
        assert study["metrics"] == [{"metricId": "accuracy", "goal": "MAXIMIZE"}]
        assert study["medianAutomatedStoppingSpec"] == {}
        assert [each["parameterId"] for each in study["parameters"]] == ["lr", "optimizer", "batch"]
        assert study["parameters"][0]["doubleValueSpec"] == {"minValue": 0.0001, "maxValue": 0.1}
        assert study["parameters"][2]["discreteValueSpec"] == {"values": [16, 32]}
        assert job.spec["trialJobSpec"]["scheduling"]["strategy"] == "SPOT"

    @pytest.mark.parametrize("task", ["custom", "tuning"])
    def test_a_pipeline_is_requested(self, engineer: Client, example: dict[str, str], task: str) -> None:
        around = {
            "kind": "training_pipeline",
            "task": task,
            "model_name": "penguins",
            "model_image": "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-5:latest",
        }

        answer = engineer.post("/jobs/new/", example | STUDY | around)

        assert answer.status_code == 302, text_in(answer.content.decode(), "compose")
        spec = Job.objects.get().spec
        assert spec["modelToUpload"]["displayName"] == "penguins"
        assert ("studySpec" in spec["trainingTaskInputs"]) == (task == "tuning")
        assert ("hyperparameter" in spec["trainingTaskDefinition"]) == (task == "tuning")

    @pytest.mark.parametrize(
        ("typed", "written"),
        [
            (
                {"split": "stratified", "split_key": "species", "training_fraction": "0.8", "test_fraction": "0.2"},
                {"stratifiedSplit": {"key": "species", "trainingFraction": 0.8, "testFraction": 0.2}},
            ),
            (
                {"split": "filter", "training_filter": "labels.a=1", "split_key": "not asked for"},
                {"filterSplit": {"trainingFilter": "labels.a=1"}},
            ),
            ({"split": "", "training_fraction": "0.5"}, {}),
        ],
        ids=["stratified", "filter", "none"],
    )
    def test_the_data_of_a_pipeline_is_split(
        self, engineer: Client, example: dict[str, str], typed: dict[str, str], written: dict[str, object]
    ) -> None:
        data = {"kind": "training_pipeline", "task": "custom", "dataset": "123", "dataset_output": "gs://bucket/data"}

        answer = engineer.post("/jobs/new/", example | data | typed)

        assert answer.status_code == 302, text_in(answer.content.decode(), "compose")
        job = Job.objects.get()
        split = {name: value for name, value in job.spec["inputDataConfig"].items() if name.endswith("Split")}
        assert split == written
        copied = fields_of(engineer.get(f"/jobs/new/?job={job.pk}").content.decode())
        assert copied["split"] == typed["split"]

    def test_lustre_and_dns_zones_are_written_and_judged(self, engineer: Client, example: dict[str, str]) -> None:
        typed = {
            "pool-0-lustre_mounts": "10.0.0.9 projects/p/locations/z/instances/i lustrefs data",
            "network_attachment": "attachment",
            "dns_peerings": "corp.example. host-project main",
        }

        wrong = engineer.post("/jobs/new/check/", example | typed | {"dns_peerings": "corp.example host-project main"})
        answer = engineer.post("/jobs/new/", example | typed)

        assert "does not end with a dot" in text_in(wrong.content.decode(), "id_dns_peerings-finds")
        assert answer.status_code == 302, text_in(answer.content.decode(), "compose")
        spec = Job.objects.get().spec["jobSpec"]
        assert spec["pscInterfaceConfig"]["dnsPeeringConfigs"] == [
            {"domain": "corp.example.", "targetProject": "host-project", "targetNetwork": "main"}
        ]
        assert spec["workerPoolSpecs"][0]["lustreMounts"] == [
            {
                "instanceIp": "10.0.0.9",
                "volumeHandle": "projects/p/locations/z/instances/i",
                "filesystem": "lustrefs",
                "mountPoint": "data",
            }
        ]

    def test_tells_what_is_wrong_at_the_field_of_the_study(self, engineer: Client, example: dict[str, str]) -> None:
        wrong = {"parameter-0-low": "-1", "parameter-2-numbers": "32, 16", "parallel_trials": "x", "max_trials": "0"}

        page = engineer.post("/jobs/new/", example | STUDY | wrong).content.decode()

        for field in ("parameter-0-scale", "parameter-2-numbers", "parallel_trials", "max_trials"):
            found = text_in(page, f"id_{field}-finds") + text_in(page, "id_parameter-0-low-finds") * ("-0-" in field)
            assert "error" in found, field
        assert Job.objects.count() == 0

    def test_what_belongs_to_another_kind_is_kept_and_not_judged(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        page = engineer.post("/jobs/new/", example | STUDY | {"kind": "custom_job", "max_trials": "many"})

        assert page.status_code == 302
        assert "studySpec" not in Job.objects.get().spec


class TestStrategies:
    def test_all_five_are_shown(self, engineer: Client) -> None:
        page = engineer.get("/jobs/new/?example=1").content.decode()

        persistent = engineer.post("/jobs/new/check/", fields_of(page) | {"strategy": "persistent"}).content.decode()
        assert "custom_model_training_preemptible_nvidia_a100_gpus" in text_in(page, "chosen")
        assert re.search(r"saves \d+ %", text_in(page, "strategy-spot-name"))
        assert "Choose a persistent resource." in text_in(page, "strategy-persistent-facts")
        assert "Uses no training quota." in text_in(persistent, "chosen")
        assert "/ h" in text_in(page, "strategy-reservation-name")

    def test_a_reservation_is_written_into_every_pool(self, engineer: Client, example: dict[str, str]) -> None:
        name = "projects/p/zones/us-central1-a/reservations/r"

        engineer.post("/jobs/new/", example | {"strategy": "reservation", "reservation": name, "run_time": "6 min"})

        affinity = Job.objects.get().spec["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["reservationAffinity"]
        assert affinity["values"] == [name]

    def test_a_wrong_reservation_is_told_where_it_was_written(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/", example | {"strategy": "reservation", "reservation": "mine"})

        assert "full name" in text_in(page.content.decode(), "id_reservation-finds")

    def test_a_persistent_resource_is_named(self, engineer: Client, example: dict[str, str]) -> None:
        asked = example | {"strategy": "persistent", "run_time": "6 min"}

        assert "No persistent resource is named" in text_of(engineer.post("/jobs/new/", asked))
        engineer.post("/jobs/new/", asked | {"resource": "vision-a100"})

        assert Job.objects.get().spec["jobSpec"]["persistentResourceId"] == "vision-a100"


class TestLists:
    def test_a_machine_that_the_region_lacks_cannot_be_chosen_and_says_why(self, engineer: Client) -> None:
        page = engineer.get("/jobs/new/?example=1").content.decode()
        away = fields_of(page) | {"region": "us-west2", "pool-0-machine_type": "n1-standard-8"}

        told = engineer.post("/jobs/new/check/", away).content.decode()

        option = re.search(r'<option value="a2-highgpu-1g"[^>]*>[^<]*', told)
        assert option
        assert "disabled" in option[0]
        assert "in us-west2" in option[0]

    def test_only_lists_that_change_are_drawn_anew(self, engineer: Client, example: dict[str, str]) -> None:
        same = engineer.post("/jobs/new/check/", example).content.decode()
        other = engineer.post("/jobs/new/check/", example | {"pool-0-machine_type": "n1-standard-8"}).content.decode()

        assert "<select" not in same
        assert 'id="id_pool-0-accelerator_type"' in other
        assert "NVIDIA_TESLA_T4" in other
        assert 'name="pool-0-machine_type"' not in other

    def test_a_chosen_machine_that_does_not_fit_stays_and_is_found(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        page = engineer.post("/jobs/new/", example | {"region": "us-west2"}).content.decode()

        assert fields_of(page)["pool-0-machine_type"] == "a2-highgpu-1g"
        assert "us-west2 had no" in text_in(page, "id_pool-0-machine_type-finds") + text_in(
            page, "id_pool-0-accelerator_type-finds"
        )


class TestRequest:
    @pytest.mark.parametrize(
        ("written", "words"),
        [
            ("rest", '"displayName"'),
            ("gcloud-yaml", "workerPoolSpecs:"),
            ("gcloud", "gcloud ai custom-jobs create"),
            ("python", "import"),
            ("curl", "curl -X POST"),
        ],
    )
    def test_is_written_in_each_format(
        self, engineer: Client, example: dict[str, str], written: str, words: str
    ) -> None:
        for address in ("/jobs/new/check/", "/jobs/new/"):
            page = engineer.post(address, example | {"written": written, "do": "check"}).content.decode()

            assert words in text_in(page, "request")

    def test_says_what_gcloud_cannot_write(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/check/", example | {"kind": "training_pipeline", "written": "gcloud"})

        assert "no command for training pipelines" in text_in(page.content.decode(), "request")


class TestBadInput:
    @pytest.mark.parametrize("address", ["/jobs/new/", "/jobs/new/check/"])
    def test_html_in_every_field_is_escaped(self, engineer: Client, example: dict[str, str], address: str) -> None:
        evil = "<script>alert(1)</script>\"'"
        fields = {name: evil for name in example if name not in ("csrfmiddlewaretoken", "team", "request_key")}

        for kind in ("custom_job", "hyperparameter_tuning_job", "training_pipeline"):
            page = engineer.post(address, fields | {"kind": kind, "strategy": "spot"}).content.decode()

            assert "<script>alert" not in page

    def test_a_megabyte_in_any_field_is_a_finding_soon(self, engineer: Client, example: dict[str, str]) -> None:
        rows = ("pool-0-args", "pool-0-machine_type", "parameter-0-words", "parameter-1-parent_values")
        for name in ("name", "labels", "carried", "region", *rows):
            begun = time.thread_time()
            page = engineer.post("/jobs/new/", example | STUDY | {name: "x=1," * 262_144})

            assert page.status_code == 422, name
            assert time.thread_time() - begun < 5, name

    def test_more_rows_than_anybody_needs_are_not_read(self, engineer: Client, example: dict[str, str]) -> None:
        rows = {f"pool-{at}-machine_type": "n1-standard-4" for at in range(850)}

        page = engineer.post("/jobs/new/", example | rows | {"pool-TOTAL_FORMS": "900"})

        assert page.status_code == 422
        assert "There are more rows than this form takes." in text_in(page.content.decode(), "findings")
        assert "pool-8-machine_type" not in page.content.decode()

    @pytest.mark.parametrize("number", ["", "many", "-3", "0"])
    def test_without_the_number_of_rows_the_first_one_is_kept(
        self, engineer: Client, example: dict[str, str], number: str
    ) -> None:
        for do in ("submit", "add_pool", "remove_pool-0"):
            page = engineer.post("/jobs/new/", example | {"pool-TOTAL_FORMS": number, "do": do})

            if page.status_code == 200:
                assert fields_of(page.content.decode())["pool-0-args"] == example["pool-0-args"]
        page = engineer.post("/jobs/new/", {name: text for name, text in example.items() if "_FORMS" not in name})

        assert page.status_code == 422
        assert "was sent incomplete" in text_in(page.content.decode(), "findings")
        assert fields_of(page.content.decode())["pool-0-args"] == example["pool-0-args"]


def test_the_request_shown_is_the_one_that_is_sent(engineer: Client, example: dict[str, str]) -> None:
    page = engineer.post("/jobs/new/", example | {"do": "check"}).content.decode()
    engineer.post("/jobs/new/", example)

    assert json.loads(text_in(page, "request")) == Job.objects.get().spec


def test_a_live_preview_asks_the_database_a_few_times_at_most(
    engineer: Client, example: dict[str, str], django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    engineer.post("/jobs/new/check/", example | {"pool-0-args": "--epochs 4"})
    with django_assert_max_num_queries(7):
        page = engineer.post("/jobs/new/check/", example | {"pool-0-args": "--epochs 41"})

    assert "--epochs" in text_in(page.content.decode(), "request")


@pytest.mark.parametrize("address", ["/jobs/new/", "/jobs/new/check/"])
def test_a_stranger_to_every_team_gets_no_answer(signed_in: SignIn, example: dict[str, str], address: str) -> None:
    nobody = signed_in(User.objects.create_user("nobody"))

    assert nobody.post(address, example).status_code == 403
    assert Job.objects.count() == 0
