"""Tests of several projects per team outside jobs: quotas, persistent resources, external jobs, accounts and bills."""

import io
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs import observation
from jobs.billing import import_billing
from jobs.clients import account_of
from jobs.doctor import examine
from jobs.errors import NotPermitted
from jobs.models import AllowedResource, BilledAmount, PersistentResource, QuotaReading, Scope, Team
from jobs.observation.resource_sizes import _creators
from jobs.requests.resource_requests import ask_for_change
from jobs.upkeep import quota_reading
from tests.conftest import person
from tests.domain.conftest import Cloud
from tests.support.clock import Clock
from tests.support.resources import seen

pytestmark = pytest.mark.django_db
SECOND = "vision-two"


@pytest.fixture(autouse=True)
def _second(team: Team) -> None:
    AllowedResource.objects.create(team=team, kind="project", name=SECOND)
    AllowedResource.objects.create(team=team, kind="bucket", name="no-project")


def test_every_project_is_watched_and_its_quotas_are_read(cloud: Cloud, team: Team, other_team: Team) -> None:
    cloud.capacity({"quotas": {"us-central1": {"custom_model_training_preemptible_nvidia_a100_gpus": 16}}})

    quota_reading.read_when_due(cloud.now)
    observation.watch_resources(cloud.now)

    projects = {SECOND, "speech-research", "vision-research"}
    assert set(QuotaReading.objects.values_list("project", flat=True)) == projects
    assert set(Scope.objects.values_list("project", flat=True)) == projects
    groups = {check.group for check in examine(cloud.now, machine_now=lambda: cloud.now)}
    assert {f"Project {project}" for project in projects} <= groups


def test_who_may_use_a_project_sees_its_resources(team: Team, owner: User, stranger: User, clock: Clock) -> None:
    row = seen(project=SECOND, now=clock.now)

    assert list(PersistentResource.objects.visible_to(owner)) == [row]
    assert not PersistentResource.objects.visible_to(stranger).exists()


def test_calls_about_a_project_are_made_as_its_own_team(team: Team, other_team: Team) -> None:
    Team.objects.filter(pk=team.pk).update(acts_as="vision@p.iam.gserviceaccount.com")
    assert account_of(SECOND) == "vision@p.iam.gserviceaccount.com"
    assert account_of("no-project") == ""

    Team.objects.filter(pk=other_team.pk).update(project=SECOND, acts_as="speech@p.iam.gserviceaccount.com")
    assert account_of(SECOND) == "speech@p.iam.gserviceaccount.com"


class TestMadeElsewhere:
    """What was made in a project outside Trainboard belongs to the team of the project, not to its guests."""

    def test_jobs_are_adopted_by_the_only_team(
        self, team: Team, other_team: Team, owner: User, stranger: User, clock: Clock
    ) -> None:
        assert observation.request_discovery(project=SECOND, region="us-central1", by=owner, now=clock.now)
        with pytest.raises(NotPermitted):
            observation.request_discovery(project=SECOND, region="us-central1", by=stranger, now=clock.now)

        Team.objects.filter(pk=other_team.pk).update(project=SECOND)
        with pytest.raises(NotPermitted):
            observation.request_discovery(project=SECOND, region="us-central1", by=owner, now=clock.now)
        assert observation.request_discovery(project=SECOND, region="us-central1", by=stranger, now=clock.now)

    def test_so_are_persistent_resources_changed_and_paid(
        self, team: Team, other_team: Team, approver: User, clock: Clock
    ) -> None:
        change = {"team": team, "project": SECOND, "region": "us-central1", "by": approver, "now": clock.now}
        asked = ask_for_change("create", **change, resource_id="night-shift", body={}, lifetime=timedelta(days=1))
        assert asked is not None
        assert (asked.project, asked.team) == (SECOND, team)
        scope = Scope(project=SECOND, region="europe-west4")
        assert _creators(scope, {"found"}) == {"found": team.pk}

        Team.objects.filter(pk=other_team.pk).update(project=SECOND)
        with pytest.raises(NotPermitted, match="vision-two is not a project of vision"):
            ask_for_change("delete", **change, resource_id="night-shift")
        assert _creators(scope, {"found"}) == {"found": other_team.pk}


def test_rows_of_a_bill_count_in_every_project_of_the_team(team: Team, clock: Clock) -> None:
    head = "usage_start_time,cost,currency,cost_type,invoice.month,project.id,service.description,labels,credits"
    rows = [f"2026-03-02 10:00:00 UTC,1,USD,regular,202603,{project},Vertex AI,[],[]" for project in (SECOND, "else")]
    lead = person("lead", team, "lead")

    found = import_billing(team, io.StringIO("\n".join([head, *rows])), name="x.csv", by=lead, now=clock.now)

    assert (found.rows, found.passed_over) == (2, 1)
    assert BilledAmount.objects.get().cost == 1
