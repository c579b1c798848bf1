"""Tests with generated jobs: every written format is read back as the same job, and no text makes reading raise."""

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import exporter, importer, strategies
from jobs.spec import Severity, Submission, read, rest_body
from tests.support.specs import NEWER_NAMES, awkward, jobs, spoilt

PLACES = {"project": "vision-research", "region": "us-central1"}
FLAGS = ("displayName", "labels", "encryptionSpec")
"""What gcloud takes as flags, where an empty value is no value."""


def submission(drawn: tuple[str, dict[str, Any]]) -> Submission | None:
    """Return the submission of a drawn job; None for a persistent resource and for a body without a kind."""
    kind, body = drawn
    if kind == "persistent_resource" or set(body) <= {"displayName", "labels", "encryptionSpec", *NEWER_NAMES}:
        return None
    return Submission(kind, **PLACES, job=read(kind, body)[0])


def expected(body: dict[str, Any], to: str) -> dict[str, Any]:
    """Return the part of a body that a format can hold: gcloud's flags have no empty values, its counts are 1."""
    body = copy.deepcopy(body)
    if not to.startswith("gcloud"):
        return body
    for name in FLAGS:
        if not body.get(name) or body[name] == {"kmsKeyName": ""}:
            body.pop(name, None)
    if body.keys() & {"studySpec", "trialJobSpec", "maxTrialCount", "parallelTrialCount"} or "jobSpec" not in body:
        body = {"maxTrialCount": 1, "parallelTrialCount": 1} | body
    return body


@pytest.mark.parametrize("to", exporter.FORMATS)
@given(drawn=jobs() | jobs(newer=True))
def test_a_job_is_read_as_it_was_written(to: str, drawn: tuple[str, dict[str, Any]]) -> None:
    given_job = submission(drawn)
    if given_job is None or given_job.kind not in exporter.FORMATS[to].kinds:
        return

    key = given_job.job.encryption_spec
    has_no_flag = bool(given_job.job.unknown_fields and given_job.kind == "custom_job") or bool(
        key and key.unknown_fields
    )
    if to.startswith("gcloud") and (has_no_flag or any("=" in name for name in given_job.job.labels)):
        with pytest.raises(exporter.NotWritable):
            exporter.write(given_job, to)
        return
    text = exporter.write(given_job, to)
    reading = importer.read_text(text)

    assert reading.submission is not None, text
    assert [each for each in reading.findings if each.severity is Severity.ERROR and not each.confirm] == [], text
    assert reading.format == to
    assert reading.kind == given_job.kind
    assert expected(reading.body, to) == expected(rest_body(given_job.job), to), text
    if to != "rest":
        assert (reading.submission.project, reading.submission.region) == tuple(PLACES.values())


@given(drawn=jobs(outputs=True))
def test_fields_that_vertex_fills_in_are_not_written(drawn: tuple[str, dict[str, Any]]) -> None:
    given_job = submission(drawn)
    if given_job is None:
        return

    written = json.loads(exporter.write(given_job, "rest"))

    assert not {"state", "createTime", "error", "trials"} & set(written)


@given(text=st.text(max_size=200) | st.lists(awkward, max_size=20).map(" ".join))
def test_any_text_is_read_without_raising(text: str) -> None:
    reading = importer.read_text(text)

    assert reading.submission is not None or reading.findings


@given(given=st.binary(max_size=200))
def test_any_bytes_are_read_without_raising(given: bytes) -> None:
    reading = importer.read_text(given)

    assert reading.submission is not None or reading.findings


@given(drawn=spoilt(), yaml=st.booleans())
def test_spoilt_bodies_are_read_without_raising(drawn: tuple[str, Any], yaml: bool) -> None:
    _, body = drawn
    text = json.dumps(body, indent=None if yaml else 1)

    reading = importer.read_text(f"---\n{text}" if yaml else text)

    assert isinstance(reading.body, dict)


