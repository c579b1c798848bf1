"""Tests of roles and their permissions."""

import logging

import pytest
from django.contrib.auth.models import AnonymousUser, User

from dashboard.access import can, jobs_of, teams_of, teams_where
from jobs import log_context
from jobs.models import Membership, Team
from tests.pages.conftest import MakeJob, SignIn

VERBS = ("see", "request", "cancel", "approve", "set_policy")


class TestRoles:
    @pytest.mark.parametrize(
        ("role", "allowed"),
        [
            ("viewer", {"see"}),
            ("engineer", {"see", "request", "cancel"}),
            ("approver", {"see", "request", "cancel", "approve"}),
            ("lead", set(VERBS)),
        ],
    )
    def test_each_includes_the_ones_below(self, team: Team, owner: User, role: str, allowed: set[str]) -> None:
        Membership.objects.filter(user=owner).update(role=role)

        assert {verb for verb in VERBS if can(owner, verb, team)} == allowed
        assert {verb for verb in VERBS if teams_where(owner, verb)} == allowed

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_stranger_may_nothing_and_an_admin_everything(
        self, team: Team, stranger: User, admin: User, verb: str
    ) -> None:
        assert not can(stranger, verb, team)
        assert not can(AnonymousUser(), verb, team)
        assert can(admin, verb, team)

    def test_somebody_who_left_may_nothing(self, team: Team, owner: User) -> None:
        owner.is_active = False

        assert not can(owner, "see", team)

    def test_an_unknown_verb_is_a_mistake_and_no_right(self, team: Team, owner: User) -> None:
        with pytest.raises(KeyError):
            can(owner, "fly", team)

    def test_jobs_are_seen_by_their_team_only(
        self, make_job: MakeJob, owner: User, teammate: User, stranger: User, admin: User, other_team: Team
    ) -> None:
        job = make_job("running")

        assert [list(jobs_of(person)) for person in (owner, teammate, admin)] == [[job]] * 3
        assert list(jobs_of(stranger)) == []
        assert list(teams_of(stranger)) == [other_team]


def test_a_refusal_is_logged_with_the_person(
    team: Team, owner: User, signed_in: SignIn, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []
    logger = logging.getLogger("django.request")
    monkeypatch.setattr(
        logger, "handle", lambda line: seen.append((line.getMessage(), log_context.bound().get("user_id", "")))
    )

    assert signed_in(owner).get(f"/messages/channels/new/{team.pk}/").status_code == 403

    assert seen == [(f"Forbidden (Permission denied): /messages/channels/new/{team.pk}/", str(owner.pk))]
