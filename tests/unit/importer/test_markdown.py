"""Tests of pages and other texts around a job: indented blocks, prose, fragments, and findings if there is no job."""

import json
import time

import pytest

from jobs import importer
from tests.unit.importer.test_embedded import COMMAND, CONFIG, START, indented
from tests.unit.importer.test_programs import image_of, job
from tests.unit.importer.test_reading import POOL, codes, refused, spec_of

PROSE = "# How we train\n\nDon't forget: it's: needed.\n\n"


class TestIndentedBlocks:
    @pytest.mark.parametrize("block", [COMMAND, CONFIG, job("'gcr.io/p/i'"), json.dumps({"workerPoolSpecs": [POOL]})])
    @pytest.mark.parametrize("before", ["", "1. Write this:\n\n    it's needed\n\n"])
    def test_are_read_at_their_lines(self, block: str, before: str) -> None:
        depth = 8 if before else 4
        page = f"{PROSE}{before}{indented(block, depth)}\nThat's *it*: all.\n"

        reading = importer.read_text(page)

        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"
        assert "in an indented block" in reading.form or reading.format == "gcloud"
        first = 5 + before.count("\n")
        assert (reading.line_of("jobSpec.workerPoolSpecs") or 0) >= first

    def test_a_blank_line_in_a_config_does_not_end_it(self) -> None:
        pool = "      - machineSpec: {machineType: n1-standard-4}\n        containerSpec: {imageUri: i}\n"
        config = f"workerPoolSpecs:\n\n{pool}"
        reading = importer.read_text(f"{PROSE}{indented(config, 4)}\nThat's *it*: all.\n")

        assert spec_of(reading)["workerPoolSpecs"][0]["machineSpec"] == {"machineType": "n1-standard-4"}


class TestBrokenDocuments:
    """A document that is broken somewhere is no page: a part of it would be a job that lost the rest."""

    @pytest.mark.parametrize(
        "text",
        [
            f"displayName: x\njobSpec:\n\n{indented(CONFIG, 4)}\n  scheduling: {{timeout: 1s\n",
            f"Our note about it\n{CONFIG}\noops that is broken\nserviceAccount: a@b\nnetwork: n\n",
        ],
    )
    def test_are_refused_at_their_line(self, text: str) -> None:
        reading = importer.read_text(text)

        assert reading.submission is None
        assert codes(reading)["unreadable_yaml"] > 1


class TestPieces:
    def test_a_command_comes_before_a_block_that_shows_only_a_machine(self) -> None:
        piece = "machineSpec:\n  machineType: a2-highgpu-2g\n"
        reading = importer.read_text(f"{PROSE}```\n{piece}```\n\n```\n{START} --config=job.yaml\n```\n")

        assert refused(reading) == ["config_elsewhere"]
        assert codes(reading)["config_elsewhere"] == 11

    def test_a_script_beside_a_command_is_not_its_config(self) -> None:
        script = "export A=1\ngcloud services enable aiplatform.googleapis.com\n"
        reading = importer.read_text(f"{PROSE}```bash\n{script}```\n\n```\n{START} --config=job.yaml\n```\n")

        assert refused(reading) == ["config_elsewhere"]

    def test_a_bare_name_of_the_command_gives_way_to_the_command(self) -> None:
        reading = importer.read_text(f"run gcloud ai custom-jobs create (see below)\n\n{COMMAND}\n")

        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"

    def test_reads_the_command_that_a_manifest_runs(self) -> None:
        step = f"spec:\n  steps:\n  - script: |\n      {COMMAND}\n  - jobSpec: {{workerPoolSpecs: []}}\n"
        reading = importer.read_text(f"apiVersion: v1\nkind: Workflow\n{step}")

        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"
        assert reading.line_of("displayName") == 6

    def test_reads_a_config_between_sentences(self) -> None:
        reading = importer.read_text(f"{PROSE}Machine Type: the *small* one\n{CONFIG}\nWhat's wrong with it?\n")

        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"
        assert reading.line_of("jobSpec.workerPoolSpecs") == 6


