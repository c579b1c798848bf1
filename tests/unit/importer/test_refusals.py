"""Tests that missing or wrong values and texts without a job are refused at their line, and that nothing raises."""

import json

import pytest

from jobs import importer
from jobs.importer.python import branches, expressions, values
from jobs.importer.python.program import Program
from jobs.spec import Severity
from tests.unit.importer.test_reading import codes, refused, spec_of


class TestPlaceholders:
    @pytest.mark.parametrize(
        "image", ["${IMAGE}", "$IMAGE", "<image>", "{{ image }}", "gcr.io/PROJECT_ID/x", "[IMAGE]"]
    )
    def test_in_text_are_named_and_kept(self, image: str) -> None:
        text = json.dumps({"jobSpec": {"workerPoolSpecs": [{"containerSpec": {"imageUri": image}}]}})

        reading = importer.read_text(text)

        assert tuple(reading.placeholders) == ("jobSpec.workerPoolSpecs[0].containerSpec.imageUri",)
        assert refused(reading) == []
        assert spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["imageUri"] == image

    @pytest.mark.parametrize(
        "text",
        [
            "workerPoolSpecs:\n- replicaCount: ${N}\n",
            "workerPoolSpecs:\n- replicaCount: {{ n }}\n",
            "workerPoolSpecs:\n- replicaCount: REPLICAS\n",
            '{"workerPoolSpecs":\n[{"replicaCount": REPLICAS}]}',
            '{"workerPoolSpecs":\n[{"replicaCount": {{n}} }]}',
        ],
    )
    def test_in_numbers_are_named_and_left_out(self, text: str) -> None:
        reading = importer.read_text(text)

        assert tuple(reading.placeholders) == ("jobSpec.workerPoolSpecs[0].replicaCount",)
        assert codes(reading)["placeholder"] == 2
        assert spec_of(reading)["workerPoolSpecs"] == [{}]

    def test_programs_keep_their_own_variables(self) -> None:
        command = ["bash", "-c", "echo $HOME ${HOME:-x}; ls"]
        text = json.dumps(
            {"jobSpec": {"workerPoolSpecs": [{"containerSpec": {"command": command, "args": ["$(AIP_MODEL_DIR)"]}}]}}
        )

        assert importer.read_text(text).placeholders == {}


class TestRefusals:
    @pytest.mark.parametrize("value", [[], {}, 7, True, None, [1, {"a": "b"}]])
    def test_a_pipeline_s_task_that_is_no_text_is_explained(self, value: object) -> None:
        body = {"displayName": "p", "trainingTaskDefinition": value, "trainingTaskInputs": {"workerPoolSpecs": []}}

        reading = importer.read_text(json.dumps(body))

        assert reading.kind == "training_pipeline"
        assert reading.findings

    @pytest.mark.parametrize(
        ("text", "code", "line", "words"),
        [
            ("workerPoolSpecs:\n- replicaCont: 1\n", "unknown_field", 2, "`replicaCount`"),
            ("workerPoolSpecs:\n- bootDiskSize_gb: 1\n", "unknown_field", 2, "bootDiskSizeGb"),
            ("workerPoolSpecs: []\nstaging_bucket: gs://x\n", "unknown_field", 2, "baseOutputDirectory"),
            ("workerPoolSpecs: []\ndescription: x\n", "unknown_field", 2, "label"),
            ("workerPoolSpecs: []\ndisplay_name: x\n", "misplaced", 2, "jobSpec"),
            ("workerPoolSpecs: []\nregion: x\n", "misplaced", 2, "flag"),
            ("workerPoolSpecs: []\nscheduling:\n  strategy: spot\n", "unknown_value", 3, "`SPOT`"),
            ("workerPoolSpecs:\n- replicaCount: two\n", "wrong_type", 2, "whole number"),
            ("workerPoolSpecs: []\nnetwork: a\nnetwork: b\n", "given_twice", 3, "line 2"),
            ("workerPoolSpecs: []\nnetwork: !!python/object:os.system a\n", "tag", 2, "runs nothing"),
            ("workerPoolSpecs:\n-\treplicaCount: 1\n\t- b\n", "unreadable_yaml", 3, "tab"),
            ("workerPoolSpecs:\n- {a: 1\nb: 2", "unreadable_yaml", 3, "not valid YAML"),
            ('{"jobSpec": {"workerPoolSpecs": [\n{"replicaCount": 1}', "unreadable_json", 2, "ends before"),
            ('{"jobSpec":\n {"network" "x"}}', "unreadable_json", 2, "colon"),
            (
                '{"labels": {A": B, C},\n"jobSpec": {"network": "n", "models": ["a", {"b" 1',
                "unreadable_json",
                2,
                "colon",
            ),
            ('{"jobSpec": {"network": "a",\n"network": "b"}}', "given_twice", 2, "line 1"),
            ("studySpec:\n  maxTrialCount: 5\n", "unknown_field", 2, "`maxTrialCount`"),
        ],
    )
    def test_refuse_at_its_line(self, text: str, code: str, line: int, words: str) -> None:
        reading = importer.read_text(text)

        found = next(finding for finding in reading.findings if finding.code == code)
        assert found.line == line
        assert found.severity is Severity.ERROR
        assert words in found.message + found.remedy

    @pytest.mark.parametrize(
        "given", [b"\x00\x01", b"\xff\xfe\x00", "", " \n", "a\0b", b"\x80abc", "\ud800", b"%PDF-1.4\xe2\xe3"]
    )
    def test_refuse_what_is_not_text(self, given: str | bytes) -> None:
        reading = importer.read_text(given)

        assert reading.submission is None
        assert refused(reading)

    def test_what_comes_before_a_break_is_kept(self) -> None:
        reading = importer.read_text('{"labels": {A": B, C},\n"jobSpec": {"network": "n", "models": ["a", {"b" 1')

        assert reading.body["labels"] == {"A": "B"}
        assert spec_of(reading)["network"] == "n"
        assert {"stray_quote", "not_carried"} <= set(codes(reading))

    def test_too_much_is_refused(self) -> None:
        assert refused(importer.read_text("a" * (2 * 1024 * 1024 + 1))) == ["too_large"]

    def test_html_stays_text(self) -> None:
        body = {"displayName": "<script>alert(1)</script>", "jobSpec": {"network": '"><img src=x>'}}

        assert importer.read_text(json.dumps(body)).body == body


