"""The example for new teams: a small training job on the Palmer penguins."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

IMAGE = "us-docker.pkg.dev/trainboard/samples/penguins:latest"


def example(*, bucket: str) -> dict[str, Any]:
    """Return the form's initial values. `bucket` is the team's; with "" there is no output folder."""
    short = uuid4().hex[:4]
    return {
        "name": f"penguins-{short}",
        "region": "us-central1",
        "strategy": "spot",
        "run_time": timedelta(hours=2),
        "timeout": timedelta(hours=4),
        "output": f"{bucket.rstrip('/')}/penguins-{short}" if bucket else "",
        "pools": [
            {
                "machine_type": "a2-highgpu-1g",
                "replicas": 1,
                "runs": "container",
                "image": IMAGE,
                "command": ["python", "train.py"],
                "args": ["--epochs", "40", "--seconds-per-epoch", "1"],
            }
        ],
    }
