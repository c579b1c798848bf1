"""Tests of the words of every search box for jobs."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dashboard.queries.search import KNOWN, read_search, states_for
from jobs.models import Job, Team
from jobs.states import JobState
from tests.pages.conftest import MakeJob, SignIn
from tests.support import samples

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def names(make_job: MakeJob, approver: User) -> dict[str, Job]:
    found = {
        "alpha": make_job("running", name="alpha"),
        "alpha two": make_job("queued", name="alpha two", strategy="STANDARD"),
        "beta": make_job("failed", name="beta", by=approver),
    }
    beta = found["beta"]
    beta.spec["labels"] = {"stage": "two"}
    beta.spec["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["imageUri"] = "us-docker.pkg.dev/p/r/Trainer:7"
    Job.objects.filter(pk=beta.pk).update(spec=beta.spec, cost_micros=250_500_000)
    Job.objects.exclude(pk=beta.pk).update(cost_micros=0)
    return found


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
        ("gpu:a100", {"alpha", "alpha two", "beta"}),
        ("gpu:h100", set()),
        ("image:trainer", {"beta"}),
        ("label:stage=two", {"beta"}),
        ("label:stage", {"beta"}),
        ("label:stage=one", set()),
        ("label:contains=two", set()),  # a key that reads like a lookup of Django
        ("cost>100", {"beta"}),
        ("cost>=$250.50 owner:approver", {"beta"}),
        ("cost<100", {"alpha", "alpha two"}),
        ("gpus>8", set()),
        ("cost>", {"alpha", "alpha two", "beta"}),
        ("cost>much", set()),
    ],
)
def test_narrows_to_what_was_typed(names: dict[str, Job], text: str, found: set[str]) -> None:
    assert {job.display_name for job in Job.objects.filter(read_search(text).whole)} == found


def test_an_unknown_state_word_is_a_raw_state() -> None:
    assert states_for("JOB_STATE_HIBERNATING") == {"JOB_STATE_HIBERNATING"}


@pytest.mark.parametrize("kind", sorted(samples.BODIES))
def test_an_image_is_found_in_every_kind_of_job(make_job: MakeJob, kind: str) -> None:
    make_job("queued", kind=kind, hours=0.02)
    assert Job.objects.filter(read_search("image:penguins").whole).count() == 1
    assert not Job.objects.filter(read_search("image:walrus").whole).exists()


@pytest.mark.parametrize("text", ["state:failed owner:approver", "cost>100", "gpu:a100 beta", "label:stage"])
def test_the_board_s_words_are_those_of_the_history(
    names: dict[str, Job], engineer: Client, stranger: User, signed_in: SignIn, text: str
) -> None:
    beta = str(names["beta"].pk)
    for path in ("history", "board"):
        page = engineer.get(reverse(path), {"q": text}).text
        assert beta in page
        assert str(names["alpha two"].pk) not in page
        assert beta not in signed_in(stranger).get(reverse(path), {"q": text}).text


def test_a_jump_finds_the_newest_jobs_of_the_person_s_teams(
    names: dict[str, Job], engineer: Client, stranger: User, signed_in: SignIn
) -> None:
    page = engineer.get(reverse("jump"), {"q": "alpha"}).text
    assert page.index(str(names["alpha two"].pk)) < page.index(str(names["alpha"].pk))
    assert str(names["beta"].pk) not in page
    assert "<a" not in engineer.get(reverse("jump")).text, "nothing was typed"
    assert "<a" not in signed_in(stranger).get(reverse("jump"), {"q": "alpha"}).text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sta", ["state:"]),
        ("COS", ["cost>"]),
        ("state:su", ["state:succeeded", "state:submitting", "state:submit-failed", "state:partially-succeeded"]),
        ("bert strategy:fl", ["bert strategy:flex-start"]),
        ("gpu:h1", ["gpu:h100-80gb", "gpu:h100-mega-80gb"]),
        ("machine:a2-ultra", [f"machine:a2-ultragpu-{count}g" for count in (1, 2, 4, 8)]),
        ("owner:app", ["owner:approver"]),
        ("owner:outsid", []),
        ("name:x", []),
        ("cost>1", []),
        ("colour:", []),
        ('name:"alpha ', []),
        ("\x00", []),
        ("s" * 10_000, []),
    ],
)
def test_the_last_word_is_completed(
    engineer: Client, approver: User, stranger: User, text: str, found: list[str]
) -> None:
    page = engineer.get(reverse("complete"), {"q": text})

    assert page.context["completions"] == found
    for each in found:
        assert not read_search(each).unfinished or each.endswith((":", ">"))


def test_completed_values_are_those_that_the_person_sees(
    engineer: Client, signed_in: SignIn, stranger: User, team: Team
) -> None:
    for column, value in (("team", team.name), ("project", team.project), ("owner", "owner")):
        assert engineer.get(reverse("complete"), {"q": f"{column}:"}).context["completions"]
        seen = signed_in(stranger).get(reverse("complete"), {"q": f"{column}:{value}"})
        assert value not in str(seen.context["completions"])


def test_everything_that_is_completed_finds_something_to_search_for() -> None:
    for column, values in KNOWN.items():
        for value in values():
            assert read_search(f"{column}:{value}").condition
            assert column != "state" or states_for(value) <= set(JobState), value
