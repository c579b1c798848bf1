"""Tests of discovery: it finds every untracked job of a region, loses none to failures, and shows strangers nothing."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import observation, steps
from jobs.errors import NotPermitted
from jobs.models import Discovery, ExternalJob, Job, Team
from jobs.observation import discovery as module
from jobs.upkeep import repair
from jobs.upkeep.audit import audit
from tests.domain.conftest import Cloud, RequestJob, Submit, watch
from tests.support import samples
from tests.unit.vertex.test_shapes import document

PLACE = "projects/vision-research/locations/us-central1"
REGION = "us-central1"


def make(cloud: Cloud, kind: str = "customJobs", **changes: Any) -> dict[str, Any]:
    """Create a job at Vertex AI without Trainboard."""
    bodies = {"customJobs": samples.body, "trainingPipelines": samples.pipeline}
    body = bodies.get(kind, samples.tuning_job)(**changes)
    return dict(cloud.call("POST", f"{PLACE}/{kind}", body))


def ask(cloud: Cloud, by: User) -> Discovery:
    """Request a discovery of the team's project."""
    return observation.request_discovery(project="vision-research", region=REGION, by=by, now=cloud.now)


def found(cloud: Cloud, by: User) -> dict[str, ExternalJob]:
    """Make a discovery and return what it found, by display name."""
    ask(cloud, by)
    for discovery_id in steps.due_discoveries(cloud.now):
        observation.discover(discovery_id, now=cloud.now)
    assert list(audit(cloud.now)) == []
    return {external.display_name: external for external in ExternalJob.objects.all()}


