"""What people write in the form's fields, and where findings go."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.forms import Field
from django.forms import Select as DjangoSelect
from pytest_django.asserts import assertHTMLEqual

from dashboard.forms.fields import LengthField, LinesField, PairsField, ShellWordsField, read_length, write_length
from dashboard.forms.places import place_of
from dashboard.forms.widgets import Select

HOUR = timedelta(hours=1)


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
        assert read_length(text) == length

    @pytest.mark.parametrize("text", ["", "24", "h", "-1 h", "1 fortnight", "1 h and 5", "99999999 d", "1e9 h", "١ h"])
    def test_refuses_the_rest_in_words(self, text: str) -> None:
        with pytest.raises(ValidationError) as refusal:
            read_length(text)

        assert refusal.value.messages[0].endswith((".", "h."))

    @pytest.mark.parametrize("length", [timedelta(), timedelta(seconds=90), 36 * HOUR, timedelta(days=7), 0.25 * HOUR])
    def test_writes_what_it_reads(self, length: timedelta) -> None:
        assert read_length(write_length(length)) == length

    def test_refuses_what_is_shorter_than_the_least(self) -> None:
        with pytest.raises(ValidationError, match="at least 1 min"):
            LengthField(least=timedelta(minutes=1)).clean("0 s")

    def test_an_empty_optional_one_is_none(self) -> None:
        assert LengthField(required=False).clean(" ") is None


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
    ],
)
def test_fields_read_back_what_they_show(field: Field, value: Any) -> None:
    assert field.clean(field.prepare_value(value)) == value


@pytest.mark.parametrize(
    ("code", "path", "place"),
    [
        ("", "displayName", (None, "name")),
        ("", "labels[phase]", (None, "labels")),
        ("", "jobSpec.scheduling.maxWaitDuration", (None, "max_wait")),
        ("", "jobSpec.scheduling.disableRetries", (None, "strategy")),
        ("", "jobSpec.baseOutputDirectory.outputUriPrefix", (None, "output")),
        ("", "jobSpec.workerPoolSpecs", (0, "machine_type")),
        ("", "jobSpec.workerPoolSpecs[0].machineSpec.acceleratorCount", (0, "accelerator_count")),
        ("", "jobSpec.workerPoolSpecs[3].containerSpec.env[7].name", (3, "env")),
        ("", "jobSpec.workerPoolSpecs[1].pythonPackageSpec", (1, "executor_image")),
        ("", "jobSpec.workerPoolSpecs[0].nfsMounts[0].path", (0, "machine_type")),
        ("region_trains", "", (None, "region")),
        ("over_ask_limit", "", (None, "")),
        ("", "jobSpec.network", (None, "")),
    ],
)
def test_a_finding_goes_to_the_field_that_writes_its_path(code: str, path: str, place: tuple[int | None, str]) -> None:
    assert place_of(code, path) == place


class TestSelect:
    CHOICES = (("", "any"), ("a&b", "<A>"), ("Group", [("1", "one"), (2, "two")]))

    def test_draws_what_django_draws(self) -> None:
        ours, theirs = Select(choices=self.CHOICES), DjangoSelect(choices=self.CHOICES)

        for value in ("", None, "a&b", "2", 2, "unknown"):
            drawn, expected = (
                each.render("x", value, {"id": "id_x", "aria-invalid": "true"}) for each in (ours, theirs)
            )

            assertHTMLEqual(drawn, expected)
