"""Tests of findings about what a team may use of Google Cloud."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from jobs import spec
from jobs.allowed_resources import Allowed, check
from jobs.assessment import Context, Outcome, assess
from jobs.policy_rules import PolicyRules, rules_of_limits
from jobs.strategies import KnownResource
from tests.support import samples

PROJECT = "vision-research"
ACCOUNT = "train@vision-research.iam.gserviceaccount.com"
KINDS = {
    "custom_job": lambda job_spec: {"jobSpec": job_spec},
    "hyperparameter_tuning_job": lambda job_spec: samples.tuning_job() | {"trialJobSpec": job_spec},
    "training_pipeline": lambda job_spec: samples.pipeline() | {"trainingTaskInputs": job_spec},
}


def submission(kind: str = "custom_job", project: str = PROJECT, **fields: Any) -> spec.Submission:
    """A job of a kind with further fields of its CustomJobSpec."""
    wrap: Callable[[dict[str, Any]], dict[str, Any]] = KINDS[kind]
    job_spec = samples.body()["jobSpec"] | fields
    job, findings = spec.read(kind, {"displayName": "resnet"} | wrap(job_spec))
    assert job is not None, findings
    return spec.Submission(kind=kind, project=project, region="us-central1", job=job)


def codes(asked: spec.Submission, **allowed: set[str]) -> list[str]:
    names = {"projects": {PROJECT}} | allowed
    return [finding.code for finding in check(asked, Allowed(**{key: frozenset(each) for key, each in names.items()}))]


@pytest.mark.parametrize("kind", KINDS)
class TestEachKind:
    def test_an_account_that_is_not_listed_is_an_error(self, kind: str) -> None:
        assert codes(submission(kind, serviceAccount=ACCOUNT), service_accounts={"other@x"}) == [
            "service_account_not_allowed"
        ]
        assert codes(submission(kind, serviceAccount=ACCOUNT), service_accounts={ACCOUNT}) == []

    def test_a_bucket_that_is_not_listed_is_an_error(self, kind: str) -> None:
        asked = submission(kind, baseOutputDirectory={"outputUriPrefix": "gs://vision-training/a/b"})

        assert codes(asked, buckets={"vision-train"}) == ["bucket_not_allowed"]
        assert codes(asked, buckets={"vision-training"}) == []


def test_nothing_listed_allows_every_bucket_and_account() -> None:
    asked = submission(serviceAccount=ACCOUNT, baseOutputDirectory={"outputUriPrefix": "gs://anything/"})

    assert codes(asked) == []


def test_a_job_without_account_and_bucket_needs_none() -> None:
    assert codes(submission(), buckets={"a"}, service_accounts={ACCOUNT}) == []


def test_another_project_is_an_error_whatever_else_is_allowed() -> None:
    assert codes(submission(project="speech-research")) == ["project_not_allowed"]
    assert codes(submission(project="speech-research"), projects={PROJECT, "speech-research"}) == []


def test_assess_refuses_it() -> None:
    policy = PolicyRules(rules_of_limits(Decimal(10**6)))
    asked, hour = submission(project="speech-research"), timedelta(hours=1)

    refused = assess(asked, Context(policy=policy, allowed=Allowed(frozenset({PROJECT}))), expected=hour)
    free = assess(asked, Context(policy=policy), expected=hour)

    assert refused.outcome is Outcome.REFUSED
    assert {finding.code for finding in refused.errors} - {finding.code for finding in free.errors} == {
        "project_not_allowed"
    }


NETWORK = "projects/123/global/networks/training"
ATTACHMENT = "projects/vision-research/regions/us-central1/networkAttachments/a"
CRYPTO_KEY = "projects/vision-research/locations/us-central1/keyRings/r/cryptoKeys/k"


def closed(asked: spec.Submission, **lists: set[str]) -> list[str]:
    names = {name: frozenset(each) for name, each in lists.items()}
    return [finding.code for finding in check(asked, Allowed(frozenset({PROJECT}), **names, is_closed=True))]


class TestClosedLists:
    def test_empty_lists_allow_nothing(self) -> None:
        body = samples.body() | {"encryptionSpec": {"kmsKeyName": CRYPTO_KEY}}
        body["jobSpec"] |= {
            "serviceAccount": ACCOUNT,
            "baseOutputDirectory": {"outputUriPrefix": "gs://elsewhere/x"},
            "pscInterfaceConfig": {"networkAttachment": ATTACHMENT},
        }
        job, _ = spec.read("custom_job", body)
        asked = spec.Submission(kind="custom_job", project=PROJECT, region="us-central1", job=job)

        assert set(closed(asked)) == {
            "service_account_not_allowed", "bucket_not_allowed", "network_not_allowed", "key_not_allowed",
        }  # fmt: skip
        lists = {
            "service_accounts": {ACCOUNT},
            "buckets": {"elsewhere"},
            "networks": {ATTACHMENT},
            "keys": {CRYPTO_KEY},
        }
        assert closed(asked, **lists) == []
        for left_out in lists:
            assert len(closed(asked, **{name: each for name, each in lists.items() if name != left_out})) == 1
        assert codes(asked) == [], "open lists allow everything"

    def test_no_account_is_an_entry_of_its_own(self) -> None:
        assert closed(submission()) == ["service_account_not_allowed"]
        assert closed(submission(), service_accounts={ACCOUNT}) == ["service_account_not_allowed"]
        assert closed(submission(), service_accounts={"none"}) == []
        assert closed(submission(serviceAccount=ACCOUNT), service_accounts={"none"}) == ["service_account_not_allowed"]
        assert codes(submission(), service_accounts={ACCOUNT}) == [], "open lists keep allowing it"

    def test_a_peered_network_is_checked(self) -> None:
        asked = submission(network=NETWORK)

        assert closed(asked, service_accounts={"none"}) == ["network_not_allowed"]
        assert closed(asked, service_accounts={"none"}, networks={NETWORK}) == []
        assert codes(asked, networks={"projects/1/global/networks/other"}) == ["network_not_allowed"]

    @pytest.mark.parametrize(
        ("destination", "code"),
        [
            ({"gcsDestination": {"outputUriPrefix": "gs://theirs/data"}}, "bucket_not_allowed"),
            ({"bigqueryDestination": {"outputUri": "bq://speech-research"}}, "project_not_allowed"),
            ({"bigqueryDestination": {"outputUri": "bq://speech-research.set.table"}}, "project_not_allowed"),
            ({"gcsDestination": {"outputUriPrefix": "gs://ours/data"}}, None),
            ({"bigqueryDestination": {"outputUri": f"bq://{PROJECT}.set"}}, None),
        ],
    )
    def test_where_the_data_of_a_pipeline_are_written_is_checked(
        self, destination: dict[str, Any], code: str | None
    ) -> None:
        data = {"datasetId": "1", "annotationsFilter": ""} | destination
        job, findings = spec.read("training_pipeline", samples.pipeline() | {"inputDataConfig": data})
        assert job is not None, findings
        asked = spec.Submission(kind="training_pipeline", project=PROJECT, region="us-central1", job=job)

        found = closed(asked, service_accounts={"none"}, buckets={"ours", "vision-training", "b", "bucket"})
        assert [each for each in found if each != "bucket_not_allowed" or code] == ([code] if code else [])

    @pytest.mark.parametrize(
        ("mounts", "server"),
        [
            ({"nfsMounts": [{"server": "10.0.0.9", "path": "/hr", "mountPoint": "x"}]}, "10.0.0.9"),
            ({"lustreMounts": [{"instanceIp": "10.0.0.8", "filesystem": "f", "mountPoint": "x"}]}, "10.0.0.8"),
        ],
    )
    def test_a_server_whose_files_are_mounted_counts_as_a_network(self, mounts: dict[str, Any], server: str) -> None:
        pool = samples.body()["jobSpec"]["workerPoolSpecs"][0]
        asked = submission(workerPoolSpecs=[pool | mounts])

        assert closed(asked, service_accounts={"none"}) == ["network_not_allowed"]
        assert closed(asked, service_accounts={"none"}, networks={server}) == []

    def test_a_network_whose_names_are_resolved_is_checked(self) -> None:
        peering = {"domain": "corp.", "targetProject": "of-others", "targetNetwork": "secret"}
        asked = submission(pscInterfaceConfig={"networkAttachment": ATTACHMENT, "dnsPeeringConfigs": [peering]})
        lists = {"service_accounts": {"none"}, "networks": {ATTACHMENT}}

        assert closed(asked, **lists) == ["network_not_allowed"]
        assert closed(asked, **lists | {"networks": {ATTACHMENT, "projects/of-others/global/networks/secret"}}) == []

    def test_another_spelling_in_a_field_that_is_not_known_is_seen(self) -> None:
        asked = submission(newSpec={"worker_service_account": ACCOUNT, "sink": {"output_uri": "gs://theirs/x"}})

        assert closed(asked, service_accounts={"none"}) == ["service_account_not_allowed", "bucket_not_allowed"]

    @pytest.mark.parametrize("place", ["tensorboard", "experiment"])
    def test_what_a_job_writes_to_is_in_a_project_of_the_team(self, place: str) -> None:
        names = {project: f"projects/{project}/locations/us-central1/tensorboards/1" for project in (PROJECT, "theirs")}

        assert closed(submission(**{place: names["theirs"]}), service_accounts={"none"}) == ["project_not_allowed"]
        assert closed(submission(**{place: names[PROJECT]}), service_accounts={"none"}) == []
        assert codes(submission(**{place: names["theirs"]})) == [], "open lists allow it"

    def test_a_job_on_a_resource_may_run_as_the_account_of_that(self) -> None:
        runtime = {"serviceAccountSpec": {"enableCustomServiceAccount": True, "serviceAccount": ACCOUNT}}
        resource, _ = spec.read("persistent_resource", {"resourcePools": [], "resourceRuntimeSpec": runtime})
        known = (KnownResource("elastic", PROJECT, "us-central1", resource),)
        lists = Allowed(frozenset({PROJECT}), service_accounts=frozenset({"none"}), is_closed=True)
        both = Allowed(frozenset({PROJECT}), service_accounts=frozenset({"none", ACCOUNT}), is_closed=True)

        (refused,) = check(submission(persistentResourceId="elastic"), lists, known)

        assert refused.code == "service_account_not_allowed"
        assert not check(submission(persistentResourceId="elastic"), both, known)
        (unseen,) = check(submission(persistentResourceId="another"), lists, known)
        assert unseen.code == "resource_account_unknown"
        assert not check(submission(persistentResourceId="another"), Allowed(frozenset({PROJECT})), known)

    def test_an_open_team_with_a_list_of_buckets_is_checked_there_too(self) -> None:
        data = {"datasetId": "1", "gcsDestination": {"outputUriPrefix": "gs://theirs/data"}}
        job, _ = spec.read("training_pipeline", samples.pipeline() | {"inputDataConfig": data})
        asked = spec.Submission(kind="training_pipeline", project=PROJECT, region="us-central1", job=job)

        assert "bucket_not_allowed" in codes(asked, buckets={"ours"})

    def test_names_that_people_choose_mean_nothing(self) -> None:
        body = samples.body() | {"labels": {"network": "x", "output": "gs://theirs"}}
        job, _ = spec.read("custom_job", body)
        asked = spec.Submission(kind="custom_job", project=PROJECT, region="us-central1", job=job)

        assert closed(asked, service_accounts={"none"}) == []
