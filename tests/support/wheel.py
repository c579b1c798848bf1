"""The wheel of the site, and new environments to install it in. Neither needs the network."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from tests.support.environments import ROOT

SECONDS = 240
LOCKED = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements/run.txt").read_text(), re.MULTILINE)
"""(name, version) of each package that a site needs."""


def pip(*arguments: str | Path) -> None:
    """Run pip. Fail with its output."""
    command = [sys.executable, "-m", "pip", *map(str, arguments), "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def build(folder: Path) -> Path:
    """Build the wheel in `folder` as the image does, with the locked build backend. Return its file."""
    pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (found,) = folder.glob("*.whl")
    return found


def install(wheel: Path, environment: Path) -> Path:
    """Install the wheel in a new environment that has the locked requirements only. Return its folder of programs.

    The requirements are copied from the environment of the tests, because a registry may take minutes to answer.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    for name, version in LOCKED:
        installed = distribution(name)
        assert installed.version == version, f"{name} is {installed.version}; requirements/run.txt has {version}"
        for file in installed.files or ():
            if ".." not in file.parts:  # programs and manuals, which no site uses
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(file.locate()), target)
    pip("--python", environment / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    return environment / "bin"
