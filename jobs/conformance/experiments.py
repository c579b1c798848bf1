"""Experiments: what each of them creates, its steps and its claims; and the bodies that they have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.conformance.claims import Claim
from jobs.conformance.lab import LABEL, Lab, Planned, Site

Steps = Callable[[Lab, Sequence[Planned]], Iterator[float]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment. `group` is "" for those of every run, else the word with which it is asked for."""

    name: str
    title: str
    plan: Callable[[Site], Sequence[Planned]]
    steps: Steps
    claims: tuple[Claim, ...]
    group: str = ""


def pool(site: Site, program: str, machine: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a worker pool with one machine that runs a shell program."""
    return {
        "machineSpec": dict(machine or {"machineType": site.machine}),
        "replicaCount": "1",
        "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
        "containerSpec": {"imageUri": site.image, "command": ["sh", "-c", program]},
    }


def custom_job(
    site: Site,
    experiment: str,
    program: str,
    *,
    timeout: int,
    machine: Mapping[str, Any] | None = None,
    runs: int = 1,
    scheduling: Mapping[str, Any] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Planned:
    """Return a custom job with one machine, a timeout in seconds and the label of the run."""
    spec = {
        "workerPoolSpecs": [pool(site, program, machine)],
        "scheduling": {"timeout": f"{timeout}s", **(scheduling or {})},
        "baseOutputDirectory": {"outputUriPrefix": f"{site.folder}/{experiment}/"},
        **(more or {}),
    }
    body = {"displayName": site.name(experiment), "labels": {LABEL: site.run}, "jobSpec": spec}
    return Planned("custom_job", body, timeout, runs)


def run_to_the_end(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    """Create the job, poll it until it ends, and read its log."""
    began = lab.now
    name = lab.create(planned[0])
    yield from lab.watch(name)
    yield from lab.read_log([name], began)
