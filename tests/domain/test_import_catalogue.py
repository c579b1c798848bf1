"""Tests of `manage.py import_catalogue`: Compute Engine's lists extend the catalogue, and can be removed again."""

import json
import re
from collections.abc import Iterator
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import googleapiclient
import jsonschema
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.queries.prices import key_in
from emulator.capacity.catalogue import extend
from jobs import known_catalogue, requests, spec
from jobs.catalog import ACCELERATORS, MACHINES, compute, machine, trainable
from jobs.cost import rate_of
from jobs.models import CatalogueEntry, Team
from jobs.strategies import check
from tests.domain.conftest import Cloud
from tests.pages.conftest import SignIn
from tests.support import samples

pytestmark = pytest.mark.django_db
NEWER = {
    "machines": {
        "n1-standard-128": {"series": "n1", "vcpus": 128, "memoryGib": 480},
        "n5-standard-8": {"vcpus": 8, "memoryGib": 32, "accelerators": {"NVIDIA_B300": [8]}},
        "n5-standard-16": {"vcpus": 16, "memoryGib": 64},
    }
}


@pytest.fixture(autouse=True)
def newer(cloud: Cloud) -> Iterator[Cloud]:
    """A Compute Engine with newer machines; what this process has recorded is forgotten afterwards."""
    undo = extend(NEWER)
    yield cloud
    undo()
    MACHINES.record({})
    ACCELERATORS.record({})
    known_catalogue.forget()


def imported(*options: str) -> str:
    out = StringIO()
    call_command("import_catalogue", "--project", "vision-research", *options, stdout=out)
    return out.getvalue()


def codes(machine_type: str, **more: Any) -> set[str]:
    body = samples.body(machine={"machineType": machine_type} | more)
    job, _ = spec.read("custom_job", body)
    asked = spec.Submission("custom_job", "p", "us-central1", job, confirmed=frozenset())
    return {finding.code for finding in check(asked)}


def test_shows_the_difference_and_records_nothing() -> None:
    out = imported()

    assert "machine n1-standard-128  new: 128 vCPU, 480 GiB" in out
    assert "machine n5-standard-16  new: 16 vCPU, 64 GiB  (no machine of the series n5 is known to train)" in out
    assert "accelerator NVIDIA_B300  new: B300  (whether Vertex AI has it, by this name, is not known)" in out
    assert "Nothing was recorded." in out
    assert not CatalogueEntry.objects.exists()


def test_knows_the_machines_of_the_data_files() -> None:
    changed = [line for line in imported().splitlines() if " -> " in line]

    assert changed == []


def test_records_what_is_new_in_a_series_that_trains() -> None:
    assert "machine_type_trains" in codes("n1-standard-128")

    imported("--apply")

    found = machine("n1-standard-128")
    assert found is not None
    assert (found.vcpu, str(found.memory_gib), found.series, found.source) == (128, "480", "n1", compute.SOURCE)
    assert "machine_type_trains" not in codes("n1-standard-128")
    assert "n1-standard-128" in trainable()
    assert {row.name for row in CatalogueEntry.objects.all()} == {"n1-standard-128"}
    assert "n1-standard-128" not in imported()


def test_records_doubtful_ones_that_are_named() -> None:
    out = imported("--apply", "--confirm", "n5-*")
    assert "machine n5-standard-8  new: 8 vCPU, 32 GiB, 8 x NVIDIA_B300  (its accelerator is not known)" in out
    assert machine("n5-standard-8") is None

    imported("--apply", "--confirm", "n5-*", "--confirm", "NVIDIA_B300")

    found = machine("n5-standard-8")
    assert found is not None
    assert (found.fixed_accelerator, found.gpu_count) == ("NVIDIA_B300", 8)
    assert not {"machine_type_trains", "unknown_value"} & codes(
        "n5-standard-8", acceleratorType="NVIDIA_B300", acceleratorCount=8
    )


def test_recorded_machines_have_no_invented_price(team: Team) -> None:
    imported("--apply", "--confirm", "n5-*")
    submission = samples.submission(machine={"machineType": "n5-standard-16"})
    assert rate_of(submission, price_key="standard", book=requests.load_context(team).book).usd_per_hour is None


