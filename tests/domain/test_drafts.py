"""Tests of drafts of imports: kept for their owner for a week, at most fifty."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs import tasks
from jobs.models import Draft, Team
from jobs.requests import imported_drafts
from tests.support import samples
from tests.support.clock import Clock


class TestSave:
    def test_keeps_what_was_imported(self, team: Team, owner: User, clock: Clock) -> None:
        draft = imported_drafts.save_draft(
            submission=samples.submission(), team=team, by=owner, now=clock.now, expected=timedelta(hours=2)
        )

        assert imported_drafts.submission_of(Draft.objects.get(pk=draft.pk)) == samples.submission(
            project="vision-research"
        )
        assert draft.expected_seconds == 7200

    def test_keeps_no_region_that_is_none(self, team: Team, owner: User, clock: Clock) -> None:
        draft = imported_drafts.save_draft(
            submission=samples.submission(region="x" * 41), team=team, by=owner, now=clock.now
        )

        assert draft.region == ""
        assert draft.expected_seconds is None

    def test_lets_the_oldest_go_when_there_are_many(
        self, team: Team, owner: User, teammate: User, clock: Clock
    ) -> None:
        theirs = imported_drafts.save_draft(submission=samples.submission(), team=team, by=teammate, now=clock.now)
        made = [
            imported_drafts.save_draft(
                submission=samples.submission(), team=team, by=owner, now=clock.forward(seconds=1)
            ).pk
            for _ in range(imported_drafts.MAX_DRAFTS + 2)
        ]

        assert set(Draft.objects.filter(owner=owner).values_list("pk", flat=True)) == set(made[2:])
        assert Draft.objects.filter(pk=theirs.pk).exists()


class TestExpiry:
    def test_takes_what_is_older_than_a_week(self, team: Team, owner: User, clock: Clock) -> None:
        imported_drafts.save_draft(submission=samples.submission(), team=team, by=owner, now=clock.now)
        clock.forward(days=6)
        newer = imported_drafts.save_draft(submission=samples.submission(), team=team, by=owner, now=clock.now)

        assert imported_drafts.expire(clock.forward(days=1)) == 0
        assert imported_drafts.expire(clock.forward(seconds=1)) == 1
        assert list(Draft.objects.all()) == [newer]

    def test_is_part_of_every_sweep(
        self, team: Team, owner: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        imported_drafts.save_draft(submission=samples.submission(), team=team, by=owner, now=clock.now)
        monkeypatch.setattr("jobs.clock.read_database_clock", lambda: clock.forward(days=8))

        tasks.sweep()

        assert not Draft.objects.exists()
