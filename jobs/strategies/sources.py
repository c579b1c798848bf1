"""The pages that the rules come from, each with the day it was read.

Paths are relative to `machine-learning/training/` in Google's Agent Platform documentation unless a full one is given.
"""

from jobs.strategies.base import Source

_DAY = "2026-08-22"
_TODAY = "2026-11-21"

ACCESS = Source("Agent Platform documentation, general/access-control", _DAY)
API = Source("google-cloud-aiplatform 2.7.0, the fields' descriptions", _TODAY)
CMEK = Source("Agent Platform documentation, general/cmek", _DAY)
COMPUTE = Source("Agent Platform documentation, configure-compute", _DAY)
CODE = Source("Agent Platform documentation, code-requirements", _DAY)
CUDA = Source("NVIDIA CUDA Toolkit release notes 8.0 to 13.0; Blackwell Compatibility Guide", "2026-11-22")
DISTRIBUTED = Source("Agent Platform documentation, distributed-training", _DAY)
FLEX = Source("Agent Platform documentation, schedule-jobs-dws (Flex-start)", _TODAY)
GCLOUD = Source("gcloud ai custom-jobs create, its own checks", _TODAY)
K80 = Source("cloud.google.com/compute/docs/eol/k80-eol; Agent Platform documentation, configure-compute", _DAY)
LABELS = Source("cloud.google.com/resource-manager/docs/labels-overview (convention of all Google Cloud)", _TODAY)
LOCATIONS = Source("Agent Platform documentation, general/locations", _DAY)
LOGS = Source("Cloud Logging documentation, access-control", _TODAY)
NFS = Source("Agent Platform documentation, train-nfs-share", _DAY)
PERSISTENT = Source("Agent Platform documentation, persistent-resource-train", _TODAY)
PERSISTENT_CREATE = Source("Agent Platform documentation, persistent-resource-create", _DAY)
PIPELINE = Source("Agent Platform documentation, create-training-pipeline", _DAY)
PIPELINE_COMPONENTS = Source("google-cloud-pipeline-components, which leave maxWaitDuration out otherwise", _TODAY)
PREBUILT = Source("Agent Platform documentation, pre-built-containers", _DAY)
PRIVATE_INTERFACE = Source("Agent Platform documentation, general/vpc-psc-i-setup", _DAY)
RESERVATIONS = Source("Agent Platform documentation, use-reservations", _DAY)
RUNS = Source("Agent Platform documentation, understanding-training-service", _TODAY)
SECRETS = Source("cloud.google.com/secret-manager/docs/overview and .../docs/best-practices", _TODAY)
SERVICE_ACCOUNTS = Source("Agent Platform documentation, general/custom-service-account", _DAY)
SHELL = Source("Agent Platform documentation, monitor-debug-interactive-shell", _DAY)
SPOT = Source("Agent Platform documentation, use-spot-vms", _TODAY)
STORAGE = Source("Agent Platform documentation, cloud-storage-file-system", _DAY)
TENSORBOARD = Source("Agent Platform documentation, experiments/tensorboard-training", _DAY)
TENSORBOARD_SETUP = Source("Agent Platform documentation, experiments/tensorboard-setup", _DAY)
TRAINBOARD = Source("Trainboard, labels on Vertex AI", _TODAY)
TRAINBOARD_SECRETS = Source("Trainboard, hidden secrets", _TODAY)
TUNING = Source("Agent Platform documentation, using-hyperparameter-tuning", _DAY)
VPC_PEERING = Source("Agent Platform documentation, general/vpc-peering", _DAY)
