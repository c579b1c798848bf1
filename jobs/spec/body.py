"""Parts of a REST body as it was stored, whatever its kind. Pure."""

from typing import Any

from jobs.spec.cloud_storage import SCHEME


def custom_job_spec(body: Any) -> dict[str, Any]:
    """Return the CustomJobSpec of a body: a custom job's, a trial's, or a pipeline's task inputs; {} for none."""
    found = body.get("trainingTaskInputs") or body if isinstance(body, dict) else {}
    spec = found.get("jobSpec") or found.get("trialJobSpec") or found if isinstance(found, dict) else {}
    return spec if isinstance(spec, dict) else {}


def output_folder(body: Any) -> str:
    """Return the output folder of a job's body, "gs://bucket/path"; "" where it has none.

    A tuning job's trials write into folders below it, named by their number (vertex-facts 2.2).
    """
    folder = custom_job_spec(body).get("baseOutputDirectory")
    prefix = folder.get("outputUriPrefix") if isinstance(folder, dict) else None
    return prefix if isinstance(prefix, str) and prefix.startswith(SCHEME) else ""
