"""Tests that nothing is lost silently: unusual spellings are read correctly or refused.

None is read as another job or as a job under Standard.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import exporter, importer
from tests.unit.importer.test_reading import codes, refused, spec_of

POOL = (
    '{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, '
    '"container_spec": {"image_uri": "gcr.io/p/i"}}'
)
JOB = f'job = aiplatform.CustomJob(display_name="x", worker_pool_specs=[{POOL}])\n'
YAML = """workerPoolSpecs:
- machineSpec: {machineType: n1-standard-4}
  replicaCount: 1
  containerSpec: {imageUri: a/b}
"""
GCLOUD = (
    "gcloud ai custom-jobs create --region=us-central1 --display-name=x --worker-pool-spec=machine-type=n1-standard-4,"
)
SPOT = {
    "keywords": f'k = {{"scheduling_strategy": "SPOT"}}\n{JOB}job.run(**k)',
    "a key set later": f"k = {{}}\nif 1 < 2:\n    k['scheduling_strategy'] = Strategy.SPOT\n{JOB}job.run(**k)",
    "a function's keywords": f"def go(**kw):\n    {JOB}    job.run(**kw)\ngo(scheduling_strategy='SPOT')",
    "a function's parameter": f"def go(how='STANDARD'):\n    {JOB}    job.run(scheduling_strategy=how)\ngo('SPOT')",
    "annotated": f'how: str = "SPOT"\n{JOB}job.run(scheduling_strategy=how)',
    "a class": f'class C:\n    how: str = "SPOT"\n{JOB}job.run(scheduling_strategy=C.how)',
    "an object": f"class C:\n    how: str = 'SPOT'\nc = C()\n{JOB}job.run(scheduling_strategy=c.how)",
    "argparse": 'p.add_argument("--how", default="SPOT")\nargs = p.parse_args()\n'
    f"{JOB}job.run(scheduling_strategy=args.how)",
    "the request": f'{JOB}job._gca_resource.job_spec.scheduling.strategy = "SPOT"\njob.submit()',
    "the request's message": f"{JOB}job._gca_resource.job_spec.scheduling = Scheduling(strategy=4)\njob.submit()",
    "setattr": f'{JOB}setattr(job._gca_resource.job_spec.scheduling, "strategy", 4)\njob.submit()',
    "a number": f"{JOB}job.run(scheduling_strategy=4)",
    "an enum of a number": f"{JOB}job.run(scheduling_strategy=Strategy(4))",
    "an enum of a name": f'{JOB}job.run(scheduling_strategy=Strategy["SPOT"])',
    "a literal": f"dict(worker_pool_specs=[{POOL}], scheduling=dict(strategy='SPOT'))",
    "a default that is known": f"C = {{'how': 'SPOT'}}\n{JOB}job.run(scheduling_strategy=C.get('how', 'STANDARD'))",
}
LOST = {
    "a wrapper's field": f"x-strategy: SPOT\nspec:\n{YAML.replace(chr(10), chr(10) + '  ')[:-2]}".replace(
        "spec:\nworker", "spec:\n  worker"
    ),
    "a flag": f"{GCLOUD}replica-count=1,container-image-uri=a/b --strategy=SPOT\n",
    "a key of a pool": f"{GCLOUD}replica-count=1,container-image-uri=a/b,strategy=SPOT\n",
    "a name that nothing uses": f'STRATEGY = "SPOT"\n{JOB}job.run()',
    "a method": f"{JOB}job._gca_resource.job_spec.scheduling.MergeFrom(Scheduling(strategy='SPOT'))\njob.run()",
    "a decorator": f"@configure(scheduling_strategy='FLEX_START')\ndef go():\n    {JOB}    job.run()",
    "small letters": f"{JOB}submit_job(job, strategy='spot')\njob.run()",
    "a switch": f"{JOB}launch(job, use_spot=True)\njob.run()",
    "a variable": f"export STRATEGY=SPOT\n{GCLOUD}replica-count=1,container-image-uri=a/b\n",
    "a number": f"{JOB}launch(job, scheduling_strategy=6)\njob.run()",
}
LEGAL = {
    "a comment": YAML + "# scheduling: {strategy: SPOT}\n",
    "an argument": YAML.replace("a/b}", "a/b, args: [--mode=SPOT]}"),
    "a label": JOB.replace("worker_pool_specs", "labels={'capacity': 'spot'}, worker_pool_specs") + "job.run()",
    "a help text": 'p.add_argument("--how", default="STANDARD", choices=["STANDARD", "SPOT"], help="or SPOT")\n'
    f"{JOB}job.run()",
    "a docstring": f'"""Runs a job, not on SPOT."""\n{JOB}job.run()',
    "a comparison": f'{JOB}if job.kind == "SPOT":\n    print(job)\njob.run()',
}
ODD = st.sampled_from(
    [
        "settings = {{'strategy': {value}}}",
        "job.{name} = {value}",
        "{name}(job, scheduling_strategy={value})",
        "job._gca_resource.job_spec.{name}.CopyFrom({value})",
        "{name} = {value}",
        "job.run({name}={value})",
        "for {name} in [{value}]:\n    pass",
        "with {name}({value}):\n    job.run()",
        "try:\n    {name}()\nexcept Exception:\n    job.{name}({value})",
        "{name} = lambda: {value}",
        "[{value} for {name} in range(2)]",
        "def {name}(strategy={value}):\n    return strategy",
        "class {name}:\n    strategy = {value}",
        "import os\nos.environ['{name}'] = {value}",
        "async def {name}():\n    await job.{name}(strategy={value})",
    ]
)
VALUES = st.sampled_from(
    ["'SPOT'", "'FLEX_START'", "Strategy.SPOT", "gca.Scheduling.Strategy.FLEX_START", "'LOW_COST'", "SPOT", "f'SPOT'"]
)


def strategy_of(reading: importer.Reading) -> Any:
    return spec_of(reading).get("scheduling", {}).get("strategy")


@pytest.mark.parametrize("way", SPOT)
def test_spot_is_read_however_it_is_given(way: str) -> None:
    reading = importer.read_text(SPOT[way])

    assert refused(reading) == []
    assert strategy_of(reading) == "SPOT"


def test_spot_under_a_condition_is_open() -> None:
    reading = importer.read_text(
        f"k = {{}}\nif cheap:\n    k['scheduling_strategy'] = Strategy.SPOT\n{JOB}job.run(**k)"
    )

    assert refused(reading) == []
    assert tuple(reading.placeholders) == ("jobSpec.scheduling.strategy",)


@pytest.mark.parametrize("way", LOST)
def test_spot_that_is_not_read_is_refused_where_it_stands(way: str) -> None:
    reading = importer.read_text(LOST[way])

    assert "strategy_not_read" in refused(reading)
    line = codes(reading)["strategy_not_read"]
    assert line is not None
    asked = LOST[way].split("\n")[line - 1].lower()
    assert any(word in asked for word in ("spot", "flex", "6"))


@pytest.mark.parametrize("way", LEGAL)
def test_words_that_ask_for_nothing_are_none(way: str) -> None:
    assert "strategy_not_read" not in codes(importer.read_text(LEGAL[way]))


@given(odd=ODD, value=VALUES, name=st.sampled_from(["a", "launch", "sched", "opts"]), before=st.booleans())
def test_spot_in_odd_places_is_never_standard(odd: str, value: str, name: str, before: bool) -> None:
    line = odd.format(value=value, name=name)
    text = f"{line}\n{JOB}job.run()\n" if before and "job" not in line else f"{JOB}{line}\njob.run()\n"

    reading = importer.read_text(text)

    assert refused(reading) or strategy_of(reading) not in (None, "STANDARD"), text


class TestJobs:
    TWO = f"{JOB}job.run()\nother = aiplatform.CustomJob(display_name='y', worker_pool_specs=[{POOL}])\n" + (
        "other.run(scheduling_strategy='SPOT')\n"
    )

    @pytest.mark.parametrize(
        "text",
        [
            TWO,
            "displayName: x\njobSpec: {workerPoolSpecs: []}\n---\n"
            "displayName: y\njobSpec: {scheduling: {strategy: SPOT}, workerPoolSpecs: []}\n",
            f"{GCLOUD}container-image-uri=a/b\n" + f"{GCLOUD}container-image-uri=a/b".replace("=x", "=y") + "\n",
            'curl -d \'{"displayName": "x", "jobSpec": {}}\' https://a/projects/p/locations/r/customJobs\n'
            'curl -d \'{"displayName": "y", "jobSpec": {}}\' https://a/projects/p/locations/r/customJobs\n',
            "One:\n```yaml\ndisplayName: x\njobSpec:\n  workerPoolSpecs: []\n```\n"
            "Or:\n```yaml\ndisplayName: y\njobSpec:\n  workerPoolSpecs: []\n```\n",
        ],
    )
    def test_of_one_text_are_named_and_each_can_be_chosen(self, text: str) -> None:
        first = importer.read_text(text)

        assert [each.name for each in first.jobs] == ["x", "y"]
        assert first.body["displayName"] == "x"
        assert "further_job" in codes(first)
        for job in ("y", "2"):
            assert importer.read_text(text, job=job).body["displayName"] == "y"

    def test_keep_their_own_strategy(self) -> None:
        assert strategy_of(importer.read_text(self.TWO)) is None
        assert refused(importer.read_text(self.TWO)) == []
        assert strategy_of(importer.read_text(self.TWO, job="y")) == "SPOT"

    @pytest.mark.parametrize("job", ["z", "3", "0", "-1", "9" * 30])
    def test_that_are_not_there_are_refused(self, job: str) -> None:
        reading = importer.read_text(self.TWO, job=job)

        assert reading.submission is None
        assert refused(reading) == ["no_such_job"]

    def test_of_a_function_that_is_called_twice_are_two(self) -> None:
        text = f"def go(name):\n    {JOB.replace(chr(34) + 'x' + chr(34), 'name')}    job.run()\ngo('a')\ngo('b')\n"

        assert [each.name for each in importer.read_text(text).jobs] == ["a", "b"]


def test_a_helper_s_pools_are_read_as_it_is_called() -> None:
    text = f"def pools(machine):\n    p = {POOL}\n    p['machine_spec']['machine_type'] = machine\n    return [p]\n"
    call = "aiplatform.CustomJob(display_name='x', worker_pool_specs=pools('a2-highgpu-1g')).run()"

    reading = importer.read_text(text + call)

    assert spec_of(reading)["workerPoolSpecs"][0]["machineSpec"]["machineType"] == "a2-highgpu-1g"


def test_an_image_and_a_local_package_are_refused() -> None:
    assert "two_images" in refused(importer.read_text(f"{GCLOUD}container-image-uri=a/b,local-package-path=."))


def test_a_field_that_is_set_in_no_known_place_is_refused() -> None:
    text = f"{JOB}job._gca_resource.job_spec.worker_pool_specs[7].replica_count = 2\njob.run()"

    assert refused(importer.read_text(text)) == ["not_carried"]


@pytest.mark.parametrize(
    "text", [f"({POOL},)", f"[{POOL},]", f"[dict(**{POOL})]", f"[{POOL.replace('1,', 'None or 1,')}]"]
)
def test_bare_literals_are_read(text: str) -> None:
    assert len(spec_of(importer.read_text(text))["workerPoolSpecs"]) == 1


def test_a_reservation_gives_its_region() -> None:
    body = json.loads(POOL.replace("_s", "S").replace("_t", "T").replace("_c", "C").replace("_u", "U"))
    body["machineSpec"]["reservationAffinity"] = {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["projects/p/zones/europe-west4-b/reservations/r"],
    }

    reading = importer.read_text(json.dumps([body]), name="x", region="us-central1")

    assert reading.submission is not None
    assert reading.submission.region == "europe-west4"
    assert "--region=europe-west4" in exporter.write(reading.submission, "gcloud")


SPOT_BODY = """{
  "displayName": "JOB_NAME",
  "jobSpec": {
    "workerPoolSpecs": [
      {
        "machineSpec": {
          "machineType": "MACHINE_TYPE"
          }
        },
        "replicaCount": REPLICA_COUNT,

        // One of these:
        "containerSpec": {
          "imageUri": CUSTOM_CONTAINER_IMAGE_URI,
          "command": [
            CUSTOM_CONTAINER_COMMAND
          ]
        }
      }
      // One pool, or several.
    ],
    "scheduling": {
      "strategy": "SPOT"
    }
  }
}
"""
ADDRESS = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/customJobs"
SEND = f'''$cred = gcloud auth print-access-token
Invoke-WebRequest `
    -Method POST `
    BODY `
    -Uri "{ADDRESS}" | Select-Object -Expand Content
'''
SAMPLE = """
job = aiplatform.CustomJob(display_name=NAME, worker_pool_specs=pools)
job.run(scheduling_strategy=Strategy.SPOT)
"""
SPOT_PAGE = (
    "# Use Spot VMs\n\nSet the SPOT strategy.\n\n"
    + "".join(f"    {line}\n" for line in SPOT_BODY.split("\n"))
    + f"\nOr:\n\n```python{SAMPLE}```\n"
)


@pytest.mark.parametrize(
    "text",
    [
        SPOT_BODY,
        SPOT_PAGE,
        "Use Spot VMs\nSet the SPOT strategy.\n"
        + SPOT_BODY
        + "Save it.\n"
        + SEND.replace("BODY", "-InFile request.json"),
        f"$body = @'\n{SPOT_BODY}'@\n" + SEND.replace("BODY", "-Body $body"),
        f"@'\n{SPOT_BODY}'@ | Out-File -FilePath request.json -Encoding utf8\n"
        + SEND.replace("BODY", "-InFile request.json"),
    ],
)
def test_the_spot_page_s_own_body_is_spot_with_its_misplaced_brace(text: str) -> None:
    reading = importer.read_text(text)

    assert refused(reading) == []
    (pool,) = spec_of(reading)["workerPoolSpecs"]
    assert strategy_of(reading) == "SPOT"
    assert pool["containerSpec"]["command"] == ["CUSTOM_CONTAINER_COMMAND"]
    assert "jobSpec.workerPoolSpecs[0].containerSpec.command[0]" in reading.placeholders


def test_a_powershell_command_takes_the_file_beside_it() -> None:
    reading = importer.read_text(SEND.replace("BODY", "-InFile request.json"), files={"request.json": SPOT_BODY})

    assert (reading.format, strategy_of(reading)) == ("curl", "SPOT")
    assert "config_elsewhere" in codes(importer.read_text(SEND.replace("BODY", "-InFile request.json")))