@pytest.mark.parametrize("to", exporter.FORMATS)
@given(drawn=jobs(), cuts=st.data())
def test_mutated_texts_are_read_without_raising(
    to: str, drawn: tuple[str, dict[str, Any]], cuts: st.DataObject
) -> None:
    given_job = submission(drawn)
    if given_job is None or given_job.kind not in exporter.FORMATS[to].kinds:
        return
    text = exporter.write(Submission(given_job.kind, **PLACES, job=given_job.job.but(labels=None)), to)
    at = cuts.draw(st.integers(0, len(text)))
    to_place = cuts.draw(st.integers(at, min(len(text), at + 20)))
    text = text[:at] + cuts.draw(awkward | st.text(max_size=5)) + text[to_place:]

    reading = importer.read_text(text)

    assert reading.submission is not None or reading.findings


MEGABYTE = 1024 * 1024
HEAVY = {
    "blanks": " " * MEGABYTE,
    "braces": "{" * MEGABYTE,
    "brackets": "[" * MEGABYTE,
    "yaml brackets": "a: " + "[" * MEGABYTE,
    "yaml indents": "".join(f"{' ' * n}a:\n" for n in range(1400)),
    "one label": 'labels: {a: "' + "x" * MEGABYTE + '"}\nworkerPoolSpecs: []',
    "pools": "workerPoolSpecs:\n" + "- {replicaCount: 1}\n" * 50_000,
    "list": "workerPoolSpecs:\n- containerSpec:\n    args:\n" + "    - 1\n" * 130_000,
    "names": json.dumps({"jobSpec": {f"field{n}": n for n in range(60_000)}}),
    "json texts": json.dumps({"jobSpec": {"models": ["x"] * 190_000}}),
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "workerPoolSpecs: *i\n",
    "merges": "a: &a {"
    + ",".join(f"k{n}: 1" for n in range(5000))
    + "}\n"
    + "".join(f"b{n}: {{<<: *a}}\n" for n in range(5000)),
    "self": "a: &a [*a]\n",
    "gclouds": "gcloud " * 150_000,
    "gcloud in dollars": "x=$(" + "gcloud ai create " * 60_000,
    "dollars in dollars": "gcloud ai custom-jobs create " + "$(gcloud create " * 60_000,
    "variables": "A=" + "x" * 100_000 + "\n" + "gcloud ai custom-jobs create --display-name=" + "$A" * 400_000,
    "doubling": "A=xxxxxxxx\n" + "A=$A$A\n" * 60 + "gcloud ai custom-jobs create --display-name=$A",
    "open braces": "cat <<END | gcloud ai custom-jobs create --config -\n${" + "${a}" * 250_000 + "\nEND\n",
    "open defaults": "gcloud ai custom-jobs create --display-name=" + "${a:-" * 200_000,
    "growing arrays": "a=(x y)\n" + 'a+=("${a[@]}" "${a[@]}")\n' * 40_000 + 'gcloud ai custom-jobs create "${a[@]}"',
    "texts in values": "a=$(cat <<END\n" * 70_000 + "gcloud ai custom-jobs create --display-name=$a",
    "messages": "`gcloud ai custom-jobs create` " * 30_000,
    "an open sentence": "`" + "gcloud ai custom-jobs create --a=b " * 28_000,
    "an open quote": 'x = "' + 'gcloud \\" ' * 100_000,
    "dashes": "gcloud ai custom-jobs create " + "\N{EM DASH}" * 330_000,
    "dashes and hyphens": "gcloud ai custom-jobs create " + "-\N{EN DASH}" * 250_000,
    "fences of both kinds": "```` yaml\n~~~ x\n" * 60_000,
    "flags": "gcloud ai custom-jobs create " + "--worker-pool-spec=a=b " * 40_000,
    "quotes": "curl " + "'\"" * 500_000,
    "continued": "curl \\\n" * 100_000,
    "python nest": "import aiplatform\nCustomJob(" + "[" * 100_000,
    "python minus": "import aiplatform\nCustomJob(" + "-" * 400_000 + "1)",
    "python plus": "import aiplatform\nx = CustomJob(" + "+".join(["a"] * 100_000) + ")",
    "python doubling": "import aiplatform\nx = [1]\n" + "x = x + x\n" * 60 + "CustomJob(worker_pool_specs=x)",
    "python growing": "import aiplatform\nx = [1]\n"
    + "x.extend(x)\n" * 60
    + "x.append(x)\nCustomJob(worker_pool_specs=x)",
    "python numbers": "import aiplatform\nx = 9\n" + "x = x * x\n" * 200 + "CustomJob('a', x)",
    "assignments": "worker_pool_specs:" * 55_000,
    "comments": "/*" * 500_000,
    "hashes": "#\n" * 500_000 + "gcloud ai custom-jobs create",
    "digits": "workerPoolSpecs: [{replicaCount: " + "9" * MEGABYTE + "}]",
    "json digits": '{"jobSpec": {"workerPoolSpecs": [{"replicaCount": ' + "9" * MEGABYTE + "}]}}",
    "digits in a flag": "gcloud ai hp-tuning-jobs create --display-name=a --max-trial-count=" + "9" * MEGABYTE,
    "digits in seconds": "trialJobSpec: {scheduling: {timeout: {seconds: '" + "9" * MEGABYTE + "', nanos: 0}}}",
    "words": "machine_spec " * 80_000,
    "fences": "```\n" * 250_000,
    "anchors": "".join(f"- &a{n} x\n" for n in range(80_000)),
    "json values": "{}" * 400_000,
    "worker pool keys": "gcloud ai custom-jobs create --worker-pool-spec="
    + ",".join(f"machine-typo{n}=a" for n in range(40_000)),
    "python branches": "import aiplatform\n"
    + "".join(f"if a{n}:\n  b{n} = 1\n" for n in range(20_000))
    + "CustomJob('a')",
    "python loops": "import aiplatform\n"
    + "".join(f"b{n} = 1\nfor a in c: pass\n" for n in range(14_000))
    + "CustomJob('a')",
    "python functions": "import aiplatform\n"
    + "".join(f"def f{n}(a=1):\n  b{n} = 1\n  return f{n - 1}()\n" for n in range(9_000))
    + "CustomJob('a')",
    "python classes": "import aiplatform\n"
    + "".join(f"class A{n}:\n  b{n} = 1\n" for n in range(14_000))
    + "CustomJob('a')",
    "python jobs": "import aiplatform\n" + "".join(f"a{n} = CustomJob('a')\na{n}.run()\n" for n in range(8_000)),
    "python texts": "import aiplatform\na = '" + "x" * 150_000 + "'\n" + "b = f'{a}{a}'\n" * 20_000 + "CustomJob('a')",
    "python beyond its limit": "import aiplatform\n" + "a = 1\n" * 160_000,
}


@pytest.mark.heavy
@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_a_megabyte_of_anything_takes_bounded_time(text: str) -> None:
    started = time.process_time()

    reading = importer.read_text(text)

    assert time.process_time() - started < 4
    assert sum(len(finding.message) for finding in reading.findings) < 100_000


POOL = "- machineSpec: {machineType: n1-standard-4}\n  containerSpec: {imageUri: $IMAGE}\n"


@pytest.mark.parametrize("count", [1_500, 9_000])
def test_many_worker_pools_are_read_and_checked_in_bounded_time(count: int) -> None:
    started = time.process_time()

    reading = importer.read_text("workerPoolSpecs:\n" + POOL * count, region="us-central1")
    rules = strategies.check(reading.submission) if reading.submission is not None else []
    findings = reading.with_rules(rules, confirmed=())

    assert time.process_time() - started < 4
    assert ("too_much" in {finding.code for finding in findings}) == (count > 2_000)
    assert {finding.severity for finding in findings} >= {Severity.ERROR}