class TestDocumentationJson:
    def test_is_read_with_comments_placeholders_and_text_after_it(self) -> None:
        pools = '"workerPoolSpecs": [{"replicaCount": 1,}, ...]'
        text = f'{{ // a job\n  "displayName": "x",\n  "jobSpec": {{{pools}}}\n}}\nThen POST it.'

        reading = importer.read_text(text)

        assert spec_of(reading) == {"workerPoolSpecs": [{"replicaCount": "1"}]}
        assert {"comments": 1, "stray_comma": 3, "left_out": 3, "trailing_text": 5}.items() <= codes(reading).items()

    @pytest.mark.parametrize(
        ("pools", "expected"),
        [
            ('[{"replicaCount": 1},\n{"replicaCount": 2}]', {}),
            ('[{"replicaCount": 1}\n{"replicaCount": 2}]', {"missing_comma": 2}),
            ('[{"replicaCount": 1},\n,{"replicaCount": 2}]', {"stray_comma": 2}),
            ('[,{"replicaCount": 1},{"replicaCount": 2}]', {"stray_comma": 1}),
            ('[{"replicaCount": 1},{"replicaCount": 2},\n]', {"stray_comma": 2}),
            ('[{"replicaCount": 1}, ..., {"replicaCount": 2}, ...]', {"left_out": 1}),
        ],
    )
    def test_commas_too_many_or_too_few_are_noted(self, pools: str, expected: dict[str, int]) -> None:
        reading = importer.read_text(f'{{"jobSpec": {{"workerPoolSpecs": {pools}}}}}')

        assert [pool["replicaCount"] for pool in spec_of(reading)["workerPoolSpecs"]] == ["1", "2"]
        assert codes(reading) == expected


def test_an_unknown_enum_value_names_the_field_in_a_whole_sentence() -> None:
    text = "gcloud ai hp-tuning-jobs create --region=us-central1 --display-name=x --algorithm=BAYESIAN_OPTIMIZATION"

    found = [finding.message for finding in importer.read_text(text).findings if finding.code == "unknown_value"]

    assert found == [
        "“BAYESIAN_OPTIMIZATION” is not a value of algorithm that is known to Trainboard as of 21 November 2026; "
        "Vertex AI decides."
    ]


class TestLongPrograms:
    """Programs that could be followed for longer than anybody waits; the counted steps end all of them."""

    @pytest.mark.parametrize(
        "line",
        [
            "v{0} = f(g(h(k(q(w(e({0})))))))\n",
            "x.append(f({0})); g(x)\n",
            "x = {{**y, 'a{0}': 1}}; y = x\n",
            "for i in r: x{0} = [i, i, i, i, i, i, i, i, i, i]\n",
            "s{0} = f'gs://{{a}}/{{b}}/{0}' + c\n",
        ],
    )
    def test_a_long_program_is_followed_once(self, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
        followed, written = [], []
        follow, source = Program.follow, values.source
        monkeypatch.setattr(Program, "follow", lambda self, tree: followed.append(tree.body) or follow(self, tree))
        monkeypatch.setattr(values, "source", lambda part: written.append(part) or source(part))

        reading = importer.read_text(
            "import os\nx, y, r = [], {}, range(99)\n" + "".join(map(line.format, range(6_000)))
        )

        assert "too_much" in codes(reading)
        assert len([body for body in followed if body]) == 1
        assert len(written) <= branches.MAX_STEPS // expressions.SOURCE_COST + 1


def test_an_empty_name_is_the_same_in_yaml_and_json() -> None:
    labels = {"": "x", "null": "y"}
    body = {"displayName": "x", "labels": labels, "jobSpec": {"workerPoolSpecs": []}}
    written = 'displayName: x\nlabels: {"": x, "null": y}\njobSpec: {workerPoolSpecs: []}\n'

    assert importer.read_text(json.dumps(body)).body["labels"] == labels
    assert importer.read_text(written).body["labels"] == labels
