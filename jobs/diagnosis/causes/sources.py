"""Sources of the descriptions of causes, and sentences about retries that several causes share."""

from jobs.texts import translatable as _

GOOGLE = "Google Cloud documentation: "
SERVICE_PAGE = GOOGLE + "Understand the custom training service, 2026-08-22"
SPOT_PAGE = GOOGLE + "Use Spot VMs with training, 2026-08-22"
FLEX_PAGE = GOOGLE + "Schedule training jobs based on resource availability, 2026-08-22"
POOL_PAGE = GOOGLE + "Run training jobs on a persistent resource, 2026-08-22"
TROUBLE_PAGE = GOOGLE + "Troubleshooting (training), 2026-08-22"
COMPUTE_PAGE = GOOGLE + "Configure compute resources for training, 2026-08-22"
ACCESS_PAGE = GOOGLE + "Access control with IAM, 2026-08-22"
CODES = "google.rpc.Code, googleapis-common-protos 1.76.0"
SAMPLES = "GoogleCloudPlatform/vertex-ai-samples, issue "
OBSERVED = "Jobs seen in public repositories, 2025-2026"

REFUSED = _("Vertex AI refused the job before it started, so there was nothing to retry.")
NOT_RETRIED = _("Vertex AI does not retry this.")
EXIT_NOT_RETRIED = _("Vertex AI does not retry a program that ended with such an error.")