def test_removes_what_was_recorded() -> None:
    imported("--apply")

    assert imported("--remove", "n1-standard-128") == "1 removed.\n"

    assert machine("n1-standard-128") is None
    with pytest.raises(CommandError, match="Not recorded"):
        imported("--remove", "n1-standard-4")


def test_another_process_learns_of_it() -> None:
    values = {"vcpu": 128, "memory_gib": "480", "gpu_type": "", "gpu_count": 0}
    row = CatalogueEntry(kind="machine", name="n1-standard-128", values=values, as_of=date(2026, 11, 26))
    row.recorded_at = "2026-11-26T12:00:00Z"
    CatalogueEntry.objects.bulk_create([row])
    known_catalogue.forget()

    known_catalogue.refresh()

    assert machine("n1-standard-128") is not None


def test_pages_offer_and_draw_what_was_recorded(admin: Any, signed_in: SignIn, team: Team) -> None:
    imported("--apply", "--confirm", "n5-*", "--confirm", "NVIDIA_B300")
    client: Client = signed_in(admin)

    answer = client.get("/catalogue/")

    assert answer.status_code == 200
    assert "n5-standard-8" in answer.content.decode()
    assert key_in("us-central1", "n5-standard-8/standard/compute_engine") is not None


def test_reads_saved_responses(tmp_path: Path) -> None:
    zone = {"machineTypes": [{"name": "n1-odd-2", "guestCpus": 2, "memoryMb": 7680}, 5, {"name": None}]}
    odd = {"name": "f1-micro", "guestCpus": 1, "memoryMb": 614, "isSharedCpu": True}
    old = {"name": "n1-old-4", "guestCpus": 4, "memoryMb": 8192, "deprecated": {"state": "DELETED"}}
    file = tmp_path / "answer.json"
    file.write_text(json.dumps({"items": {"zones/a": zone, "zones/b": {"machineTypes": [odd, old]}, "zones/c": {}}}))
    out = StringIO()

    call_command("import_catalogue", "--file", str(file), stdout=out)

    assert "machine n1-odd-2  new: 2 vCPU, 7.5 GiB" in out.getvalue()
    assert "Skipped, shared cores: 1" in out.getvalue()
    assert "Skipped, deprecated: 1" in out.getvalue()
    file.write_text("[1]")
    with pytest.raises(CommandError, match="is not a response"):
        call_command("import_catalogue", "--file", str(file))


@pytest.mark.usefixtures("unreachable")
def test_reports_that_the_lists_cannot_be_read() -> None:
    with pytest.raises(CommandError):
        imported()


@pytest.mark.parametrize(
    ("collection", "schema"),
    [("machineTypes", "MachineTypeAggregatedList"), ("acceleratorTypes", "AcceleratorTypeAggregatedList")],
)
def test_the_emulator_answers_in_the_documented_shape(newer: Cloud, collection: str, schema: str) -> None:
    folder = Path(googleapiclient.__file__).parent / "discovery_cache/documents"
    documents = json.loads((folder / "compute.v1.json").read_text())["schemas"]
    schemas: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        name = waiting.pop()
        text = (
            json.dumps(documents[name])
            .replace('"$ref": "', '"$ref": "#/$defs/')
            .replace('"type": "any"', '"title": ""')
        )
        schemas[name] = {"additionalProperties": False} | json.loads(text.replace('"type": "any"', '"title": ""'))
        waiting += [other for other in re.findall(r"#/\$defs/(\w+)", text) if other not in schemas]
    token, names = "", set()
    while True:
        path = f"/compute/v1/projects/p/aggregated/{collection}?maxResults=500" + (
            f"&pageToken={token}" if token else ""
        )
        page = newer._emulator.call("GET", path)
        jsonschema.validate(page, {"$ref": f"#/$defs/{schema}", "$defs": schemas})
        names |= {item["name"] for zone in page["items"].values() for item in zone[collection]}
        if not (token := page.get("nextPageToken", "")):
            break

    assert ("n5-standard-8" if collection == "machineTypes" else "nvidia-b300") in names
