"""What is known about each cause of failure: data. `reading` fills in what a message says about this one job.

Sources were read 2026-11-21; Google's pages as of their snapshot of 2026-08-22.
"""

from jobs.diagnosis.answer import Diagnosis

SERVICE_PAGE = "Google Cloud documentation: Understand the custom training service, 2026-08-22"
SPOT_PAGE = "Google Cloud documentation: Use Spot VMs with training, 2026-08-22"
TROUBLE_PAGE = "Google Cloud documentation: Troubleshooting (training), 2026-08-22"
CODES = "google.rpc.Code, googleapis-common-protos 1.76.0"
SAMPLES = "GoogleCloudPlatform/vertex-ai-samples, issue "
OBSERVED = "Jobs seen in public repositories, 2025-2026"


def _table(*known: Diagnosis) -> dict[str, Diagnosis]:
    return {each.cause: each for each in known}


CAUSES = _table(
    Diagnosis(
        "quota",
        "Training quota is too small",
        "The job needs more than the project's training quota allows in this region.",
        "",
        "Ask for more quota in the Google Cloud console under IAM & Admin, Quotas; or take a smaller machine, another"
        " region, or wait until other jobs have ended.",
        SAMPLES + "700 and 3479",
        ({"action": "request_quota"}, {"action": "other_region"}),
    ),
    Diagnosis(
        "stockout",
        "No machines free in the region",
        "Google had no free machines of this kind. Quota is not the reason. Of a Spot job it can also mean that its"
        " machine was taken back more often than Vertex AI restarts it.",
        "Vertex AI had already tried it up to three times, or six times if it is a Spot job.",
        "Run it in another region, let Flex-start wait for machines, or choose another GPU.",
        f"{SERVICE_PAGE}; {SPOT_PAGE}",
        ({"action": "other_region"}, {"action": "flex_start"}, {"action": "other_accelerator"}),
    ),
    Diagnosis(
        "out_of_memory",
        "Out of memory",
        "It used more memory than its machine has.",
        "",
        "Choose a machine with more memory. On small machines Vertex AI's own programs take up to 40 % of it.",
        f"{SERVICE_PAGE}; {OBSERVED}",
        ({"action": "next_machine_size"},),
    ),
    Diagnosis(
        "internal",
        "Internal error at Vertex AI",
        "Something failed inside Vertex AI. The job itself is most likely fine.",
        "Vertex AI had already tried it three times.",
        "Run it again. If that fails twice more, contact Google's support with the number of the job.",
        SERVICE_PAGE,
        ({"action": "resubmit"},),
    ),
    Diagnosis(
        "image_pull",
        "The image cannot be pulled",
        "The service account by which Vertex AI pulls images may not read the repository, or the image does not exist."
        " A service account that the job runs as plays no part in this.",
        "",
        "Check the image's address, and give that service account the role Artifact Registry Reader on the repository.",
        OBSERVED,
        ({"action": "edit_field", "fields": ["containerSpec.imageUri"]},),
    ),
    Diagnosis(
        "image_start",
        "The container could not be started",
        "The image was pulled, but its command could not be run: it is missing in the image, not executable, or made"
        " for another processor.",
        "",
        "Check the command, and that the image is built for linux/amd64.",
        SAMPLES + "1898",
        ({"action": "edit_field", "fields": ["containerSpec.command", "containerSpec.args"]},),
    ),
    Diagnosis(
        "act_as",
        "The job may not run as this service account",
        "The account that submits jobs lacks the right to act as the service account that the job names, or there is no"
        " such service account.",
        "",
        "Grant the submitting account the role Service Account User on it, or name another service account.",
        OBSERVED,
        ({"action": "edit_field", "fields": ["serviceAccount"]},),
    ),
    Diagnosis(
        "permission",
        "A right is missing",
        "An account that takes part in this job lacks a right.",
        "",
        "Grant the right that the message names; Vertex AI User covers all that jobs themselves need.",
        "Google Cloud documentation: Access control with IAM, 2026-08-22",
    ),
    Diagnosis(
        "bucket_region",
        "The bucket is in another region",
        "Vertex AI wants the Cloud Storage bucket in the region that the job runs in.",
        "",
        "Use a bucket in the job's region, or run the job in the bucket's region.",
        "googleapis/python-aiplatform, issue 885",
        ({"action": "edit_field", "fields": ["baseOutputDirectory.outputUriPrefix"]}, {"action": "other_region"}),
    ),
    Diagnosis(
        "machine_not_supported",
        "The machine is not offered for training",
        "Vertex AI does not train on this machine type, or not with this accelerator.",
        "",
        "Choose another machine type; the compose page offers only such as can be used.",
        f"{TROUBLE_PAGE}; {SAMPLES}213",
        ({"action": "other_machine"},),
    ),
    Diagnosis(
        "validation",
        "Vertex AI found errors in the job",
        "It refused the job before anything was started.",
        "",
        "Correct the fields that the message names.",
        "PrefectHQ/prefect-gcp, issue 175",
    ),
    Diagnosis(
        "timeout",
        "It ran out of time",
        "The job was still running when its timeout ended, so Vertex AI stopped it.",
        "",
        "Give it a longer timeout, and save checkpoints so that the next run goes on from there.",
        CODES,
        ({"action": "longer_timeout"},),
    ),
    Diagnosis(
        "cancelled",
        "Cancelled",
        "Somebody cancelled the job.",
        "",
        "Nothing is wrong with it; run it again when you like.",
        "google-cloud-aiplatform 2.7.0, JobService.CancelCustomJob",
        ({"action": "resubmit"},),
    ),
    Diagnosis(
        "user_code",
        "The program failed",
        "The training program ended with an error.",
        "",
        "Read the end of its log, correct the program or its arguments, and run it again.",
        f"{SERVICE_PAGE}; {SAMPLES}1504",
    ),
    Diagnosis(
        "terminated",
        "The program was told to stop",
        "It ended on SIGTERM, which it gets when its machine is wanted back or the job is being stopped.",
        "",
        "Run it again; with checkpoints it goes on from the last one.",
        SERVICE_PAGE,
        ({"action": "resubmit"},),
    ),
    Diagnosis(
        "gpu_memory",
        "The GPU ran out of memory",
        "The program needed more memory than its GPU has; the machine's own memory is not the reason.",
        "",
        "Use smaller batches or gradient accumulation, or choose a GPU with more memory.",
        "PyTorch documentation: CUDA memory management",
        ({"action": "bigger_gpu"},),
    ),
    Diagnosis(
        "disk_full",
        "The disk is full",
        "The program ran out of disk space on its machine.",
        "",
        "Choose a larger boot disk, or write to Cloud Storage under /gcs/ instead.",
        "Python documentation: errno.ENOSPC",
        ({"action": "more_disk"},),
    ),
    Diagnosis(
        "missing_module",
        "A Python module is missing",
        "The program imports a module that its image does not hold.",
        "",
        "Install the module in the image, or name it among the requirements of the Python package.",
        "Python documentation: ModuleNotFoundError",
        ({"action": "edit_field", "fields": ["containerSpec.imageUri"]},),
    ),
    Diagnosis(
        "resources",
        "Quota, capacity or memory ran short",
        "Vertex AI says only that resources were exhausted, which it says of all three.",
        "",
        "Look at the job's log and at the project's quotas, then try another region or a larger machine.",
        CODES,
        ({"action": "other_region"}, {"action": "next_machine_size"}),
    ),
    Diagnosis(
        "unavailable",
        "Vertex AI was not available",
        "A part of Vertex AI did not answer.",
        "",
        "Run it again after a few minutes.",
        CODES,
        ({"action": "resubmit"},),
    ),
    Diagnosis(
        "unknown",
        "A reason that Trainboard does not know",
        "",
        "",
        "Read the end of the job's log; Google's support can tell more from the number of the job.",
        CODES,
    ),
)
