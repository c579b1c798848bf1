"""Fields become the REST body of a CustomJob; a field that is empty or could not be read is left out of it."""

from datetime import timedelta
from typing import Any

from dashboard.forms.job_form import JobForm
from dashboard.forms.pool_form import PoolForm
from jobs.catalog import machine


def custom_job(job: JobForm, pools: list[PoolForm]) -> dict[str, Any]:
    """Return the CustomJob that the fields describe."""
    said = job.cleaned_data
    scheduling = {"timeout": _seconds(said.get("timeout"))}
    if said.get("strategy") == "flex_start":
        scheduling["maxWaitDuration"] = _seconds(said.get("max_wait"))
    return _given(
        {
            "displayName": said.get("name"),
            "jobSpec": {
                "workerPoolSpecs": [worker_pool(pool) for pool in pools],
                "scheduling": _given(scheduling),
                **_given(
                    {
                        "serviceAccount": said.get("service_account"),
                        "baseOutputDirectory": _given({"outputUriPrefix": said.get("output")}),
                    }
                ),
            },
            "labels": dict(said.get("labels") or []),
        }
    )


def worker_pool(pool: PoolForm) -> dict[str, Any]:
    """Return the WorkerPoolSpec that the fields describe."""
    said = pool.cleaned_data
    replicas = said.get("replicas")
    task = python_package(said) if said.get("runs") == "package" else container(said)
    return (
        _given(
            {
                "machineSpec": machine_spec(said),
                "replicaCount": None if replicas is None else str(replicas),
                "diskSpec": _given({"bootDiskType": said.get("disk_type"), "bootDiskSizeGb": said.get("disk_gb")}),
            }
        )
        | task
    )


def machine_spec(said: dict[str, Any]) -> dict[str, Any]:
    """Return the MachineSpec; a machine that always has the same GPUs names them, as Vertex AI asks for."""
    name, accelerator, count = (said.get(key) for key in ("machine_type", "accelerator_type", "accelerator_count"))
    known = machine(name or "")
    if known is not None and known.gpu_attach == "fixed" and not accelerator and not count:
        accelerator, count = known.gpu_type, known.gpu_count
    return _given({"machineType": name, "acceleratorType": accelerator, "acceleratorCount": count})


def container(said: dict[str, Any]) -> dict[str, Any]:
    """Return the pool's containerSpec; it stands there even when it is empty, for the rules to speak about."""
    spec = {"imageUri": said.get("image"), "command": said.get("command"), "args": said.get("args")}
    return {"containerSpec": _given(spec | {"env": _env(said)})}


def python_package(said: dict[str, Any]) -> dict[str, Any]:
    """Return the pool's pythonPackageSpec."""
    spec = {
        "executorImageUri": said.get("executor_image"),
        "packageUris": said.get("package_uris"),
        "pythonModule": said.get("module"),
        "args": said.get("args"),
    }
    return {"pythonPackageSpec": _given(spec | {"env": _env(said)})}


def _env(said: dict[str, Any]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in said.get("env") or []]


def _seconds(length: timedelta | None) -> str | None:
    """Return protobuf's duration; None stays absent and zero stays zero."""
    return None if length is None else f"{length.total_seconds():.3f}".rstrip("0").rstrip(".") + "s"


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that say something; a number 0 does."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}
