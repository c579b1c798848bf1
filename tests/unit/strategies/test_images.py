"""Tests of the CUDA version in an image's name. Other names are ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.strategies.rules.images import cuda_of, lacks_cuda

TRAINING = "us-docker.pkg.dev/vertex-ai/training"


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04", "12.4"),
        ("nvcr.io/nvidia/cuda:9.0-cudnn7-runtime", "9.0"),
        ("pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime", "12.1"),
        ("gcr.io/deeplearning-platform-release/pytorch-cu121.2-3.py310", "12.1"),
        ("us-docker.pkg.dev/deeplearning-platform-release/gcr.io/base-cu113", "11.3"),
        (f"{TRAINING}/tf-gpu.2-14.py310:latest", "11.x"),
        (f"{TRAINING}/tf-gpu.2-15.py310:latest", "12.x"),
        (f"{TRAINING}/pytorch-gpu.2-0.py310:latest", "11.x"),
        (f"{TRAINING}/pytorch-gpu.2-4.py310:latest", "12.x"),
        (f"{TRAINING}/xgboost-gpu.2-1:latest", "12.x"),
        (f"{TRAINING}/ray-gpu.2-47.py311:latest", "11.x"),
    ],
)
def test_versions_that_a_name_tells(image: str, version: str) -> None:
    assert str(cuda_of(image)) == version
    assert not lacks_cuda(image)


@pytest.mark.parametrize(
    "image",
    [
        "gcr.io/p/i:latest",
        "europe-docker.pkg.dev/p/barracuda12-1/i",
        "gcr.io/p/focus121:1",
        "gcr.io/p/cu1",
        "",
    ],
)
def test_names_that_tell_nothing(image: str) -> None:
    assert cuda_of(image) is None
    assert not lacks_cuda(image)


@pytest.mark.parametrize(
    "image",
    [
        "python:3.11",
        "docker.io/library/python@sha256:" + "a" * 64,
        "ubuntu",
        "gcr.io/deeplearning-platform-release/tf2-cpu.2-11",
        f"{TRAINING}/sklearn-cpu.1-6:latest",
        f"{TRAINING}/pytorch-xla.2-4.py310:latest",
    ],
)
def test_images_without_cuda(image: str) -> None:
    assert lacks_cuda(image)
    assert cuda_of(image) is None


@given(st.text(max_size=60))
def test_no_name_breaks_it(image: str) -> None:
    named = f"gcr.io/p/{image}:cuda12.1"

    assert cuda_of(named) is not None
    assert not lacks_cuda(named)
