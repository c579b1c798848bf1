"""Tests of the search box of the board."""

import pytest
from django.contrib.auth.models import User

from dashboard.pages.parts.search import read_search, states_for
from jobs.models import Job
from tests.pages.conftest import MakeJob

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def names(make_job: MakeJob, approver: User) -> dict[str, Job]:
    return {
        "alpha": make_job("running", name="alpha"),
        "alpha two": make_job("queued", name="alpha two", strategy="STANDARD"),
        "beta": make_job("failed", name="beta", by=approver),
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {"alpha", "alpha two", "beta"}),
        ("ALPHA", {"alpha", "alpha two"}),
        ("alpha two", {"alpha two"}),
        ('name:"alpha two"', {"alpha two"}),
        ("strategy:spot", {"alpha", "beta"}),
        ("strategy:standard alpha", {"alpha two"}),
        ("state:running", {"alpha"}),
        ("state:waiting", {"alpha two"}),
        ("state:QUEUED", {"alpha two"}),
        ("state:JOB_STATE_FAILED", {"beta"}),
        ("owner:approver", {"beta"}),
        ("region:us-central1 machine:a2", {"alpha", "alpha two", "beta"}),
        ("state:", {"alpha", "alpha two", "beta"}),
        ("colour:red", set()),
        ('name:"alpha', set()),
        ("\x00alpha", {"alpha", "alpha two"}),
    ],
)
def test_narrows_to_what_was_typed(names: dict[str, Job], text: str, found: set[str]) -> None:
    assert {job.display_name for job in Job.objects.filter(read_search(text))} == found


def test_an_unknown_state_word_is_a_raw_state() -> None:
    assert states_for("JOB_STATE_HIBERNATING") == {"JOB_STATE_HIBERNATING"}
