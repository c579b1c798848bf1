"""Tests of the compose form's initial values: templates, jobs and drafts, each only for users with access."""

from collections.abc import Callable
from datetime import timedelta
from typing import cast

import pytest
from django.contrib.auth.models import User
from django.http import Http404
from django.test import RequestFactory

from dashboard.access import Request
from dashboard.access.form_start import Start, start_for
from jobs.models import Draft, Job, Membership, Team, Template
from jobs.requests import imported_drafts, templates
from tests.pages.conftest import MakeJob
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases

Begin = Callable[[User, str], Start | None]
HOUR = timedelta(hours=1)


@pytest.fixture
def begin(rf: RequestFactory) -> Begin:
    def start(user: User, query: str) -> Start | None:
        request = cast(Request, rf.get(f"/jobs/new/?{query}"))
        request.user = user
        return start_for(request)

    return start


@pytest.fixture
def template(team: Team, owner: User, clock: Clock) -> Template:
    submission = samples.submission(region="europe-west4")
    return templates.save_template(
        team=team, name="base", submission=submission, expected=HOUR, by=owner, now=clock.now
    )


@pytest.fixture
def draft(team: Team, owner: User, clock: Clock) -> Draft:
    return imported_drafts.save_draft(submission=samples.submission(), team=team, by=owner, now=clock.now)


class TestStart:
    def test_is_none_when_nothing_is_named(self, owner: User, begin: Begin) -> None:
        assert begin(owner, "example=1&job=&template=") is None

    def test_from_a_template(self, template: Template, teammate: User, begin: Begin) -> None:
        start = begin(teammate, f"template={template.pk}")

        assert start is not None
        assert start.submission == samples.submission(region="europe-west4", project="vision-research")
        assert (start.team, start.expected, start.cloned_from) == (template.team, HOUR, None)
        assert start.words == "From the template base of vision."

    def test_from_a_job(self, make_job: MakeJob, teammate: User, begin: Begin) -> None:
        job = make_job("failed", hours=0.1)

        start = begin(teammate, f"job={job.pk}")

        assert start is not None
        assert start.submission == samples.submission(scheduling={"timeout": "360s"})
        assert (start.cloned_from, start.expected) == (job, timedelta(minutes=6))
        assert start.words == "A copy of resnet-prune, which owner requested."

    def test_from_ones_own_draft(self, draft: Draft, owner: User, begin: Begin) -> None:
        start = begin(owner, f"draft={draft.pk}")

        assert start is not None
        assert start.submission == samples.submission()
        assert (start.expected, start.cloned_from) == (None, None)


class TestRights:
    def test_nothing_is_there_for_a_stranger(
        self, template: Template, draft: Draft, make_job: MakeJob, stranger: User, begin: Begin
    ) -> None:
        job: Job = make_job("running")

        for query in (f"template={template.pk}", f"job={job.pk}", f"draft={draft.pk}"):
            with pytest.raises(Http404):
                begin(stranger, query)

    def test_a_draft_is_its_owners_alone_even_for_an_admin(
        self, draft: Draft, teammate: User, admin: User, begin: Begin
    ) -> None:
        for person in (teammate, admin):
            with pytest.raises(Http404):
                begin(person, f"draft={draft.pk}")

    def test_a_draft_ends_with_the_membership(self, draft: Draft, owner: User, begin: Begin) -> None:
        Membership.objects.filter(user=owner).delete()

        with pytest.raises(Http404):
            begin(owner, f"draft={draft.pk}")

    @pytest.mark.parametrize("name", ["template", "job", "draft"])
    @pytest.mark.parametrize("key", ["x", "-1", "0", "1.5", "²", "9" * 30, "%00", "../1"])
    def test_what_is_no_key_is_not_there(self, owner: User, begin: Begin, name: str, key: str) -> None:
        with pytest.raises(Http404):
            begin(owner, f"{name}={key}")
