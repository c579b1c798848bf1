"""Tests of imported texts that leave values open: they are grouped, filled in on the page, and open in the form."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import importer
from jobs.models import Draft, Job, Team
from tests.pages.conftest import SignIn, fields_of, text_of

pytestmark = pytest.mark.django_db
POOL = "jobSpec.workerPoolSpecs[0]"
TEXT = """\
displayName: e
jobSpec:
  workerPoolSpecs:
  - machineSpec: {machineType: n1-standard-8, acceleratorType: $GPU, acceleratorCount: $COUNT}
    replicaCount: 1
    containerSpec: {imageUri: "us-docker.pkg.dev/p1/a/b:1", args: ["--data=gs://${BUCKET}/x"]}
  scheduling: {strategy: "${STRATEGY}", timeout: 3600s}
"""


def send(client: Client, text: str, **more: str) -> str:
    page = client.post("/jobs/import/", {"text": text, "run_time": "1 h"} | more)
    return page.content.decode()


def test_what_is_known_opens_in_the_form_with_what_is_open_marked(team: Team, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)

    page = send(client, TEXT)
    draft = Draft.objects.get()
    opened = client.get(f"/jobs/new/?draft={draft.pk}")

    assert f'href="/jobs/new/?draft={draft.pk}"' in page
    fields = fields_of(opened.content.decode())
    assert fields["pool-0-machine_type"] == "n1-standard-8"
    assert not fields.get("strategy")  # Standard would be a guess
    fields |= {"strategy": "spot", "do": "submit"}
    fields["pool-0-args"] = "--steps 5"
    refused = client.post("/jobs/new/", fields)
    assert refused.status_code == 422
    assert text_of(refused).count("The imported text leaves this open.") >= 2  # accelerator and its count
    assert not Job.objects.exists()


def test_a_placeholder_is_filled_in_on_the_page(team: Team, owner: User, signed_in: SignIn) -> None:
    values = {
        f"fill:{POOL}.machineSpec.acceleratorType": "NVIDIA_TESLA_T4",
        f"fill:{POOL}.machineSpec.acceleratorCount": "2",
        f"fill:{POOL}.containerSpec.args[0]": "--data=gs://real-bucket/x",
        "fill:jobSpec.scheduling.strategy": "SPOT",
    }

    page = send(signed_in(owner), TEXT, **values)

    spec = Draft.objects.get().spec["jobSpec"]
    assert spec["workerPoolSpecs"][0]["machineSpec"] == {
        "machineType": "n1-standard-8",
        "acceleratorType": "NVIDIA_TESLA_T4",
        "acceleratorCount": 2,
    }
    assert spec["workerPoolSpecs"][0]["containerSpec"]["args"] == ["--data=gs://real-bucket/x"]
    assert spec["scheduling"]["strategy"] == "SPOT"
    assert "is a placeholder" not in page
    assert 'value="NVIDIA_TESLA_T4"' in page  # it is sent again with the next value


def test_findings_that_decide_come_first(team: Team, owner: User, signed_in: SignIn) -> None:
    text = TEXT.replace(", timeout: 3600s", "").replace("replicaCount: 1", "replicaCount: many")
    page = send(signed_in(owner), text)

    titles = ("<h2>Wrong", "<h2>Open", "<h2>Worth knowing")
    places = [page.index(title) for title in titles]
    assert places == sorted(places)
    assert "“many”" in page[places[0] : places[1]]
    assert "GPU" in page[places[1] : places[2]]


@pytest.mark.parametrize("path", ["displayName", "jobSpec", "", "jobSpec.workerPoolSpecs[9].replicaCount", "a" * 3000])
def test_only_placeholders_are_filled(path: str) -> None:
    reading = importer.read_text(TEXT)

    assert reading.filled({path: "other"}).body == reading.body
