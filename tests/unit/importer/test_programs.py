"""Tests of programs as people keep them: notebook commands within Python, concatenated texts, formatted messages."""

import pytest

from jobs import importer
from tests.unit.importer.test_gcloud_config import judged
from tests.unit.importer.test_python import POOL, POOLS
from tests.unit.importer.test_reading import codes, refused, spec_of

MACHINE = '{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": {"image_uri": %s}}'


def job(image: str, before: str = "") -> str:
    return f"{before}\naiplatform.CustomJob(display_name='x', worker_pool_specs=[{MACHINE % image}]).run()\n"


def image_of(reading: importer.Reading) -> object:
    return spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["imageUri"]


@pytest.mark.parametrize(
    "before",
    [
        "! pip3 install --upgrade \\\n  one \\\n  two",
        "shell_output = ! gcloud config list --format 'value(core.project)' 2>/dev/null",
        "PATH = %env PATH",
        "if colab:\n    !pip install x\nelse:\n    %pip install y",
        "%%writefile Dockerfile\nFROM python:3.11\nRUN pip install x",
        "%%bash\ngsutil ls gs://${BUCKET}/*0000",
        "text = f'''\nname: {x}\n  - unfinished: [\n'''",
        "@decorated\ndef f():\n    pass\n\nwhat? is this",
    ],
)
def test_what_is_no_python_does_not_hide_the_job(before: str) -> None:
    reading = importer.read_text("from google.cloud import aiplatform\n" + job("'gcr.io/p/i'", before))

    assert refused(reading) == []
    assert image_of(reading) == "gcr.io/p/i"


def test_a_name_inside_of_a_function_does_not_hide_that_of_the_program() -> None:
    helper = "def build(n):\n    image = f'gcr.io/p/{n}'\n    return image\n"

    assert image_of(importer.read_text(job("image", f"image = 'gcr.io/p/i'\n{helper}"))) == "gcr.io/p/i"
    assert image_of(importer.read_text(job("image", f"image = 'gcr.io/p/i'\n{helper}build('other')"))) == "gcr.io/p/i"


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        ("if unknown():\n    a, image = load()", "${image}"),
        ("if unknown():\n    image = 'gcr.io/p/other'", "${image}"),
        ("if unknown():\n    image = 'gcr.io/p/other'\n    raise ValueError", "gcr.io/p/i"),
        ("if unknown():\n    image = load()\nelse:\n    image = 'gcr.io/p/other'", "${image}"),
        ("try:\n    image = 'gcr.io/p/other'\nexcept ValueError:\n    image = 'gcr.io/p/third'", "${image}"),
        ("try:\n    image = 'gcr.io/p/other'\nexcept ValueError:\n    raise", "gcr.io/p/other"),
        ("try:\n    load()\nexcept ValueError:\n    image = 'gcr.io/p/third'", "${image}"),
        ("class Settings:\n    image = 'gcr.io/p/other'\nimage = Settings.image", "gcr.io/p/other"),
    ],
)
def test_branches_decide_a_name_only_where_they_know_its_value(branches: str, expected: str) -> None:
    assert image_of(importer.read_text(job("image", f"image = 'gcr.io/p/i'\n{branches}"))) == expected


def test_the_job_keeps_its_line_where_parts_are_left_out() -> None:
    reading = importer.read_text("import x\nthis is no python\n" + job("7"))

    assert codes(reading)["left_out"] == 2
    assert reading.line_of("jobSpec.workerPoolSpecs[0].containerSpec.imageUri") == 4


