"""Tests of the page of deputies, and of what deputies may not do."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.models import Approval, Deputy, Job, Team, Vote
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def named(name: str, clock: Clock, *, first: int = 0, last: int = 2) -> dict[str, str]:
    day = clock.now.date()
    return {
        "deputy_name": name,
        "first_day": str(day + timedelta(days=first)),
        "last_day": str(day + timedelta(days=last)),
    }


def test_a_deputy_decides_from_the_inbox_until_it_is_taken_back(
    make_job: MakeJob, approver: User, teammate: User, signed_in: SignIn, clock: Clock
) -> None:
    first, second = make_job("awaiting_approval", name="one"), make_job("awaiting_approval", name="two")
    away, deputy = signed_in(approver), signed_in(teammate)
    assert b'name="decision"' not in deputy.get("/approvals/").content

    page = away.post("/deputies/", named("teammate", clock), follow=True)
    assert "teammate decides for you from 2 Mar 2026 to 4 Mar 2026." in text_of(page)
    assert "You decide for approver, whose deputy you are." in text_of(deputy.get("/approvals/"))
    deputy.post(f"/jobs/{first.pk}/decide/", {"decision": "approve"})
    away.post(f"/deputies/{Deputy.objects.get().pk}/end/")
    deputy.post(f"/jobs/{second.pk}/decide/", {"decision": "approve"})

    assert Job.objects.get(pk=first.pk).state == "approved"
    assert Job.objects.get(pk=second.pk).state == "awaiting_approval"
    assert Vote.objects.get().counts_for == approver


def test_people_with_a_full_name_are_shown_with_it(
    make_job: MakeJob, owner: User, approver: User, teammate: User, stranger: User, signed_in: SignIn, clock: Clock
) -> None:
    for user, first, last in ((owner, "Ada", "Lovelace"), (teammate, "Grace", "Hopper"), (approver, "Alan", "")):
        User.objects.filter(pk=user.pk).update(first_name=first, last_name=last)
    job = make_job("awaiting_approval", name="one")
    Approval.objects.filter(job=job).update(approver_names=",approver,absent,", votes_needed=2)
    away = signed_in(approver)

    assert '<option value="teammate">teammate (Grace Hopper)</option>' in away.get("/deputies/").content.decode()
    page = text_of(away.post("/deputies/", named("teammate", clock), follow=True))
    assert "teammate (Grace Hopper) decides for you from 2 Mar 2026 to 4 Mar 2026." in page
    assert "teammate (Grace Hopper) , 2 Mar 2026 to 4 Mar 2026 (UTC)" in page
    assert "approver (Alan) , 2 Mar 2026 to 4 Mar 2026 (UTC)" in text_of(signed_in(teammate).get("/deputies/"))
    signed_in(teammate).post(f"/jobs/{job.pk}/decide/", {"decision": "approve"})
    inbox = text_of(away.get("/approvals/"))
    assert "owner (Ada Lovelace) · vision asks for" in inbox
    assert "Decided by approver (Alan) and absent of vision, never by owner (Ada Lovelace)." in inbox
    assert "teammate (Grace Hopper) for approver (Alan) approved it" in inbox
    assert "Lovelace" not in text_of(signed_in(stranger).get("/approvals/"))


@pytest.mark.parametrize(
    ("name", "first", "last", "words"),
    [
        ("approver", 0, 1, "has to be an engineer, approver or lead of a team"),
        ("stranger", 0, 1, "has to be an engineer, approver or lead of a team"),
        ("nobody", 0, 1, "has to be an engineer, approver or lead of a team"),
        ("teammate", -1, 1, "The days begin today or later"),
        ("teammate", 2, 1, "The days begin today or later"),
        ("teammate", 0, 91, "at most 90"),
    ],
)
def test_what_makes_no_sense_is_refused_and_kept_in_the_form(
    approver: User, teammate: User, stranger: User, signed_in: SignIn, clock: Clock,
    name: str, first: int, last: int, words: str,
) -> None:  # fmt: skip
    page = signed_in(approver).post("/deputies/", named(name, clock, first=first, last=last))

    assert page.status_code == 422
    assert words in text_of(page)
    assert f'value="{named(name, clock, last=last)["last_day"]}"' in page.content.decode()
    assert not Deputy.objects.exists()


def test_nobody_ends_or_sees_what_others_named(
    approver: User, teammate: User, stranger: User, signed_in: SignIn, clock: Clock, team: Team
) -> None:
    signed_in(approver).post("/deputies/", named("teammate", clock))
    row = Deputy.objects.get()

    assert signed_in(stranger).post(f"/deputies/{row.pk}/end/").status_code == 404
    assert "teammate" not in text_of(signed_in(stranger).get("/deputies/"))
    assert signed_in(User.objects.create_user("alone")).get("/deputies/").status_code == 404
    row.refresh_from_db()
    assert row.ended_at is None
