"""Tests of jobs inside something else: pages, notebooks, workflows, scripts, strings in programs."""

import json
from typing import Any

import pytest

from jobs import importer
from tests.unit.importer.test_commands import POOL as FLAG
from tests.unit.importer.test_commands import START
from tests.unit.importer.test_programs import image_of, job
from tests.unit.importer.test_reading import POOL, YAML_POOL, codes, refused, spec_of

COMMAND = f"{START} --worker-pool-spec={FLAG}"
CONFIG = f"workerPoolSpecs:{YAML_POOL}"


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.strip().split("\n"))


def notebook(*cells: str) -> str:
    found: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {}, "source": cell.splitlines(keepends=True)} for cell in cells
    ]
    title = {"cell_type": "markdown", "metadata": {}, "source": ["CustomJob(\n"]}
    return json.dumps({"cells": [title, *found], "nbformat": 4}, indent=1)


class TestPages:
    @pytest.mark.parametrize("block", [COMMAND, CONFIG, job("'gcr.io/p/i'"), json.dumps({"workerPoolSpecs": [POOL]})])
    def test_a_fenced_block_is_read_at_its_lines(self, block: str) -> None:
        page = (
            f"# How it's run\n\nDon't forget:\n\n```sh\nls\n```\nthen\n\n  ```\n{indented(block, 2)}  ```\nThat's it.\n"
        )

        reading = importer.read_text(page)

        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"
        assert "in a fenced block" in reading.form
        assert (reading.line_of("jobSpec.workerPoolSpecs") or 0) >= 10

    def test_a_command_takes_the_config_that_stands_beside_it(self) -> None:
        page = f"# Train\n```\n{START} --config=config.yaml\n```\n\n```yaml\n{CONFIG}```\n"

        reading = importer.read_text(page)

        assert reading.format == "gcloud"
        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"


class TestNotebooks:
    def test_the_cells_are_one_program(self) -> None:
        text = notebook("P = 'p'\n", "! pip install x \\\n  y\n", "%%bash\nls | grep '\n", job("f'gcr.io/{P}/i'"))

        reading = importer.read_text(text)

        assert reading.format == "python"
        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"

    def test_lines_are_those_of_the_file(self) -> None:
        text = notebook("P = 'p'\n", job("7"))

        line = importer.read_text(text).line_of("jobSpec.workerPoolSpecs[0].containerSpec.imageUri")

        assert line is not None
        assert "image_uri" in text.split("\n")[line - 1]

    def test_commands_take_the_names_and_files_of_the_cells(self) -> None:
        cells = ("%%writefile ./job.yaml\n" + CONFIG, "NAME = 'from-python'\n")
        text = notebook(*cells, "!gcloud ai custom-jobs create --display-name={NAME} \\\n --config=job.yaml\n")

        reading = importer.read_text(text)

        assert refused(reading) == []
        assert reading.body["displayName"] == "from-python"
        assert image_of(reading) == "gcr.io/p/i"

    def test_a_cell_of_bash_is_read(self) -> None:
        reading = importer.read_text(notebook("import os\n", f"%%bash\n{COMMAND}\n"))

        assert image_of(reading) == "gcr.io/p/i"

    @pytest.mark.parametrize("cells", [[], [1], [{"cell_type": "code", "source": 7}], {"a": 1}, "x"])
    def test_odd_notebooks_hold_no_job(self, cells: object) -> None:
        reading = importer.read_text(json.dumps({"nbformat": 4, "cells": cells}))

        assert reading.submission is None
        assert "no_job" in refused(reading)


class TestWorkflows:
    def test_a_step_s_script(self) -> None:
        text = f"name: train\non: push\njobs:\n  go:\n    steps:\n    - run: |\n{indented(COMMAND, 8)}"

        reading = importer.read_text(text)

        assert reading.format == "gcloud"
        assert image_of(reading) == "gcr.io/p/i"
        assert reading.line_of("jobSpec") == 7

    def test_a_step_s_list_of_words(self) -> None:
        words = ["ai", "custom-jobs", "create", "--display-name=x", f"--worker-pool-spec={FLAG}"]
        text = json.dumps({"steps": [{"name": "sdk", "entrypoint": "gcloud", "args": words}]})

        assert image_of(importer.read_text(text)) == "gcr.io/p/i"

    def test_marks_of_github(self) -> None:
        text = f"steps:\n- run: {COMMAND.replace('gcr.io/p/i', 'gcr.io/${{ env.my-project }}/i')}\n"

        assert image_of(importer.read_text(text)) == "gcr.io/${{ env.my-project }}/i"

    def test_a_job_deep_in_a_document(self) -> None:
        text = f"main:\n  steps:\n  - a: {{b: 1}}\n  - go:\n      args:\n        body:\n{indented(CONFIG, 10)}"

        assert image_of(importer.read_text(text)) == "gcr.io/p/i"


class TestScripts:
    @pytest.mark.parametrize(
        "text",
        [
            f"cat > job.yaml <<EOF\n{CONFIG}EOF\n",
            f"echo hello\necho > ./job.yaml '{CONFIG}'\nls\n",
            f"%%bash -s one\n\ncat <<EOF >job.yaml\n{CONFIG}EOF\n",
            f'TEXT = f"""\n{CONFIG}"""\nwith open("job.yaml", "w") as file:\n    file.write(TEXT)\n',
            f'import subprocess\nsubprocess.run("{COMMAND}", shell=True)\n',
            f"import subprocess\nsubprocess.run({COMMAND.split()!r})\n",
            f'script = f"""\n{COMMAND}\n"""\nopen("x", "w").write(script)\n',
            f"PROJECT ?= p\n\n.PHONY: train\ntrain: build\n\t{COMMAND}\n",
            f"train: build\n\t{COMMAND}\n",
            f"command = <<EOT\n  {COMMAND}\nEOT\n",
        ],
    )
    def test_a_job_in_what_is_written_or_run(self, text: str) -> None:
        reading = importer.read_text(text)

        assert refused(reading) == []
        assert image_of(reading) == "gcr.io/p/i"

    def test_echo_writes_the_config_of_a_command(self) -> None:
        text = f'N=3\necho > ./job.yaml "{CONFIG}network: n$N\n"\n{START} --config=job.yaml\n'

        reading = importer.read_text(text)

        assert refused(reading) == []
        assert spec_of(reading)["network"] == "n3"

    def test_what_is_no_job_keeps_its_own_finding(self) -> None:
        assert list(codes(importer.read_text("steps:\n- run: ls\n"))) == ["no_job"]