class TestFinding:
    def test_jobs_of_all_kinds_and_ages_are_found(self, owner: User, cloud: Cloud) -> None:
        make(cloud, name="old")
        cloud.forward(hours=3)
        for kind in ("customJobs", "trainingPipelines", "hyperparameterTuningJobs"):
            make(cloud, kind, name=f"new {kind}", strategy="STANDARD")

        rows = found(cloud, owner)

        assert {name: row.kind for name, row in rows.items()} == {
            "old": "custom_job",
            "new customJobs": "custom_job",
            "new trainingPipelines": "training_pipeline",
            "new hyperparameterTuningJobs": "hyperparameter_tuning_job",
        }
        assert rows["old"].state == "JOB_STATE_SUCCEEDED"
        assert rows["old"].created_at is not None
        assert "workerPoolSpecs" in rows["old"].body["jobSpec"]
        discovery = Discovery.objects.get()
        assert (discovery.answered_at, discovery.due_at, discovery.claim, discovery.last_error) == (
            cloud.now,
            None,
            None,
            "",
        )

    def test_our_own_are_not_among_them(self, submit: Submit, owner: User, cloud: Cloud) -> None:
        submit("happy")
        make(cloud, name="theirs")

        assert set(found(cloud, owner)) == {"theirs"}

    @pytest.mark.parametrize("kind", ["training_pipeline", "hyperparameter_tuning_job"])
    def test_what_only_does_the_work_of_one_that_we_follow_is_left_out(
        self, request_job: RequestJob, owner: User, cloud: Cloud, kind: str
    ) -> None:
        job = request_job(kind=kind, hours=0.01)
        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        watch(cloud, job, minutes=20, every=60)
        place = job.remote_name.rpartition("/")[0].rpartition("/")[0]
        assert cloud.call("GET", f"{place}/customJobs")["customJobs"], "there is something to leave out"

        assert found(cloud, owner) == {}

    def test_what_does_the_work_of_a_foreign_pipeline_is_left_out(self, owner: User, cloud: Cloud) -> None:
        make(cloud, "trainingPipelines", name="theirs")
        cloud.forward(minutes=10)

        assert set(found(cloud, owner)) == {"theirs"}

    def test_what_was_made_long_ago_is_left_out(self, owner: User, cloud: Cloud) -> None:
        make(cloud, name="old")
        cloud.forward(days=31)
        make(cloud, name="new")

        assert set(found(cloud, owner)) == {"new"}

    def test_another_survey_drops_what_is_gone_and_updates_what_is_left(self, owner: User, cloud: Cloud) -> None:
        gone, left = make(cloud, name="gone"), make(cloud, name="left")
        first = found(cloud, owner)
        assert set(first) == {"gone", "left"}
        cloud.delete(gone["name"])
        cloud.forward(hours=3)

        rows = found(cloud, owner)

        assert set(rows) == {"left"}
        assert rows["left"].state == cloud.job(left["name"])["state"] != first["left"].state

    def test_labels_tell_where_a_job_comes_from(self, submit: Submit, owner: User, cloud: Cloud) -> None:
        make(cloud, name="plain")
        make(cloud, name="other", labels={"trainboard_instance": "berlin"})
        lost = submit("happy")
        Job.objects.filter(pk=lost.pk).update(remote_name="")  # as in a database of yesterday

        rows = {name: observation.hint_of(row) for name, row in found_anyway(cloud, owner).items()}

        assert rows["plain"] == ""
        assert rows["other"] == "Another Trainboard created the job: berlin."
        assert rows["resnet-prune"].startswith("This Trainboard created the job but has no row for it")

    def test_more_than_it_looks_through_is_told(
        self, owner: User, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MAX_JOBS", 3)
        for number in range(5):
            make(cloud, name=f"job {number}")
            cloud.forward(seconds=1)

        rows = found(cloud, owner)

        assert set(rows) == {"job 4", "job 3", "job 2"}
        assert "The discovery is incomplete" in Discovery.objects.get().last_error

    def test_every_page_counts_against_the_budget_of_reads(self, owner: User, cloud: Cloud, settings: Any) -> None:
        from jobs.queue import rate_limit

        settings.READS_PER_MINUTE = 5
        rate_limit.forget()
        make(cloud, name="theirs")

        ask(cloud, owner)
        observation.discover(Discovery.objects.get().pk, now=cloud.now)

        discovery = Discovery.objects.get()
        assert "read calls a minute" in discovery.last_error
        assert discovery.due_at is not None
        assert discovery.failures == 0


def found_anyway(cloud: Cloud, by: User) -> dict[str, ExternalJob]:
    """Make a discovery although the rows are not as they should be."""
    discovery = ask(cloud, by)
    observation.discover(discovery.pk, now=cloud.now)
    return {external.display_name: external for external in ExternalJob.objects.all()}


@pytest.mark.parametrize("kind", ["CustomJob", "HyperparameterTuningJob", "TrainingPipeline"])
def test_the_fields_that_are_asked_for_are_fields_of_the_resource(kind: str) -> None:
    ours = {"CustomJob": "custom_job", "HyperparameterTuningJob": "hyperparameter_tuning_job"}
    schema = document("aiplatform.v1")["schemas"][f"GoogleCloudAiplatformV1{kind}"]["properties"]

    asked = module.fields_of(ours.get(kind, "training_pipeline"))

    filled_in = {"trials", "webAccessUris", "satisfiesPzs", "satisfiesPzi"}
    assert set(schema) - filled_in == set(asked)
    assert len(asked) == len(set(asked))


class TestFailures:
    @pytest.mark.parametrize("fault", ["503", "429", "reset", "html", "truncated"])
    @pytest.mark.parametrize("kind", ["customJobs", "trainingPipelines"])
    def test_one_that_fails_is_made_again_and_loses_nothing(
        self, owner: User, cloud: Cloud, fault: str, kind: str
    ) -> None:
        make(cloud, name="first")
        assert set(found(cloud, owner)) == {"first"}
        make(cloud, name="second")
        cloud.fail(f"{kind}.list", fault)

        assert set(found(cloud, owner)) == {"first"}, "the findings of the last one stay"
        discovery = Discovery.objects.get()
        assert discovery.last_error
        assert discovery.due_at > cloud.now
        cloud.forward(minutes=6)
        observation.discover(discovery.pk, now=cloud.now)

        assert set(ExternalJob.objects.values_list("display_name", flat=True)) == {"first", "second"}
        assert Discovery.objects.get().last_error == ""

    def test_a_cut_page_in_the_middle_is_asked_for_again(self, owner: User, cloud: Cloud) -> None:
        for number in range(120):
            make(cloud, name=f"job {number}")
        cloud.fail("customJobs.list", "truncated", after=1)

        assert len(found(cloud, owner)) == 120

    def test_it_ends_where_asking_again_brings_the_same(self, owner: User, cloud: Cloud) -> None:
        cloud.fail("customJobs.list", "403")

        found(cloud, owner)

        discovery = Discovery.objects.get()
        assert discovery.due_at is None
        assert discovery.last_error
        assert ask(cloud, owner).due_at == cloud.now

    def test_it_ends_after_some_failures(self, owner: User, cloud: Cloud) -> None:
        cloud.fail("*.list", "503", times=100)
        ask(cloud, owner)
        for _ in range(20):
            for discovery_id in steps.due_discoveries(cloud.now):
                observation.discover(discovery_id, now=cloud.now)
            cloud.forward(minutes=6)

        discovery = Discovery.objects.get()
        assert (discovery.due_at, discovery.failures) == (None, module.MAX_FAILURES)

    def test_a_worker_that_died_is_replaced(self, owner: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")
        discovery = ask(cloud, owner)
        Discovery.objects.update(claim=Job().pk, claimed_until=cloud.now + timedelta(seconds=30))
        observation.discover(discovery.pk, now=cloud.now)
        assert not ExternalJob.objects.exists()
        cloud.forward(seconds=31)

        assert repair(cloud.now) == 1
        observation.discover(discovery.pk, now=cloud.now)

        assert ExternalJob.objects.count() == 1

    def test_a_worker_that_was_overtaken_drops_what_it_found(
        self, owner: User, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(cloud, name="theirs")
        discovery = ask(cloud, owner)
        find = module.Walk.find

        def overtaken(walk: module.Walk) -> list[ExternalJob]:
            rows = find(walk)
            Discovery.objects.update(claim=Job().pk)
            return rows

        monkeypatch.setattr(module.Walk, "find", overtaken)
        observation.discover(discovery.pk, now=cloud.now)

        assert not ExternalJob.objects.exists()


class TestPeople:
    def test_a_stranger_may_not_look(self, team: Team, stranger: User, cloud: Cloud) -> None:
        with pytest.raises(NotPermitted, match="a team whose project is vision-research"):
            ask(cloud, stranger)

        assert not Discovery.objects.exists()

    def test_a_project_without_a_team_is_nobody_s(self, admin: User, clock: Any) -> None:
        with pytest.raises(NotPermitted, match="is not the project of any team"):
            observation.request_discovery(project="someone-else", region=REGION, by=admin, now=clock.now)

    def test_an_admin_may(self, team: Team, admin: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")

        assert set(found(cloud, admin)) == {"theirs"}

    def test_asking_twice_is_one_survey(self, owner: User, teammate: User, cloud: Cloud) -> None:
        assert ask(cloud, owner).pk == ask(cloud, teammate).pk
