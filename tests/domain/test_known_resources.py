"""Tests that jobs are assessed with known persistent resources, when requested and again before they are sent."""

from datetime import timedelta
from typing import Any

import pytest

from jobs import observation, requests, steps
from jobs.assessment import assess
from jobs.models import Job, PersistentResource, Team
from jobs.spec import rest_body
from jobs.submission.reassessment import RESOURCE_INTERVAL
from jobs.timeline.resource_holdings import resource_id_of
from tests.domain.conftest import Cloud, RequestJob
from tests.support import samples
from tests.support.resources import Resources

WHERE = ("vision-research", "us-central1")


@pytest.fixture
def resources(cloud: Cloud, team: Team) -> Resources:
    """Persistent resources in the team's place."""
    return Resources(cloud._emulator, cloud.forward)


def look(cloud: Cloud) -> None:
    """Look at every place that is due, as the sweep does."""
    observation.watch_resources(cloud.now)
    observation.follow_resources([WHERE[0]], now=cloud.now)
    for scope_id in steps.due_scopes(cloud.now):
        steps.observe(scope_id, clock=cloud.clock)


def codes(team: Team, **changes: Any) -> dict[str, str]:
    """Return {code: severity} of the findings about a job on the resource `night-shift`."""
    asked = samples.submission(resource="night-shift", **changes)
    assessment = assess(asked, requests.load_context(team, asked), expected=timedelta(hours=1))
    return {
        found.code: found.severity
        for found in assessment.findings
        if "resource" in found.code or "replicas" in found.code
    }


class TestRules:
    def test_a_resource_that_was_not_seen_is_an_advice(self, team: Team) -> None:
        assert codes(team)["resource_is_known"] == "note"

    def test_one_that_was_seen_is_compared_with_the_job(self, team: Team, resources: Resources, cloud: Cloud) -> None:
        resources.create("night-shift", replicas=2)
        look(cloud)

        assert codes(team, extra_replicas=1) == {}
        assert codes(team, extra_replicas=2) == {"replicas_fit_the_resource": "error"}
        assert codes(team, machine={"machineType": "n1-standard-4"}) == {"pools_match_the_resource": "error"}
        assert "resource_is_known" in codes(team, region="europe-west4")

    def test_one_that_grows_lends_as_many_as_it_may_have(self, team: Team, resources: Resources, cloud: Cloud) -> None:
        resources.create("night-shift", replicas=1, most=3)
        look(cloud)

        assert codes(team, extra_replicas=2) == {}
        assert codes(team, extra_replicas=3) == {"replicas_fit_the_resource": "error"}

    def test_one_that_does_not_run_refuses_and_one_that_is_gone_is_unknown(
        self, team: Team, resources: Resources, cloud: Cloud
    ) -> None:
        resources.create("night-shift", wait=False)
        look(cloud)
        assert codes(team) == {"resource_is_running": "error"}

        cloud.forward(minutes=30)
        look(cloud)
        resources.delete("night-shift")
        cloud.forward(minutes=30)
        look(cloud)

        assert codes(team) == {"resource_is_known": "note"}

    def test_one_whose_body_cannot_be_trusted_is_unknown(self, team: Team, resources: Resources, cloud: Cloud) -> None:
        resources.create("night-shift")
        look(cloud)
        pool = PersistentResource.objects.get()
        pool.body["resourcePools"][0]["newField"] = {"a": 1}
        PersistentResource.objects.update(body=pool.body)
        assert codes(team) == {}

        pool.body["resourcePools"][0]["replicaCount"] = "several"
        PersistentResource.objects.update(body=pool.body)
        assert codes(team) == {"resource_is_known": "note"}


