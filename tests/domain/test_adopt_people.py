"""Tests of who may adopt a job, that it is adopted once, and that nobody can change an adopted job."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs import observation, requests, spec, steps
from jobs.errors import NotPermitted
from jobs.models import Job, Membership, Policy, Team
from jobs.queue import installation
from jobs.submission import delete_job, may_delete
from jobs.upkeep import repair
from tests.domain.conftest import Cloud
from tests.domain.test_adopt import adopted
from tests.domain.test_discovery import found, make
from tests.support.clock import watch_from


class TestPeople:
    def test_adopting_twice_gives_the_first_job(self, team: Team, owner: User, teammate: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")
        row = found(cloud, owner)["theirs"]

        first = observation.adopt(row, team=team, by=owner, now=cloud.now)
        again = observation.adopt(row, team=team, by=owner, now=cloud.now)
        others = observation.adopt(row, team=team, by=teammate, now=cloud.now)

        assert first.pk == again.pk == others.pk
        assert Job.objects.get().events.filter(kind="adopted").count() == 1

    def test_two_teams_of_one_project_do_not_share_a_job(self, team: Team, owner: User, cloud: Cloud) -> None:
        other = Team.objects.create(name="vision-2", project=team.project)
        Membership.objects.create(team=other, user=owner, role="engineer")
        make(cloud, name="theirs")
        row = found(cloud, owner)["theirs"]
        observation.adopt(row, team=team, by=owner, now=cloud.now)

        with pytest.raises(NotPermitted, match="Another team already follows this job"):
            observation.adopt(row, team=other, by=owner, now=cloud.now)

    def test_a_stranger_may_not_nor_into_a_team_of_another_project(
        self, team: Team, other_team: Team, owner: User, stranger: User, cloud: Cloud
    ) -> None:
        make(cloud, name="theirs")
        row = found(cloud, owner)["theirs"]
        Membership.objects.create(team=other_team, user=owner, role="lead")

        with pytest.raises(NotPermitted, match="vision"):
            observation.adopt(row, team=team, by=stranger, now=cloud.now)
        with pytest.raises(NotPermitted, match="is not the project of speech"):
            observation.adopt(row, team=other_team, by=owner, now=cloud.now)
        assert not Job.objects.exists()

    def test_a_viewer_may_not(self, team: Team, owner: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")
        row = found(cloud, owner)["theirs"]
        Membership.objects.update(role="viewer")

        with pytest.raises(NotPermitted):
            observation.adopt(row, team=team, by=owner, now=cloud.now)

    def test_it_is_only_watched(self, team: Team, owner: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")
        job = adopted(cloud, team, owner)
        assert not may_delete(job, by=owner, role="lead")

        with pytest.raises(NotPermitted, match="read only here"):
            steps.cancel(job, by=owner, clock=cloud.clock)
        with pytest.raises(NotPermitted, match="read only here"):
            delete_job(job, by=owner, now=cloud.now)
        repair(cloud.now)
        steps.advance(job.pk, clock=cloud.clock)

        assert not {"customJobs.cancel", "customJobs.delete"} & cloud.calls().keys()

    def test_a_clone_of_it_is_ours(self, team: Team, owner: User, cloud: Cloud) -> None:
        watch_from(cloud.now)
        installation.load_installation(cloud.now)
        Policy.objects.filter(team=team).update(ask_over_usd=1000)  # theirs may run for a day
        team = Team.objects.get(pk=team.pk)
        make(cloud, name="theirs")
        job = adopted(cloud, team, owner)
        clone = requests.request_job(
            submission=requests.submission_of(job),
            team=team,
            by=owner,
            expected=timedelta(hours=0.1),
            request_key="clone",
            now=cloud.now,
            cloned_from=job,
        )
        steps.advance(clone.pk, clock=cloud.clock)

        clone.refresh_from_db()
        assert not clone.is_adopted
        assert clone.remote_name, clone.events.latest("id").message
        assert spec.read(clone.kind, clone.spec)[1] == []
