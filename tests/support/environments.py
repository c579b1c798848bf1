"""The environment of programs started by tests."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(state: Path, port: int, **more: str) -> dict[str, str]:
    """Return the environment of a user's shell: that of the tests without variables set by pytest or make.

    Compiled modules may be kept, as `make` does: else each process of a site compiles a thousand modules at its start.
    """
    ours = ("TRAINBOARD_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "PYTEST_", "MAKE", "MFLAGS", "PYTHONDONTWRITE")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "TRAINBOARD_STATE": str(state), "PORT": str(port), **more}
