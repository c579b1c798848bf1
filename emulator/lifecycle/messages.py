"""The service's messages: log lines in their recorded order, and the outcomes of jobs.

Sources: log lines captured in public repositories 2020-2026; "Understand the custom training service" in Google's
documentation (read 2026-08) for the error templates; issue threads for their google.rpc codes. Lines without a
confirming source are marked (unconfirmed).
"""

from emulator.protocol import errors
from emulator.protocol.documents import Document

WAITING = "Waiting for job to be provisioned."
PROVISIONING = (
    "Vertex AI is provisioning job running framework. First time usage might take couple of minutes, "
    "and subsequent runs can be much faster."
)
SETTING_UP = "Vertex AI is setting up this job."
WAITING_FOR_PROGRAM = "Waiting for training program to start."
PREPARING = "Job is preparing."
RUNNING = "Job is running."
TEARING_DOWN = "Tearing down training program."
TORN_DOWN = "Finished tearing down training program."
SUCCEEDED = "Job completed successfully."
FAILED = "Job failed."
CANCELLED = "Job cancelled."  # (unconfirmed)
TERMINATED = (
    "Terminated by service. If the job is supposed to continue running, it will be restarted on other VM shortly."
)

LOOK_AT_LOGS = "To find out more about why your job exited please check the logs:"
EXIT_ON_KILL = 137

CPU_QUOTA = "aiplatform.googleapis.com/custom_model_training_cpus"
SUCCESS: Document = {"state": "JOB_STATE_SUCCEEDED"}


def failure(code: int, message: str) -> Document:
    """Return the outcome of a job that failed."""
    return {"state": "JOB_STATE_FAILED", "error": errors.status(code, message)}


def cancelled(message: str = "CANCELED") -> Document:
    """Return the outcome of a job that was cancelled."""
    return {"state": "JOB_STATE_CANCELLED", "error": errors.status(errors.CANCELLED, message)}


def exited(replica: str, code: int, reason: str, tail: str) -> Document:
    """Return the outcome of an exit with a non-zero status. `tail` is the end of the output, such as a traceback."""
    text = f"The replica {replica} exited with a non-zero status of {code}. Termination reason: {reason}. "
    return failure(errors.INVALID_ARGUMENT, text + (f"\n{tail}" if tail else ""))


def evicted(replica: str) -> Document:
    """Return the outcome of a replica that was evicted too often. The wording is ours (unconfirmed)."""
    return exited(replica, EXIT_ON_KILL, "Evicted", "")


def log_text(outcome: Document, *, project: str, job_id: str) -> str:
    """Return the service's log line for a failure: its message, followed by a URL if a replica has ended."""
    message = str(outcome["error"]["message"])
    if not message.startswith("The replica "):
        return message
    about = f"project={project}&resource=ml_job%2Fjob_id%2F{job_id}"
    terms = f"resource.type%3D%22ml_job%22%0Aresource.labels.job_id%3D%22{job_id}%22"
    end = "\n\n" if "\n" in message else ""
    return f"{message}{end}{LOOK_AT_LOGS} https://console.cloud.google.com/logs/viewer?{about}&advancedFilter={terms}"


def out_of_memory(replica: str) -> Document:
    """Return the outcome of a replica that ran out of memory. The text is from jobs of 2025-26."""
    pool = replica.partition("-")[0]
    text = f"Replicas low on memory: {pool}. Specify a machine with larger memory and try again."
    return failure(errors.RESOURCE_EXHAUSTED, text)


def stockout(region: str) -> Document:
    """Return the outcome if there are no machines in the region."""
    text = f"Resources are insufficient in region: {region}. Please try a different region."
    return failure(errors.RESOURCE_EXHAUSTED, text)


def quota(metrics: list[str]) -> str:
    """Return the text about quota metrics, for refused requests and for jobs."""
    return f"The following quota metrics exceed quota limits: {', '.join(metrics)}"


def over_quota(metrics: list[str]) -> Document:
    """Return the outcome of a job that exceeds quota limits."""
    return failure(errors.RESOURCE_EXHAUSTED, quota(metrics))


def internal() -> Document:
    """Return the outcome of an internal error of the service."""
    return failure(errors.INTERNAL, "Internal error occurred for the current attempt.")


def image_denied(image: str, project_number: str) -> Document:
    """Return the outcome if an image cannot be pulled. The text is confirmed for Artifact Registry only."""
    agent = f"service-{project_number}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"
    host, _, path = image.partition("/")
    repository = path.split("/")
    if host.endswith("-docker.pkg.dev") and len(repository) >= 3:  # project, repository, image
        location = host.removesuffix("-docker.pkg.dev")
        where = f"projects/{repository[0]}/locations/{location}/repositories/{repository[1]}"
        text = (
            f"Vertex AI Service Agent {agent} does not have permission to access Artifact Registry repository {where}"
        )
    else:
        text = f"Vertex AI Service Agent {agent} does not have permission to access image {image}"
    return failure(errors.FAILED_PRECONDITION, text)


def timed_out(timeout: str) -> Document:
    """Return the outcome of a timeout. The service cancels the job, as observed; the wording is ours (unconfirmed)."""
    return cancelled(f"CANCELED: the job ran longer than its timeout of {timeout}.")
