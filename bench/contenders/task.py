"""The work of every contender."""

import sys
import time
from collections.abc import Callable
from typing import Any

PROJECT, REGION = "bench", "us-central1"
PARENT = f"projects/{PROJECT}/locations/{REGION}"
NAME = f"projects/123/locations/{REGION}/customJobs/"
JOBS = 'labels.trainboard_instance="bench"'
JOB_COUNT = 1_000
LIST_SECONDS = 2.0
BODY: dict[str, Any] = {
    "displayName": "penguins",
    "jobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {"machineType": "n1-standard-4"},
                "replicaCount": "1",
                "containerSpec": {"imageUri": "us-docker.pkg.dev/trainboard/samples/penguins:latest"},
            }
        ]
    },
}


def race(start: Callable[[str], str], lister: Callable[[str], int]) -> None:
    """Call `start` once, or `lister` for two seconds and print jobs per second, by the command line."""
    verb, url = sys.argv[1:]
    if verb == "start":
        assert start(url) == "JOB_STATE_RUNNING"
        return
    assert lister(url) == JOB_COUNT  # warm-up
    began, listed = time.perf_counter(), 0
    while time.perf_counter() - began < LIST_SECONDS:
        listed += lister(url)
    print(listed / (time.perf_counter() - began))