class TestExplanations:
    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            (f"{PROSE}It's all in `train.py`: look.\n", 1, "No job was found"),
            ("#!/bin/sh\nset -e; echo 'on'\n# gcloud ai custom-jobs create --region=r\necho: x: y\n", 3, "a comment"),
            ("import aiplatform\n\nclient.create_nas_job(parent='p', nas_job={})\n", 3, "a NAS job"),
            ("import aiplatform\naiplatform.AutoMLImageTrainingJob(display_name='a')\n", 2, "an AutoML job"),
            ('{"displayName": "n", "nasJobSpec": {"searchTrialJobSpec": {"workerPoolSpecs": []}}}', 1, "a NAS job"),
        ],
    )
    def test_name_what_a_text_without_a_job_is(self, text: str, line: int, words: str) -> None:
        reading = importer.read_text(text)

        assert refused(reading) == ["no_job"]
        assert codes(reading)["no_job"] == line
        assert words in reading.findings[-1].message

    def test_name_the_job_of_another_sort_that_a_request_posts(self) -> None:
        body = json.dumps({"displayName": "n", "nasJobSpec": {"a": {"workerPoolSpecs": [POOL]}}})
        reading = importer.read_text(f"curl -X POST -d '{body}' https://x/v1/projects/p/locations/l/nasJobs")

        assert refused(reading) == ["no_job"]
        assert "a NAS job" in reading.findings[-1].message

    @pytest.mark.parametrize("sign", ['"', "'"])
    def test_point_to_a_quote_that_hides_the_command(self, sign: str) -> None:
        reading = importer.read_text(f"ls\necho {sign}workers\n{COMMAND}\n")

        assert refused(reading) == ["unclosed_quote"]
        assert codes(reading)["unclosed_quote"] == 2

    def test_refuse_a_config_that_comes_over_a_pipe(self) -> None:
        reading = importer.read_text(f"envsubst < job.yaml | {START} --config=-\n")

        assert refused(reading) == ["config_elsewhere"]
        assert "comes from another command" in reading.findings[0].message


class TestPrograms:
    def test_put_a_config_together_piece_by_piece(self) -> None:
        lines = CONFIG.splitlines()
        pieces = "".join(f"text += '{line}\\n'\n" for line in lines[1:])
        call = "'gcloud', 'ai', 'custom-jobs', 'create', '--region=us-central1', '--display-name=x', '--config=' + path"
        reading = importer.read_text(f"import os\ntext = '{lines[0]}\\n'\n{pieces}os.system([{call}])\n")

        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"

    @pytest.mark.parametrize("gap", ["machine =", "machine = # TODO: choose one", "call(machine=, n=1)"])
    def test_leave_gaps_for_their_readers(self, gap: str) -> None:
        reading = importer.read_text(f"def train():\n{indented(gap, 2)}{indented(job('machine'), 2)}")

        assert refused(reading) == []
        assert tuple(reading.placeholders) == ("jobSpec.workerPoolSpecs[0].containerSpec.imageUri",)

    def test_a_text_that_looks_like_a_gap_is_left_alone(self) -> None:
        program = (
            job("machine").replace("'gcr.io/p/i'", "machine").replace("CustomJob(", "CustomJob(labels={'a': 'b=,c'}, ")
        )
        reading = importer.read_text(f"machine = # TODO\n{program}")

        assert reading.body["labels"] == {"a": "b=,c"}

    def test_refuse_the_part_with_the_pools_that_is_not_python(self) -> None:
        reading = importer.read_text("import os\ndef f():\n  worker_pool_specs = [1]\n  for in x:\n    pass\n")

        assert codes(reading)["unreadable_python"] == 4


class TestTemplates:
    def test_lines_that_only_a_shell_fills_are_noted(self) -> None:
        reading = importer.read_text(f"network: n\n$(printf '- %s' \"${{A[@]}}\")\n{CONFIG}")

        assert refused(reading) == []
        assert codes(reading)["template"] == 2
        assert image_of(reading) == "gcr.io/p/i"


BROKEN = "a: b: c\n"
HEAVY = {
    "indented configs": BROKEN + "\n    workerPoolSpecs:\n" + "\n          a\n" * 6_000,
    "deeper and deeper": BROKEN + "".join(f"\n{' ' * (4 * n)}gcloud ai custom-jobs create\n" for n in range(150)),
    "configs in prose": BROKEN + "workerPoolSpecs:\nIt's\n" * 4_500,
    "comments": BROKEN + "# gcloud ai custom-jobs create\n" * 3_000,
    "gaps": "import aiplatform\na =" + " " * 400_000 + "x\n",
    "words and gaps": "import aiplatform\n" + "a = " * 100_000 + "\nCustomJob(\n",
    "quotes": "gcloud ai custom-jobs create '" + "gcloud custom-jobs " * 50_000,
    "broken notebook": '{"cells": [{"cell_type": "code", "source": [\n' + '"x\n' * 300_000 + '], "nbformat": 4}',
    "tags": "<html" + " " * 500_000 + "CustomJob",
    "classes": "import aiplatform\n" + "AutoML" * 80_000 + "(",
}


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_much_of_anything_takes_bounded_time(text: str) -> None:
    started = time.process_time()

    importer.read_text(text)

    assert time.process_time() - started < 8