def test_a_statement_that_is_indented_whole_is_read() -> None:
    text = "".join(f"    {line}\n" for line in job("'gcr.io/p/i'").strip().split("\n"))

    assert image_of(importer.read_text(text)) == "gcr.io/p/i"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("'gcr.io/{}/i:{}'.format(P, 'v1')", "gcr.io/vision/i:v1"),
        ("'/gcr.io/p/i/'.strip('/')", "gcr.io/p/i"),
        ("'gcr.io/{1}/i:{0}'.format('v1', P)", "gcr.io/vision/i:v1"),
        ("'gcr.io/{p}/i'.format(p=P)", "gcr.io/vision/i"),
        ("'gcr.io/{}/i'.format(unknown)", "gcr.io/${unknown}/i"),
        ("'gcr.io/{}/i'.format(BLANK)", "gcr.io/${BLANK}/i"),
        ("f'gcr.io/{BLANK}/i'", "gcr.io/${BLANK}/i"),
        ("'gcr.io/%s/i' % P", "gcr.io/vision/i"),
        ("'gcr.io/%s/%s' % (P, 'i')", "gcr.io/vision/i"),
        ("'gcr.io/%(p)s/i' % {'p': P}", "gcr.io/vision/i"),
        ("'/'.join(['gcr.io', P, 'i'])", "gcr.io/vision/i"),
        ("os.path.join('gcr.io/', P, 'i')", "gcr.io/vision/i"),
        ("f'gcr.io/{P.upper().lower()}/i'", "gcr.io/vision/i"),
        ("'gcr.io/v_p/i'.replace('_p', 'ision')", "gcr.io/vision/i"),
        ("f'gcr.io/{unknown.lower()}/i'", "gcr.io/${unknown.lower()}/i"),
        ("f'gcr.io/{output[0]}/i'", "gcr.io/${output[0]}/i"),
    ],
)
def test_texts_are_put_together(image: str, expected: str) -> None:
    assert image_of(importer.read_text(job(image, "P = 'vision'\nBLANK = ''"))) == expected


def test_a_text_put_together_has_a_bound() -> None:
    text = job("A.join([" + "A," * 5000 + "])", f"A = '{'a' * 50_000}'")

    assert len(str(image_of(importer.read_text(text)))) <= 200_000


def test_arguments_without_a_default_of_their_own_are_placeholders() -> None:
    text = f"def go(image=''):\n  worker_pool_specs = [{MACHINE % 'image'}]\n"

    assert image_of(importer.read_text(text)) == "${image}"


def test_messages_of_the_generated_client_are_filled_field_by_field() -> None:
    text = """job = aiplatform_v1.HyperparameterTuningJob()
job.display_name = "x"
job.study_spec.metrics.metric_id = "loss"
job.study_spec.parameters.double_value_spec.min_value = 0.1
job.max_trial_count = 3
job.trial_job_spec.worker_pool_specs.container_spec.image_uri = "gcr.io/p/i"
request = aiplatform_v1.CreateHyperparameterTuningJobRequest(
    parent="projects/p/locations/l", hyperparameter_tuning_job=job)
client.create_hyperparameter_tuning_job(request=request)
"""

    reading = importer.read_text(text)

    assert refused(reading) == []
    assert reading.body["studySpec"]["metrics"] == [{"metricId": "loss"}]
    assert reading.body["maxTrialCount"] == 3


def test_a_tuning_job_runs_a_local_script() -> None:
    text = """job = aiplatform.CustomJob.from_local_script(display_name="x", script_path="t.py",
    container_uri="gcr.io/p/i", args=["--a"], machine_type="n1-standard-8", replica_count=1)
aiplatform.HyperparameterTuningJob(display_name="t", custom_job=job, metric_spec={"m": "maximize"},
    parameter_spec={"p": hpt.DoubleParameterSpec(min=1, max=2, scale="linear")}, max_trial_count=2,
    parallel_trial_count=1).run()
"""

    reading = importer.read_text(text)

    assert refused(reading) == []
    pool = reading.body["trialJobSpec"]["workerPoolSpecs"][0]
    assert pool["machineSpec"] == {"machineType": "n1-standard-8"}


def test_a_component_of_a_pipeline_is_declined_by_name() -> None:
    text = """train_job = create_custom_training_job_from_component(train, display_name="x", strategy="SPOT")
"""

    reading = importer.read_text("from kfp import dsl\n" + text, region="us-central1")

    assert reading.submission is None
    assert "a component of a pipeline" in " ".join(finding.message for finding in reading.findings)


def test_rules_do_not_check_what_an_unknown_task_left_out() -> None:
    text = """{"displayName": "x", "trainingTaskDefinition": "gs://x/automl.yaml", "trainingTaskInputs": {}}"""

    assert judged(importer.read_text(text, region="us-central1")) == ["unknown_task"]


@pytest.mark.parametrize("placeholder", ["[your-project-id]", "[your service account]"])
def test_brackets_with_your_name_are_placeholders(placeholder: str) -> None:
    reading = importer.read_text(job(f"'gcr.io/{placeholder}/i'"), region="us-central1")

    assert tuple(reading.placeholders) == ("jobSpec.workerPoolSpecs[0].containerSpec.imageUri",)
    assert judged(reading) == []


