"""The pages that the rules come from, each with the day it was read.

Paths are those of Google's Agent Platform documentation below `machine-learning/training/` unless a whole one is
given.
"""

from jobs.strategies.base import Source

_DAY = "2026-08-22"
_TODAY = "2026-11-21"

API = Source("google-cloud-aiplatform 2.7.0, the fields' descriptions", _TODAY)
COMPUTE = Source("Agent Platform documentation, configure-compute", _DAY)
CONTAINERS = Source("Agent Platform documentation, configure-container-settings", _DAY)
CODE = Source("Agent Platform documentation, code-requirements", _DAY)
DISTRIBUTED = Source("Agent Platform documentation, distributed-training", _DAY)
FLEX = Source("Agent Platform documentation, schedule-jobs-dws (Flex-start)", _TODAY)
GCLOUD = Source("gcloud ai custom-jobs create, its own checks", _TODAY)
K80 = Source("cloud.google.com/compute/docs/eol/k80-eol; Agent Platform documentation, configure-compute", _DAY)
LABELS = Source("cloud.google.com/resource-manager/docs/labels-overview (convention of all Google Cloud)", _TODAY)
LOCATIONS = Source("Agent Platform documentation, general/locations", _DAY)
NFS = Source("Agent Platform documentation, train-nfs-share", _DAY)
PERSISTENT = Source("Agent Platform documentation, persistent-resource-train", _TODAY)
PERSISTENT_CREATE = Source("Agent Platform documentation, persistent-resource-create", _DAY)
PIPELINE = Source("Agent Platform documentation, create-training-pipeline", _DAY)
RESERVATIONS = Source("Agent Platform documentation, use-reservations", _DAY)
RUNS = Source("Agent Platform documentation, understanding-training-service", _TODAY)
SECRETS = Source("cloud.google.com/secret-manager/docs/overview and .../docs/best-practices", _TODAY)
SPOT = Source("Agent Platform documentation, use-spot-vms", _TODAY)
TENSORBOARD = Source("Agent Platform documentation, experiments/tensorboard-training", _DAY)
TRAINBOARD = Source("Trainboard, labels on Vertex AI", _TODAY)
TRAINBOARD_SECRETS = Source("Trainboard, hidden secrets", _TODAY)
TUNING = Source("Agent Platform documentation, using-hyperparameter-tuning", _DAY)
