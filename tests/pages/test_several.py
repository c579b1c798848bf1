"""Several files and several jobs: a script is read with the file that it names, and the job that is meant is chosen."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from dashboard.forms.uploads import MAX_FILES, MOST_BYTES
from jobs.models import Draft, Team
from tests.pages.conftest import SignIn, text_of
from tests.pages.test_import import YAML, send

pytestmark = pytest.mark.django_db
SCRIPT = "CONFIG=job.yaml\ngcloud ai custom-jobs create --region=us-central1 --display-name=night --config=$CONFIG\n"
COMMAND = "gcloud ai custom-jobs create --region=us-central1 --display-name=night --config=$(CONFIG)"
MAKEFILE = f"CONFIG := job.yaml\nrun:\n\t{COMMAND}\n"
POOL = "{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, containerSpec: {imageUri: a/b}}"
TWO = f"""displayName: one
jobSpec: {{workerPoolSpecs: [{POOL}]}}
---
displayName: two
jobSpec: {{workerPoolSpecs: [{POOL.replace("standard-4", "standard-8")}]}}
"""


def files(*given: tuple[str, str]) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(name, text.encode()) for name, text in given]


def options(page: Any) -> list[str]:
    return re.findall(r'<option value="(\d+\.\d+)"', page.content.decode())


@pytest.mark.parametrize("script", [("run.sh", SCRIPT), ("Makefile", MAKEFILE)])
@pytest.mark.parametrize("first", [0, 1])
def test_a_script_takes_the_file_that_is_uploaded_with_it(
    team: Team, owner: User, signed_in: SignIn, script: tuple[str, str], first: int
) -> None:
    both = [script, ("job.yaml", YAML)]

    page = send(signed_in(owner), file=files(*both[first:], *both[:first]))

    assert page.status_code == 200, text_of(page)
    spec = Draft.objects.get().spec
    assert spec["displayName"] == "night"
    assert spec["jobSpec"]["scheduling"]["strategy"] == "SPOT"


def test_pasted_parts_are_files_too_and_stay_for_another_reading(team: Team, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)
    pasted = f"==> run.sh <==\n{SCRIPT}==> job.yaml <==\n{YAML}"

    page = send(client, pasted)

    assert Draft.objects.get().spec["displayName"] == "night"
    assert "==&gt; job.yaml &lt;==" in page.content.decode()


def test_several_jobs_are_offered_and_the_chosen_one_is_read(team: Team, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)

    first, second = send(client, TWO), send(client, TWO, pick="1.2")

    assert options(first) == ["1.1", "1.2"]
    assert [draft.spec["displayName"] for draft in Draft.objects.order_by("pk")] == ["one", "two"]
    assert "n1-standard-8" in text_of(second)


def test_jobs_of_several_files_are_offered(team: Team, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)
    both = files(("a.yaml", YAML), ("b.yaml", YAML.replace("SPOT", "STANDARD")))

    page = send(client, file=both, pick="2.1")

    assert options(page) == ["1.1", "2.1"]
    assert Draft.objects.get().spec["displayName"] == "b"


@pytest.mark.parametrize("pick", ["9.9", "x", "1.1.1", "0.0", "\0"])
def test_a_choice_that_is_none_is_the_first(team: Team, owner: User, signed_in: SignIn, pick: str) -> None:
    assert send(signed_in(owner), TWO, pick=pick).status_code == 200


def test_too_many_bytes_together_are_refused(owner: User, signed_in: SignIn) -> None:
    half = "#" * (MOST_BYTES // 2 + 1)

    assert send(signed_in(owner), file=files(("a.yaml", half), ("b.yaml", half))).status_code == 413


def test_files_beyond_the_limit_are_left_out(owner: User, signed_in: SignIn) -> None:
    page = send(signed_in(owner), file=files(*((f"{n}.yaml", YAML) for n in range(MAX_FILES + 5))))

    assert len(options(page)) == MAX_FILES


def test_a_stranger_sees_nothing_of_it(team: Team, owner: User, stranger: User, signed_in: SignIn) -> None:
    send(signed_in(owner), TWO)

    page = signed_in(stranger).get(f"/jobs/new/?draft={Draft.objects.get().pk}")

    assert page.status_code == 404
