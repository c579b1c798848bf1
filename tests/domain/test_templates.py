"""Tests of a team's templates: each action works, is refused to others, and handles races."""

from datetime import timedelta
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User

from jobs import requests
from jobs.errors import NotPermitted
from jobs.models import Membership, Team, Template
from jobs.requests import templates
from tests.domain.conftest import RequestJob
from tests.support import samples
from tests.support.clock import Clock

HOUR = timedelta(hours=1)


@pytest.fixture
def template(team: Team, owner: User, clock: Clock) -> Template:
    return templates.save_template(
        team=team, name="resnet", submission=samples.submission(), expected=HOUR, by=owner, now=clock.now, note="base"
    )


@pytest.fixture
def viewer(team: Team, owner: User) -> User:
    user = User.objects.create_user("viewer")
    Membership.objects.create(team=team, user=user, role="viewer")
    return user


class TestSave:
    def test_keeps_spec_region_run_time_and_who(self, template: Template, owner: User, clock: Clock) -> None:
        kept = Template.objects.get()

        assert kept == template
        assert kept.spec == samples.body()
        assert (kept.kind, kept.region, kept.expected_seconds) == ("custom_job", "us-central1", 3600)
        assert (kept.name, kept.note, kept.created_by, kept.created_at) == ("resnet", "base", owner, clock.now)

    def test_reads_back_what_was_saved_in_the_teams_project(self, template: Template) -> None:
        assert templates.submission_of(template) == samples.submission(project="vision-research")

    def test_says_which_template_has_the_name(self, template: Template, owner: User, clock: Clock) -> None:
        with pytest.raises(templates.NameTaken, match="vision already has a template with this name") as taken:
            templates.save_template(
                team=template.team,
                name=" resnet\n",
                submission=samples.submission(name="other"),
                expected=HOUR,
                by=owner,
                now=clock.now,
            )

        assert taken.value.template == template
        assert Template.objects.get().spec == samples.body()

    def test_loses_a_race_for_a_name_that_is_gone_again(self, template: Template, owner: User, clock: Clock) -> None:
        with (
            patch.object(Template.objects, "filter", return_value=Template.objects.none()),
            pytest.raises(templates.NameNotUsable, match="Try again"),
        ):
            templates.save_template(
                team=template.team,
                name="resnet",
                submission=samples.submission(),
                expected=HOUR,
                by=owner,
                now=clock.now,
            )

    @pytest.mark.parametrize("name", ["", " \n", "\x00", "x" * 81])
    def test_refuses_names_that_nobody_could_read(self, team: Team, owner: User, clock: Clock, name: str) -> None:
        with pytest.raises(templates.NameNotUsable):
            templates.save_template(
                team=team, name=name, submission=samples.submission(), expected=HOUR, by=owner, now=clock.now
            )

        assert not Template.objects.exists()

    def test_two_teams_may_use_one_name(
        self, template: Template, other_team: Team, stranger: User, clock: Clock
    ) -> None:
        templates.save_template(
            team=other_team, name="resnet", submission=samples.submission(), expected=HOUR, by=stranger, now=clock.now
        )

        assert Template.objects.filter(name="resnet").count() == 2

    @pytest.mark.parametrize("who", ["viewer", "stranger"])
    def test_is_for_engineers_of_the_team(
        self, team: Team, who: str, request: pytest.FixtureRequest, clock: Clock
    ) -> None:
        with pytest.raises(NotPermitted, match="engineers"):
            templates.save_template(
                team=team,
                name="mine",
                submission=samples.submission(),
                expected=HOUR,
                by=request.getfixturevalue(who),
                now=clock.now,
            )

        assert not Template.objects.exists()


class TestReplace:
    def test_changes_the_spec_and_keeps_the_name(self, template: Template, teammate: User, clock: Clock) -> None:
        later = clock.forward(hours=1)

        assert templates.replace_template(
            template, submission=samples.submission(name="wider"), expected=2 * HOUR, by=teammate, now=later
        )

        kept = Template.objects.get()
        assert (kept.name, kept.spec["displayName"], kept.expected_seconds) == ("resnet", "wider", 7200)
        assert (kept.updated_at, kept.created_by) == (later, template.created_by)
        assert template.spec == kept.spec

    def test_comes_too_late_for_a_deleted_one(self, template: Template, owner: User, clock: Clock) -> None:
        Template.objects.all().delete()

        assert not templates.replace_template(
            template, submission=samples.submission(), expected=HOUR, by=owner, now=clock.now
        )
        assert not Template.objects.exists()


class TestRename:
    def test_changes_the_name_and_the_note(self, template: Template, teammate: User, clock: Clock) -> None:
        later = clock.forward(minutes=1)

        assert templates.rename(template, name="resnet 50", note="wide", by=teammate, now=later)

        kept = Template.objects.get()
        assert (kept.name, kept.note, kept.updated_at) == ("resnet 50", "wide", later)

    def test_to_its_own_name_changes_nothing(self, template: Template, owner: User, clock: Clock) -> None:
        assert templates.rename(template, name="resnet", by=owner, now=clock.now)

        assert (Template.objects.get().name, Template.objects.get().note) == ("resnet", "base")

    def test_to_a_taken_name_is_refused(self, template: Template, owner: User, clock: Clock) -> None:
        other = templates.save_template(
            team=template.team, name="unet", submission=samples.submission(), expected=HOUR, by=owner, now=clock.now
        )

        with pytest.raises(templates.NameTaken):
            templates.rename(other, name="resnet", by=owner, now=clock.now)

        assert sorted(Template.objects.values_list("name", flat=True)) == ["resnet", "unet"]

    def test_comes_too_late_for_a_deleted_one(self, template: Template, owner: User, clock: Clock) -> None:
        Template.objects.all().delete()

        assert not templates.rename(template, name="other", by=owner, now=clock.now)


class TestDelete:
    def test_happens_once(self, template: Template, teammate: User) -> None:
        assert templates.delete(template, by=teammate)
        assert not templates.delete(template, by=teammate)

    @pytest.mark.parametrize("who", ["viewer", "stranger"])
    def test_is_for_engineers_of_the_team(self, template: Template, who: str, request: pytest.FixtureRequest) -> None:
        with pytest.raises(NotPermitted):
            templates.delete(template, by=request.getfixturevalue(who))

        assert Template.objects.exists()

    def test_an_admin_may(self, template: Template, admin: User) -> None:
        assert templates.delete(template, by=admin)


class TestClone:
    def test_a_job_knows_which_job_it_was_cloned_from(
        self, request_job: RequestJob, team: Team, owner: User, clock: Clock
    ) -> None:
        first = request_job(name="first")

        second = requests.request_job(
            submission=samples.submission(name="second"),
            team=team,
            by=owner,
            expected=HOUR,
            request_key="again",
            now=clock.now,
            cloned_from=first,
        )

        assert second.cloned_from == first
        assert list(first.clones.all()) == [second]
        assert first.cloned_from is None
