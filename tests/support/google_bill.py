"""What Google may bill for a job, by the price book and the limits and times of the emulator: no line of estimates."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from emulator.lifecycle.times import (
    MAX_INTERNAL_RETRIES,
    MAX_JOB_RETRIES,
    MAX_SPOT_RESTARTS,
    MAX_STOCKOUT_RETRIES,
    MAX_WORKER_RESTARTS,
    Times,
)
from emulator.protocol.timestamps import parse_duration
from jobs import spec
from jobs.cost import hourly, shape_of
from jobs.prices import current_book

STEP_SECONDS = 30
TIMES = Times()
END_SECONDS = TIMES.visible + TIMES.stop_grace + TIMES.noticing + TIMES.teardown
"""The longest time for which a run's machines are there beyond its timeout."""


def size_of(job_spec: Mapping[str, Any], region: str = "us-central1") -> tuple[Decimal, int]:
    """Return the price an hour of all machines of one run, and the number of their GPUs."""
    job, findings = spec.read("custom_job", {"displayName": "any", "jobSpec": dict(job_spec)})
    assert job is not None, findings
    price, gpus = Decimal(0), 0
    key = {"SPOT": "spot", "FLEX_START": "flex_start"}.get(_scheduling(job_spec).get("strategy", ""), "standard")
    for pool in job.job_spec.worker_pool_specs:
        rate = hourly(current_book(), shape_of(pool.machine_spec, pool.disk_spec), region=region, price_key=key)
        assert rate.usd_per_hour is not None, "nobody has approved what has no price"
        price, gpus = (
            price + rate.usd_per_hour * pool.replicas, gpus + pool.replicas * (pool.machine_spec.accelerator_count or 0)
        )  # fmt: skip
    return price, gpus


def most_of(job_spec: Mapping[str, Any], region: str = "us-central1") -> Decimal:
    """Return the most that a run and every restart can cost, if a timeout is that of each."""
    scheduling, (price, _) = _scheduling(job_spec), size_of(job_spec, region)
    runs = 1 + (MAX_SPOT_RESTARTS if scheduling.get("strategy") == "SPOT" else MAX_STOCKOUT_RETRIES)
    if scheduling.get("restartJobOnWorkerRestart"):
        runs += MAX_JOB_RETRIES + MAX_INTERNAL_RETRIES
        runs *= 1 + MAX_WORKER_RESTARTS * sum(int(pool["replicaCount"]) for pool in job_spec["workerPoolSpecs"])
    return runs * _bill(price, parse_duration(scheduling.get("timeout", "604800s")) + END_SECONDS)


def bill_of(document: Mapping[str, Any]) -> Decimal:
    """Return what a job that has ended at the emulator cost, by its own times."""
    began, ended = (datetime.fromisoformat(document[name]) for name in ("startTime", "endTime"))
    return _bill(size_of(document["jobSpec"])[0], (ended - began).total_seconds())


def _scheduling(job_spec: Mapping[str, Any]) -> Mapping[str, Any]:
    scheduling: Mapping[str, Any] = job_spec.get("scheduling", {})
    return scheduling


def _bill(price: Decimal, seconds: float) -> Decimal:
    return price * STEP_SECONDS * -int(-seconds // STEP_SECONDS) / 3600
