"""Tests of the settings by which runs of a family are compared."""

from typing import Any

import pytest

from jobs.spec.settings import MAX_SETTINGS, MAX_TEXT_LENGTH, settings_of
from tests.support import samples


def body(*args: str, **more: Any) -> dict[str, Any]:
    found = samples.body()
    container = found["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    container |= {"args": list(args), **more}
    return found


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (["--lr=3e-4"], {"--lr": 0.0003}),
        (["--lr", "0.1", "--batch-size", "1024"], {"--lr": 0.1, "--batch-size": 1024}),
        (["--shift", "-0.5"], {"--shift": -0.5}),
        (["--fast", "--seed", "7"], {"--fast": True, "--seed": 7}),
        (["--seed", "7", "--fast"], {"--seed": 7, "--fast": True}),
        (["lr=0.1", "+model.depth=3"], {"lr": 0.1, "model.depth": 3}),
        (["--date", "007"], {"--date": "007"}),
        (["--data", "gs://b/p"], {"--data": "gs://b/p"}),
        (["word", "another"], {}),
        (["--empty="], {"--empty": ""}),
    ],
)
def test_arguments_are_named_by_their_options(args: list[str], wanted: dict[str, Any]) -> None:
    found = settings_of(body(*args))

    assert {name: value for name, value in found.items() if name != "image"} == wanted
    assert [type(value) for value in wanted.values()] == [type(found[name]) for name in wanted]


def test_variables_labels_and_the_image_are_settings_too() -> None:
    job = body(env=[{"name": "SEED", "value": "3"}]) | {"labels": {"goal": "lr", "trainboard_job": "x"}}

    found = settings_of(job)

    assert found == {
        "image": "us-docker.pkg.dev/trainboard/samples/penguins:latest",
        "env.SEED": 3,
        "labels.goal": "lr",
    }


@pytest.mark.parametrize("kind", ["tuning_job", "pipeline"])
def test_every_kind_of_job_has_those_of_its_program(kind: str) -> None:
    assert settings_of(getattr(samples, kind)())["--epochs"] == 3


@pytest.mark.parametrize(
    "odd",
    [None, [], {}, {"jobSpec": []}, {"jobSpec": {"workerPoolSpecs": [None]}}, {"labels": []},
     {"jobSpec": {"workerPoolSpecs": [{"containerSpec": {"args": "x", "env": 3, "imageUri": 4, "command": [1]}}]}}],
)  # fmt: skip
def test_an_odd_body_has_none(odd: Any) -> None:
    assert settings_of(odd) == {}


def test_there_is_an_end_to_what_is_kept() -> None:
    found = settings_of(body(*(f"--option-{n}={'x' * 500}" for n in range(200))))

    assert len(found) == MAX_SETTINGS
    assert {len(str(value)) for value in found.values()} == {MAX_TEXT_LENGTH}
