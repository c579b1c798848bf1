"""What the service says: log lines in their recorded order and the messages of outcomes.

Sources: log lines captured in public repositories 2020-2026; "Understand the custom training service" in Google's
documentation (read 2026-08) for the error templates; issue threads for their google.rpc codes. Lines that no source
confirms are marked (unconfirmed).
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

CPU_QUOTA = "aiplatform.googleapis.com/custom_model_training_cpus"
SUCCESS: Document = {"state": "JOB_STATE_SUCCEEDED"}


def failure(code: int, message: str) -> Document:
    """Return the outcome of a job that failed."""
    return {"state": "JOB_STATE_FAILED", "error": errors.status(code, message)}


def cancelled(message: str = "CANCELED") -> Document:
    """Return the outcome of a job that was cancelled."""
    return {"state": "JOB_STATE_CANCELLED", "error": errors.status(errors.CANCELLED, message)}


def exited(replica: str, code: int, reason: str, tail: str) -> Document:
    """A replica that ended with a non-zero status; tail: the end of what it said, e.g. a traceback."""
    text = f"The replica {replica} exited with a non-zero status of {code}. Termination reason: {reason}. "
    return failure(errors.INVALID_ARGUMENT, text + (f"\n{tail}" if tail else ""))


def out_of_memory(replica: str) -> Document:
    """A replica that was killed for its memory: the text that jobs of 2025-26 carry names the pool only."""
    pool = replica.partition("-")[0]
    text = f"Replicas low on memory: {pool}. Specify a machine with larger memory and try again."
    return failure(errors.RESOURCE_EXHAUSTED, text)


def stockout(region: str) -> Document:
    """No machines in the region."""
    text = f"Resources are insufficient in region: {region}. Please try a different region."
    return failure(errors.RESOURCE_EXHAUSTED, text)


def quota(metrics: list[str]) -> str:
    """Return the sentence about quota metrics, for refusals and for jobs."""
    return f"The following quota metrics exceed quota limits: {', '.join(metrics)}"


def internal() -> Document:
    """A fault of the service."""
    return failure(errors.INTERNAL, "Internal error occurred for the current attempt.")


def image_denied(image: str, project_number: str) -> Document:
    """An image that the service cannot pull; the sentence is confirmed for Artifact Registry only."""
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
    """A job over its timeout is cancelled by the service, as observed; its wording is ours (unconfirmed)."""
    return cancelled(f"CANCELED: the job ran longer than its timeout of {timeout}.")
