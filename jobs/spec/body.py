"""Read parts of a stored REST body of any kind. Pure."""

from typing import Any

from jobs.spec.cloud_storage import SCHEME


def custom_job_spec(body: Any) -> dict[str, Any]:
    """Return the CustomJobSpec in the body of a custom job, a trial or a pipeline's task inputs; {} for none."""
    found = body.get("trainingTaskInputs") or body if isinstance(body, dict) else {}
    spec = found.get("jobSpec") or found.get("trialJobSpec") or found if isinstance(found, dict) else {}
    return spec if isinstance(spec, dict) else {}


def output_folder(body: Any) -> str:
    """Return the output folder of a job's body, "gs://bucket/path"; "" if it has none.

    Trials of a tuning job write into subfolders named by their number (vertex-facts 2.2).
    """
    folder = custom_job_spec(body).get("baseOutputDirectory")
    prefix = folder.get("outputUriPrefix") if isinstance(folder, dict) else None
    return prefix if isinstance(prefix, str) and prefix.startswith(SCHEME) else ""
