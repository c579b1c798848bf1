"""Google's SDK as a poller: `poller.py get|list URL`. Prints the jobs observed per second and the CPU time as JSON.

`get` keeps an object for each job and asks for its state; `list` lists all jobs. The SDK offers these two ways.
"""

import json
import logging
import sys
import time
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform

HELD = 100
SECONDS = 3.0
OURS = 'labels.trainboard_instance="bench"'


def main() -> None:
    """Poll for some seconds."""
    verb, url = sys.argv[1:]
    logging.getLogger("google.cloud.aiplatform").setLevel(logging.ERROR)
    aiplatform.init(
        project="vision-research",
        location="us-central1",
        api_endpoint=url,
        api_transport="rest",
        credentials=AnonymousCredentials(),
    )
    if verb == "list":
        began, cpu = time.perf_counter(), time.process_time()
        tell(len([job.state for job in _listed()]), began, cpu)
        return
    found: list[Any] = aiplatform.CustomJob.list(filter='displayName:"job 1*" AND ' + OURS)[:HELD]
    began, cpu, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - began < SECONDS:
        count += len({job.state for job in found} and found)
    tell(count, began, cpu)


def tell(count: int, began: float, cpu: float) -> None:
    """Print the figures for observing `count` jobs since the two start times."""
    spent = {"jobs_per_second": count / (time.perf_counter() - began)}
    print(json.dumps(spent | {"cpu_ms": (time.process_time() - cpu) * 1000 / count}))


def _listed() -> list[aiplatform.CustomJob]:
    return [_Seen(job) for job in aiplatform.CustomJob.list(filter=OURS)]


class _Seen:
    """A listed job. Reading `CustomJob.state` would request it again."""

    def __init__(self, job: aiplatform.CustomJob) -> None:
        self.state = job.gca_resource.state


if __name__ == "__main__":
    main()
