"""Turn a worker pool into a command line: images, entry points, Python."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from emulator.lifecycle import messages
from emulator.protocol.documents import Document
from emulator.replicas import cluster
from emulator.replicas.images import Image, Images
from emulator.state import private
from emulator.state.folders import Folders
from emulator.state.records import Job

PREBUILT = re.compile(r"(us|europe|asia)-docker\.pkg\.dev/vertex-ai/training/[\w.-]+(:[\w.-]+)?")
"""Pre-built training images, in which Python packages may run."""
RUNNER = Path(__file__).with_name("package_runner.py")
START_FAILURE = "failed to create containerd task: "


class CannotStart(Exception):
    """The container cannot be created. The text is part of the termination log."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A process to start."""

    arguments: list[str]
    environment: dict[str, str]
    folder: Path


def image_error(job: Job, images: Images) -> Document | None:
    """Return the outcome of a job with an image that cannot be pulled, or None.

    This is an image that is unknown here and has no command.
    """
    for _, pool in job.worker_pools:
        container, package = pool.get("containerSpec", {}), pool.get("pythonPackageSpec", {})
        image = container.get("imageUri", "")
        if container and not container.get("command") and images.find(image) is None:
            return messages.image_denied(image, job.project)
        if package and not PREBUILT.fullmatch(package["executorImageUri"]):
            return messages.image_denied(package["executorImageUri"], job.project)
    return None


def make_programs_folder(state: Path) -> Path:
    """Create and return a folder in which `python` and `python3` are the interpreter that runs the emulator."""
    folder = state / "programs"
    folder.mkdir(parents=True, exist_ok=True)
    content = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    for script in (folder / "python", folder / "python3"):
        if not script.exists() or script.read_text() != content:
            script.write_text(content)
            script.chmod(0o700)
    return folder


def prepare(job: Job, replica: str, folders: Folders, images: Images, *, storage: str = "") -> Launch:
    """Create a replica's folders and return the process to run. Raise CannotStart if the command does not exist."""
    scratch = folders.scratch(job, replica)
    (scratch / "tmp").mkdir(parents=True, exist_ok=True)
    pool: Document = job.spec["workerPoolSpecs"][cluster.parse_replica(replica)[0]]
    task: Document = pool.get("containerSpec") or pool["pythonPackageSpec"]
    inherited = cluster.inherited_variables(make_programs_folder(folders.state), scratch, storage=storage)
    environment = cluster.build_environment(job, replica, task, folders, inherited)
    for path in cluster.output_folders(job, folders).values():
        Path(path).mkdir(parents=True, exist_ok=True)
    if job.trial:
        cluster.metric_file(job, folders).parent.mkdir(parents=True, exist_ok=True)
    if "pythonPackageSpec" in pool:
        # The runner installs the package into a temporary environment and then executes its module.
        options = ["--environment", str(scratch / "environment"), "--module", task["pythonModule"]]
        for uri in task["packageUris"]:
            options += ["--package", folders.local(uri)]
        arguments = [folders.local(part) for part in task.get("args", [])]
        command = [sys.executable, "-I", str(RUNNER), *options, "--", *arguments]
        return Launch(command, environment, scratch)
    image = images.find(task["imageUri"])
    command = task.get("command") or (image.command if image is not None else [])
    arguments = [folders.local(part) for part in [*command, *task.get("args", [])]]
    folder = _work_folder(scratch, image)
    return Launch([_program(arguments[0], environment["PATH"], folder), *arguments[1:]], environment, folder)


def _work_folder(scratch: Path, image: Image | None) -> Path:
    """Return the working directory. A sample's files are copied anew for each start, as in a container."""
    if image is None or image.folder is None:
        return scratch
    folder = scratch / "app"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(image.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    private.remove_access_below(folder.parent)  # copies have the modes of the checkout
    return folder


def _program(name: str, path: str, folder: Path) -> str:
    if name in ("python", "python3"):
        return sys.executable
    program = shutil.which(str(folder / name) if os.sep in name else name, path=path)
    if program is None:
        why = f'exec: "{name}": executable file not found in $PATH' if os.sep not in name else f"{name}: no such file"
        raise CannotStart(f"{START_FAILURE}failed to create shim task: OCI runtime create failed: {why}: unknown")
    return program
