"""The environment of the programs that tests start."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(state: Path, port: int, **more: str) -> dict[str, str]:
    """Return what a person's shell would hold: ours without what tests and make put there."""
    ours = ("TRAINBOARD_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "PYTEST_", "MAKE", "MFLAGS")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "TRAINBOARD_STATE": str(state), "PORT": str(port), **more}
