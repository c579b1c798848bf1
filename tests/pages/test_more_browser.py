"""Tests of compare, templates, import, catalogue and adoption in Chromium: axe finds nothing, each fits a phone."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs import observation
from jobs.models import Discovery, Job, Team
from jobs.requests import templates
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support import samples
from tests.support.accessibility import faults, faulty
from tests.support.clock import Clock

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser

TEXT = """\
# an import with something of everything
displayName: seg-unet
jobSpec:
  workerPoolSpecs:
    - machineSpec:
        machineType: a2-highgpu-99g
      replicaCuont: 1
      containerSpec:
        imageUri: us-docker.pkg.dev/trainboard/samples/penguins:latest
        args: ["--a-very-long-argument-that-needs-to-break-somewhere=0123456789012345678901234567890123456789"]
  scheduling:
    strategy: SPOT
"""


@pytest.fixture
def addresses(make_job: MakeJob, team: Team, owner: User, clock: Clock) -> list[str]:
    """Every one of these pages, full and empty."""
    first = make_job("succeeded", name="resnet-prune", labels={"phase": "one"})
    second = make_job("running", name="resnet-prune", scheduling={"timeout": "365s"})
    body = second.spec | {"labels": {"a-label-with-quite-a-long-name-for-a-key": "and-a-value-that-is-long-as-well"}}
    body["jobSpec"]["workerPoolSpecs"].append({"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "3"})
    body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"] = [
        "--epochs",
        "12",
        "--data=gs://vision/" + "x" * 90,
    ]
    Job.objects.filter(pk=second.pk).update(spec=body)
    for name in ("resnet", "a name that is long enough to need a second line on any phone there is"):
        kept = templates.save_template(
            team=team, name=name, note="The base of every run.", submission=samples.submission(),
            expected=timedelta(hours=3), by=owner, now=clock.now,
        )  # fmt: skip
    discovery = observation.request_discovery(project=team.project, region="us-central1", by=owner, now=clock.now)
    Discovery.objects.update(due_at=None, answered_at=clock.now, last_error="The discovery is incomplete.")
    for number, row in enumerate((first, second)):
        labels = {"trainboard_instance": "trainboard"} if number else {}
        discovery.found.create(
            kind=row.kind, remote_name=f"theirs-{number}", display_name="their-" * 20, state="JOB_STATE_RUNNING",
            created_at=clock.now, body=row.spec | {"labels": labels},
        )  # fmt: skip
    return [
        f"/jobs/{first.pk}/delete/", "/jobs/adopt/", "/jobs/adopt/?q=nothing", "/jobs/adopt/?region=europe-west4",
        f"/compare/?a={first.pk}&b={second.pk}", f"/compare/?a={first.pk}&b={first.pk}", f"/compare/?b={second.pk}",
        "/compare/", "/templates/", f"/templates/{kept.pk}/", f"/templates/{kept.pk}/delete/",
        f"/jobs/{first.pk}/template/", "/jobs/import/", "/catalogue/", "/catalogue/?region=", "/catalogue/?q=nothing",
    ]  # fmt: skip


def test_every_page_is_accessible_and_fits(window: OpenWindow, addresses: list[str]) -> None:
    view = window().sign_in("owner")

    assert faulty(view, addresses) == {}


def test_an_import_is_accessible_and_fits(window: OpenWindow, owner: User) -> None:
    view = window().sign_in("owner")
    page = view.page
    page.goto("/jobs/import/")
    page.get_by_label("Paste it").fill(TEXT)
    page.get_by_role("button", name="Import").click()

    expect(page.get_by_role("region", name="Wrong").get_by_text("Did you mean `replicaCount`?")).to_be_visible()
    expect(page.get_by_role("link", name="Open in the form")).to_be_visible()
    assert faults(view) == []


@pytest.mark.parametrize("has_script", [True, False])
def test_a_file_is_imported_with_and_without_javascript(
    window: OpenWindow, owner: User, tmp_path: Path, has_script: bool
) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(samples.body(name="from-a-file"), indent=1))
    page = window(java_script_enabled=has_script).sign_in("owner").page
    page.goto("/jobs/import/")

    page.get_by_label("Or upload files").set_input_files(file)
    page.get_by_role("button", name="Import").click()

    expect(page.get_by_text("from-a-file").first).to_be_visible()
    expect(page.get_by_role("link", name="Open in the form")).to_be_visible()


@pytest.mark.parametrize("has_script", [True, False])
def test_the_catalogue_is_narrowed_with_and_without_javascript(
    window: OpenWindow, owner: User, has_script: bool
) -> None:
    page = window(java_script_enabled=has_script).sign_in("owner").page
    page.goto("/catalogue/")

    page.get_by_label("Accelerator", exact=True).select_option("NVIDIA_L4")
    if not has_script:
        page.get_by_role("button", name="Filter").click()

    expect(page.get_by_text("a2-highgpu-1g")).to_have_count(0)
    expect(page.get_by_role("cell", name="g2-standard-4", exact=False).first).to_be_visible()


def test_a_file_that_is_too_large_is_told_and_the_page_stays(window: OpenWindow, owner: User, tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(b"x" * 9_000_000)
    view = window().sign_in("owner")
    view.expected_statuses = {413}
    view.page.goto("/jobs/import/")

    view.page.get_by_label("Or upload files").set_input_files(file)
    view.page.get_by_role("button", name="Import").click()

    expect(view.page.get_by_role("alert")).to_contain_text("larger than 2 MiB")