def test_names_are_bound_together() -> None:
    before = "KIND, COUNT = aiplatform.gapic.AcceleratorType.NVIDIA_TESLA_T4, 2\n"
    text = job("'gcr.io/p/i'", before).replace(
        '"n1-standard-4"', '"n1-standard-4", "accelerator_type": KIND.name, "accelerator_count": COUNT'
    )

    machine = spec_of(importer.read_text(text))["workerPoolSpecs"][0]["machineSpec"]

    assert (machine["acceleratorType"], machine["acceleratorCount"]) == ("NVIDIA_TESLA_T4", 2)


def test_values_of_other_tools_keep_the_project_beside_the_pools() -> None:
    text = f"ARGS = {{'project': 'vision', 'worker_pool_specs': [{MACHINE % repr('gcr.io/p/i')}]}}"

    reading = importer.read_text(text, name="x", region="us-central1")

    assert reading.submission is not None
    assert reading.submission.project == "vision"
    assert refused(reading) == []


def test_what_a_function_gives_back_is_read_where_it_is_called() -> None:
    text = job("image()", "def image():\n  return 'gcr.io/p/i'").replace(
        "worker_pool_specs=[", "worker_pool_specs=pools(), x=["
    )
    before = f"def pools():\n  pool = {MACHINE % repr('gcr.io/p/i')}\n  return [pool]\n"

    reading = importer.read_text(before + text.replace(", x=[" + MACHINE % "image()" + "]", ""))

    assert refused(reading) == []
    assert image_of(reading) == "gcr.io/p/i"


def test_a_function_is_read_as_it_is_called() -> None:
    pools = f"def pools(kind='n1-standard-8'):\n  return [{MACHINE % 'kind'}]\n"

    reading = importer.read_text(pools + "aiplatform.CustomJob(display_name='x', worker_pool_specs=pools('a2')).run()")

    assert spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["imageUri"] == "a2"


def test_a_job_that_a_function_gives_back_is_read() -> None:
    job_spec = f"{{'worker_pool_specs': [{MACHINE % 'image'}]}}"
    text = f"def spec(image):\n  return {{'display_name': 'x', 'job_spec': {job_spec}}}"

    assert image_of(importer.read_text(text)) == "${image}"


def test_arguments_that_are_not_known_may_give_what_is_missing() -> None:
    reading = importer.read_text("import x\naiplatform.CustomJob(**x.load()).run()", region="us-central1")

    assert judged(reading) == []
    assert "placeholder" in codes(reading)


class TestScopes:
    def test_a_default_is_read_outside_of_its_function(self) -> None:
        text = f"pools = {POOLS}\ndef go(pools=pools):\n    aiplatform.CustomJob('x', pools).run()\n"

        assert spec_of(importer.read_text(text)) == {"workerPoolSpecs": [POOL]}

    def test_a_function_that_is_defined_again_is_the_latest(self) -> None:
        text = (
            "def image():\n    return 'gcr.io/p/old'\n"
            "def image():\n    return 'gcr.io/p/new'\n"
            "aiplatform.CustomJob('x', [{'container_spec': {'image_uri': image()}}])\n"
        )

        pools = spec_of(importer.read_text(text))["workerPoolSpecs"]
        assert pools == [{"containerSpec": {"imageUri": "gcr.io/p/new"}}]

    def test_a_job_inside_of_another_call_keeps_its_positional_arguments(self) -> None:
        text = (
            "aiplatform.HyperparameterTuningJob(display_name='t', max_trial_count=2, parallel_trial_count=1,"
            f" metric_spec={{'loss': 'minimize'}}, parameter_spec={{}}, custom_job=aiplatform.CustomJob('x', {POOLS}))"
        )

        reading = importer.read_text(text)

        assert reading.kind == "hyperparameter_tuning_job"
        assert reading.body["trialJobSpec"] == {"workerPoolSpecs": [POOL]}

    def test_a_finding_of_a_function_that_is_called_twice_is_given_once(self) -> None:
        text = f"def more():\n    return dict(**rest)\na = more()\nb = more()\naiplatform.CustomJob('x', {POOLS})\n"

        found = importer.read_text(text).findings

        assert len(found) == len(set(found))