class TestHeadroom:
    def test_vertex_s_count_and_jobs_that_are_newer_than_it_are_held(
        self, team: Team, resources: Resources, cloud: Cloud, request_job: RequestJob
    ) -> None:
        resources.create("night-shift", replicas=3)
        look(cloud)
        cloud.script("long")
        job = request_job(resource="night-shift")
        assert requests.resources_in(*WHERE)[0].used(0) == 1, "on its way to Vertex AI"
        assert requests.resources_in(*WHERE, apart_from=job.pk)[0].used(0) == 0

        cloud.forward(seconds=5)
        steps.advance(job.pk, clock=cloud.clock)
        assert requests.resources_in(*WHERE)[0].used(0) == 1, "sent since the resource was seen"

        cloud.forward(minutes=5)
        look(cloud)
        (known,) = requests.resources_in(*WHERE)
        assert (known.used(0), known.in_use) == (1, ()), "Vertex AI counts it by now"
        assert codes(team, extra_replicas=1) == {}
        assert codes(team, extra_replicas=2) == {"replicas_are_free": "note"}

    def test_no_more_is_held_than_there_is(
        self, team: Team, resources: Resources, cloud: Cloud, request_job: RequestJob
    ) -> None:
        resources.create("night-shift", replicas=1)
        look(cloud)
        for _ in range(3):
            request_job(resource="night-shift")

        assert requests.resources_in(*WHERE)[0].used(0) == 1

    def test_loading_costs_one_small_query_or_none(
        self, team: Team, resources: Resources, cloud: Cloud, django_assert_num_queries: Any
    ) -> None:
        resources.create("night-shift")
        look(cloud)

        with django_assert_num_queries(0):
            assert requests.known_resources(samples.submission()) == ()
        with django_assert_num_queries(1):
            assert len(requests.known_resources(samples.submission(resource="night-shift"))) == 1


class TestBeforeItIsSent:
    def test_a_resource_that_ended_meanwhile_ends_the_job_before_it_is_sent(
        self, resources: Resources, cloud: Cloud, request_job: RequestJob
    ) -> None:
        resources.create("night-shift")
        look(cloud)
        job = request_job(resource="night-shift")
        resources.delete("night-shift")
        cloud.forward(seconds=1)
        look(cloud)
        assert PersistentResource.objects.get().state == "STOPPING"

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert job.state == "submit_failed"
        assert "The persistent resource is STOPPING" in job.events.latest("id").message
        assert cloud.jobs() == []

    def test_a_resource_that_is_about_to_run_is_waited_for(
        self, resources: Resources, cloud: Cloud, request_job: RequestJob
    ) -> None:
        resources.create("night-shift")
        look(cloud)
        job = request_job(resource="night-shift")
        resources.reboot("night-shift")
        cloud.forward(seconds=1)
        look(cloud)
        assert PersistentResource.objects.get().state == "REBOOTING"

        steps.advance(job.pk, clock=cloud.clock)

        job.refresh_from_db()
        assert (job.state, job.due_at) == ("approved", cloud.now + RESOURCE_INTERVAL)
        assert "is REBOOTING" in job.last_error
        cloud.forward(minutes=20)
        look(cloud)
        steps.advance(job.pk, clock=cloud.clock)
        job.refresh_from_db()
        assert (job.state, job.last_error) == ("pending", "")

    def test_a_job_does_not_stand_in_its_own_way(
        self, resources: Resources, cloud: Cloud, request_job: RequestJob
    ) -> None:
        resources.create("night-shift", replicas=1)
        look(cloud)
        job = request_job(resource="night-shift")

        found = requests.known_resources(requests.submission_of(job), apart_from=job.pk)

        assert [known.used(0) for known in found] == [0]
        steps.advance(job.pk, clock=cloud.clock)
        assert Job.objects.get().state == "pending"
        assert rest_body(requests.submission_of(job).job)["jobSpec"]["persistentResourceId"] == "night-shift"


@pytest.mark.parametrize("kind", ["custom_job", "hyperparameter_tuning_job", "training_pipeline"])
def test_the_resource_of_a_stored_job_is_found_whatever_its_kind(kind: str) -> None:
    asked = samples.submission(kind=kind, resource="night-shift")

    assert resource_id_of(Job(kind=kind, spec=rest_body(asked.job))) == "night-shift"
    assert resource_id_of(Job(kind=kind, spec=rest_body(samples.submission(kind=kind).job))) == ""


@pytest.mark.parametrize("spec", [{}, {"jobSpec": 7}, {"jobSpec": {"persistentResourceId": ["x"]}}, [], None])
def test_a_spec_that_holds_no_resource_names_none(spec: Any) -> None:
    assert resource_id_of(Job(spec=spec)) == ""
