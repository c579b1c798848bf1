"""Tests that page, form, API and command line put an imported job into the same project and region."""

import io
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from dashboard.forms.compose.text import fill_from_text
from jobs.models import AllowedResource, Draft, Job, Team
from jobs.requests.placing import Place, place
from tests.pages.conftest import SignIn
from tests.support.api import Caller, caller

pytestmark = pytest.mark.django_db
PLACING = ("other_project", "project_assumed", "region_assumed", "project_not_allowed")
WORDS = {
    "other_project": "The text names the project",
    "project_assumed": "is a placeholder",
    "region_assumed": "names no region",
}
NAMED = re.compile(r"--project=(\S+)")
POOL = "machine-type=n1-standard-4,replica-count=1,container-image-uri=us-docker.pkg.dev/p1/a/b:1"


def command(flags: str) -> str:
    return f"gcloud ai custom-jobs create --display-name=x {flags} --worker-pool-spec={POOL}\n"


def by_api(api: Caller, text: str) -> tuple[set[str], str, str]:
    answer = api.post("/assessments", {"text": text, "expected_seconds": 60}).json()
    codes = {each["code"] for each in answer["findings"] if each["code"] in PLACING}
    return codes, answer["project"], answer["region"]


def by_page(client: Client, text: str, team: Team) -> tuple[set[str], str, str]:
    shown = client.post("/jobs/import/", {"text": text, "run_time": "1 h"}).content.decode()
    draft = Draft.objects.latest("pk")
    return {code for code, words in WORDS.items() if words in shown}, draft.project or team.project, draft.region


def by_command_line(path: Path, text: str) -> tuple[set[str], str, str]:
    path.write_text(text)
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("jobspec", "submit", str(path), "--as", "owner", stdout=out, stderr=err)
    except SystemExit:
        return {code for code in PLACING if f"[{code}]" in err.getvalue()}, "", ""
    job = Job.objects.latest("requested_at")
    return {code for code in PLACING if f"[{code}]" in err.getvalue()}, job.project, job.region


def by_form(team: Team, text: str) -> tuple[set[str], str, str]:
    data: dict[str, Any] = {"request_text": text, "text_digest": "older", "region": ""}
    wanted = Place(team.project, team.default_region, yields=True)
    placing = partial(place, team=team, wanted=wanted)
    filled = fill_from_text(data, None, place=placing, project=team.project, expected=None)
    codes = {each.code for each in filled.findings if each.code in PLACING}
    if filled.data is None:
        return codes, "", ""
    return codes, filled.data.get("project") or team.project, filled.data["region"]


@pytest.mark.parametrize("has_second", [False, True])
@pytest.mark.parametrize(
    ("flags", "codes", "project"),
    [
        ("--region=us-central1", set(), "vision-research"),
        ("--region=us-central1 --project=vision-research", set(), "vision-research"),
        ("--region=us-central1 --project=speech-research", {"other_project"}, ""),
        ("--region=us-central1 --project=$PROJECT", {"project_assumed"}, "vision-research"),
        ("--region=us-central1 --project=vision-two", {"other_project"}, "vision-two"),
        ("--project=vision-research", {"region_assumed"}, "vision-research"),
    ],
)
def test_all_ways_place_a_job_alike(
    flags: str,
    codes: set[str],
    project: str,
    has_second: bool,
    team: Team,
    owner: User,
    signed_in: SignIn,
    tmp_path: Path,
) -> None:
    if has_second:
        AllowedResource.objects.create(team=team, kind="project", name="vision-two")
        codes = set() if project == "vision-two" else codes
    text = command(flags)

    by = {
        "api": by_api(caller(owner), text),
        "page": by_page(signed_in(owner), text, team),
        "form": by_form(team, text),
        "command line": by_command_line(tmp_path / "train.sh", text),
    }

    # The form asks for a region at its field, so it says nothing about the default one.
    assert {name: found[0] for name, found in by.items()} == dict.fromkeys(by, codes) | {
        "form": codes - {"region_assumed"}
    }
    if "other_project" not in codes:
        assert {found[1:] for found in by.values()} == {(project, "us-central1")}
    else:
        # The draft keeps the refused project, so that the form that opens it refuses it too.
        assert by["api"][1:] == ("vision-research", "us-central1")
        assert by["page"][1:] == (NAMED.search(text)[1], "us-central1")  # type: ignore[index]
        assert (by["form"][1], by["command line"][1]) == ("", "")
