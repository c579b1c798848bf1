"""Tests of placeholders of every style: kept to be filled in and never read as wrong values; and of look-alikes."""

import pytest

from jobs import importer
from tests.unit.importer.test_gcloud_config import judged
from tests.unit.importer.test_reading import codes, refused

SPEC = """workerPoolSpecs:
- machineSpec:
    machineType: n1-standard-4
    acceleratorType: NVIDIA_TESLA_T4
    acceleratorCount: 1
  replicaCount: 1
  containerSpec:
    imageUri: gcr.io/p/i
serviceAccount: a@p.iam.gserviceaccount.com
baseOutputDirectory:
  outputUriPrefix: gs://bucket/o
"""
FIELDS = {
    "n1-standard-4": "jobSpec.workerPoolSpecs[0].machineSpec.machineType",
    "NVIDIA_TESLA_T4": "jobSpec.workerPoolSpecs[0].machineSpec.acceleratorType",
    "gcr.io/p/i": "jobSpec.workerPoolSpecs[0].containerSpec.imageUri",
    "a@p.iam.gserviceaccount.com": "jobSpec.serviceAccount",
    "gs://bucket/o": "jobSpec.baseOutputDirectory.outputUriPrefix",
}
STYLES = (
    *("${X}", "$X", "{{ x }}", "<your project>", "[PROJECT]", "[your-project]", "YOUR_ID", "%s", "%(x)s", "__IMAGE__"),
    *("@@IMAGE@@", "@IMAGE@", "<%= x %>", "((image))", "(your-image)", "...", "xxx", "$(IMAGE)", "%IMAGE%", "{x}"),
    *("${{ env.X }}", "{PROJECT_ID}", "your-value-here", "$[variables.x]", "{% x %}", "TODO", "MY_VALUE", "<...>"),
)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("value", FIELDS)
def test_a_value_is_a_placeholder(value: str, style: str) -> None:
    if value == "NVIDIA_TESLA_T4" and style == "TODO":
        style = "ACCELERATOR_TYPE"

    reading = importer.read_text(SPEC.replace(value, style), name="x", region="us-central1")

    assert judged(reading) == []
    assert FIELDS[value] in reading.placeholders


@pytest.mark.parametrize("style", [*(style for style in STYLES if style not in ("YOUR_ID", "MY_VALUE")), "COUNT"])
def test_a_number_is_a_placeholder(style: str) -> None:
    text = SPEC.replace("acceleratorCount: 1", f"acceleratorCount: {style}")

    reading = importer.read_text(text, name="x", region="us-central1")

    assert judged(reading) == []
    assert tuple(reading.placeholders) == ("jobSpec.workerPoolSpecs[0].machineSpec.acceleratorCount",)


def test_lines_of_a_template_s_logic_are_passed_over() -> None:
    text = SPEC.replace("  replicaCount", "{% if many %}\n  replicaCount").replace(
        "serviceAccount", "{%- endif %}\nserviceAccount"
    )

    reading = importer.read_text(text, name="x", region="us-central1")

    assert judged(reading) == []
    assert "template" in codes(reading)
    assert reading.line_of("jobSpec.serviceAccount") == 11


@pytest.mark.parametrize(
    "args", ["- '%s'", "- $(AIP_MODEL_DIR)", "- __main__", "- your-data", "- '...'", "- TODO", "- '{x}'", "- '[a-z]'"]
)
def test_a_program_s_arguments_are_its_own(args: str) -> None:
    text = SPEC.replace("    imageUri: gcr.io/p/i", f"    imageUri: gcr.io/p/i\n    args:\n    {args}")

    reading = importer.read_text(text, name="x")

    assert refused(reading) == []
    assert tuple(reading.placeholders) in ((), ("jobSpec.workerPoolSpecs[0].containerSpec.args[0]",))


@pytest.mark.parametrize("label", ["todo", "xxx", "your-team"])
def test_labels_are_words(label: str) -> None:
    text = f"displayName: '[test] {label}'\nlabels: {{state: {label}}}\njobSpec: {{}}\n"

    assert importer.read_text(text).placeholders == {}


def test_lists_of_one_stay_lists() -> None:
    text = SPEC.replace("gcr.io/p/i", "gcr.io/p/i\n    command: [python]\n    args: [RUN]")

    assert importer.read_text(text, name="x").body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"] == ["RUN"]


def test_a_wrong_list_is_still_refused() -> None:
    assert "wrong_type" in refused(importer.read_text(SPEC.replace("gcr.io/p/i", "[gcr.io/p/i]")))


def test_an_unreadable_text_keeps_its_own_finding() -> None:
    assert refused(importer.read_text("workerPoolSpecs: [\n  {% x %}\n  - : :\n")) != []
