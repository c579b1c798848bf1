"""Tests of what people type into the form's fields, and where findings appear."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.forms import Field
from django.forms import Select as DjangoSelect
from pytest_django.asserts import assertHTMLEqual

from dashboard.forms.compose.form import Compose
from dashboard.forms.fields.choices import Select
from dashboard.forms.fields.numbers import NumberField, NumbersField, WordsField
from dashboard.forms.fields.objects import ObjectsField
from dashboard.forms.fields.words import (
    DurationField,
    LinesField,
    PairsField,
    ShellWordsField,
    format_length,
    parse_length,
)

HOUR = timedelta(hours=1)
NFS = "{server}:{path} {mountPoint}"


class TestLength:
    @pytest.mark.parametrize(
        ("text", "length"),
        [
            ("24 h", 24 * HOUR),
            ("90 min", 1.5 * HOUR),
            ("1 d 12 h", 36 * HOUR),
            ("1.5h", 1.5 * HOUR),
            ("1,5 h", 1.5 * HOUR),
            ("2 Hours 5 m", 2 * HOUR + timedelta(minutes=5)),
            ("7200s", 2 * HOUR),
            ("0 s", timedelta()),
        ],
    )
    def test_reads_words(self, text: str, length: timedelta) -> None:
        assert parse_length(text) == length

    @pytest.mark.parametrize("text", ["", "24", "h", "-1 h", "1 fortnight", "1 h and 5", "99999999 d", "1e9 h", "١ h"])
    def test_refuses_the_rest_in_words(self, text: str) -> None:
        with pytest.raises(ValidationError) as refusal:
            parse_length(text)

        assert refusal.value.messages[0].endswith((".", "h."))

    @pytest.mark.parametrize("length", [timedelta(), timedelta(seconds=90), 36 * HOUR, timedelta(days=7), 0.25 * HOUR])
    def test_writes_what_it_reads(self, length: timedelta) -> None:
        assert parse_length(format_length(length)) == length

    def test_refuses_what_is_shorter_than_the_least(self) -> None:
        with pytest.raises(ValidationError, match="at least 1 min"):
            DurationField(least=timedelta(minutes=1)).clean("0 s")

    def test_an_empty_optional_one_is_none(self) -> None:
        assert DurationField(required=False).clean(" ") is None


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (ShellWordsField(required=False), "python 'two words' \\$X", ["python", "two words", "$X"]),
        (ShellWordsField(required=False), "a \\\r\n  b\r\nc", ["a", "b", "c"]),
        (ShellWordsField(required=False), "'a\\\nb' \"c\\\nd\" \\'e", ["a\\\nb", "cd", "'e"]),
        (ShellWordsField(required=False), "", []),
        (PairsField(required=False), "A=1\n\n B = x=y \nC=", [("A", "1"), ("B", "x=y"), ("C", "")]),
        (LinesField(required=False), " gs://a \n\ngs://b", ["gs://a", "gs://b"]),
    ],
)  # fmt: skip
def test_fields_read_lines(field: Field, text: str, value: Any) -> None:
    assert field.clean(text) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (ShellWordsField(), ["a b", "", "'", "$X", "ü", "a\\\nb", "\\", "\n"]),
        (PairsField(), [("A", "1"), ("B", "x=y")]),
        (LinesField(), ["gs://a", "gs://b"]),
        (NumberField(), 0.1),
        (NumberField(), 1e-05),
        (NumberField(), -3),
        (NumbersField(), [16, 32.5, 1e20]),
        (WordsField(), ["adam", "sgd with momentum"]),
        (ObjectsField(NFS), [{"server": "10.0.0.2", "path": "/data", "mountPoint": "data"}]),
        (ObjectsField("{a} {b}"), [{"a": "1", "b": "x:y"}, {"a": "{a}", "b": "{}"}]),
    ],
)
def test_fields_read_back_what_they_show(field: Field, value: Any) -> None:
    assert field.clean(field.prepare_value(value)) == value


def test_a_line_that_is_no_object_is_refused_with_how_it_is_written() -> None:
    with pytest.raises(ValidationError, match="Line 2 is not SERVER:PATH MOUNT_POINT") as refusal:
        ObjectsField(NFS).clean("10.0.0.1:/x  x\n10.0.0.2 /data")

    assert len(refusal.value.messages) == 1


CUSTOM = {"kind": "custom_job"}
TUNING = {"kind": "hyperparameter_tuning_job"}
PIPELINE = {"kind": "training_pipeline"}
TUNING_PIPELINE = PIPELINE | {"task": "tuning"}


def field_of(kind: dict[str, str], code: str, path: str) -> tuple[str, str]:
    """Return the prefix and the name of the field of a form with four pools and three parameters."""
    row = {"machine_type": "n1-standard-4", "affinity": "NO_RESERVATION"}
    form = Compose(teams=[("1", "vision")], initial=kind | {"pools": [row] * 4, "parameters": [{}] * 3})
    form.read()
    at, name = form.field_of(code, path)
    return (at and at.prefix) or "", name


@pytest.mark.parametrize(
    ("kind", "path", "place"),
    [
        (CUSTOM, "displayName", ("", "name")),
        (CUSTOM, "labels[phase]", ("", "labels")),
        (CUSTOM, "jobSpec.scheduling.maxWaitDuration", ("", "max_wait")),
        (CUSTOM, "jobSpec.scheduling.disableRetries", ("", "disable_retries")),
        (CUSTOM, "jobSpec.scheduling.strategy", ("", "strategy")),
        (CUSTOM, "jobSpec.baseOutputDirectory.outputUriPrefix", ("", "output")),
        (CUSTOM, "jobSpec.network", ("", "network")),
        (CUSTOM, "jobSpec.workerPoolSpecs", ("pool-0", "machine_type")),
        (CUSTOM, "jobSpec.workerPoolSpecs[0].machineSpec.acceleratorCount", ("pool-0", "accelerator_count")),
        (CUSTOM, "jobSpec.workerPoolSpecs[3].containerSpec.env[7].name", ("pool-3", "env")),
        (CUSTOM, "jobSpec.workerPoolSpecs[1].pythonPackageSpec", ("pool-1", "executor_image")),
        (CUSTOM, "jobSpec.workerPoolSpecs[0].nfsMounts[0].path", ("pool-0", "nfs_mounts")),
        (CUSTOM, "jobSpec.workerPoolSpecs[2].lustreMounts[0].filesystem", ("pool-2", "lustre_mounts")),
        (CUSTOM, "jobSpec.pscInterfaceConfig.dnsPeeringConfigs[1].domain", ("", "dns_peerings")),
        (CUSTOM, "studySpec.metrics", ("", "")),
        (CUSTOM, "jobSpec.models[0]", ("", "")),
        (CUSTOM, "modelToUpload", ("", "")),
        (TUNING, "trialJobSpec.workerPoolSpecs[0].replicaCount", ("pool-0", "replicas")),
        (TUNING, "trialJobSpec.timeout", ("", "")),
        (TUNING, "studySpec.metrics[0].goal", ("", "goal")),
        (TUNING, "studySpec.metrics[1].goal", ("", "metric_id")),
        (TUNING, "studySpec.parameters", ("", "algorithm")),
        (TUNING, "studySpec.parameters[2].doubleValueSpec.minValue", ("parameter-2", "low")),
        (TUNING, "studySpec.parameters[2].scaleType", ("parameter-2", "scale")),
        (TUNING, "maxTrialCount", ("", "max_trials")),
        (PIPELINE, "trainingTaskInputs.workerPoolSpecs[0].diskSpec.bootDiskSizeGb", ("pool-0", "disk_gb")),
        (PIPELINE, "trainingTaskInputs.serviceAccount", ("", "service_account")),
        (PIPELINE, "modelToUpload.containerSpec.imageUri", ("", "model_image")),
        (PIPELINE, "inputDataConfig.fractionSplit", ("", "split")),
        (PIPELINE, "inputDataConfig.stratifiedSplit.key", ("", "split_key")),
        (PIPELINE, "inputDataConfig.savedQueryId", ("", "dataset")),
        (TUNING_PIPELINE, "trainingTaskInputs.studySpec.parameters[0]", ("parameter-0", "parameter_id")),
        (TUNING_PIPELINE, "trainingTaskInputs.trialJobSpec.scheduling.timeout", ("", "timeout")),
        (TUNING_PIPELINE, "trainingTaskInputs.maxFailedTrialCount", ("", "max_failed_trials")),
        (CUSTOM, "jobSpec.workerPoolSpecs[" + "9" * 5000, ("", "")),
        (CUSTOM, "[[[.]]]" * 1000, ("", "")),
        (CUSTOM, "", ("", "")),
    ],
)
def test_a_finding_goes_to_the_field_that_writes_its_path(
    kind: dict[str, str], path: str, place: tuple[str, str]
) -> None:
    assert field_of(kind, "", path) == place


@pytest.mark.parametrize(("code", "name"), [("region_trains", "region"), ("over_ask_limit", "")])
def test_a_finding_about_the_address_goes_to_the_region(code: str, name: str) -> None:
    assert field_of(CUSTOM, code, "") == ("", name)


class TestSelect:
    CHOICES = (("", "any"), ("a&b", "<A>"), ("Group", [("1", "one"), (2, "two")]))

    def test_draws_what_django_draws(self) -> None:
        ours, theirs = Select(choices=self.CHOICES), DjangoSelect(choices=self.CHOICES)

        for value in ("", None, "a&b", "2", 2):
            drawn, expected = (
                each.render("x", value, {"id": "id_x", "aria-invalid": "true"}) for each in (ours, theirs)
            )

            assertHTMLEqual(drawn, expected)

    def test_keeps_a_value_that_its_list_lacks(self) -> None:
        drawn = Select(choices=self.CHOICES).render("x", "BRAND_NEW")

        assert '<option value="BRAND_NEW" selected>' in drawn or '<option selected value="BRAND_NEW">' in drawn
