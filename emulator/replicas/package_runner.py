"""Run a Python package as a pre-built training image does: install it and run its module.

Run as a script inside a replica: `package_runner.py --environment DIR --package FILE... --module NAME -- ARG...`. A new
environment is created for every start. Packages of the emulator's own Python can be imported too, in place of the
libraries of the image. Packages are installed with pip, without its index if everything needed is installed. Without
setuptools, a source archive is unpacked and added to the path instead.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

FAILED = 1


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _environment(folder: Path) -> tuple[Path, Path]:
    """Create an empty environment. Return its interpreter and its site-packages.

    It also has access to the packages of the emulator's interpreter, as a container has those of its image.
    """
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib*/python*/site-packages"))
    code = "import site, json; print(json.dumps(site.getsitepackages()))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    libraries = json.loads(output)
    (site / "image.pth").write_text("".join(f"{path}\n" for path in libraries))
    return folder / "bin" / "python", site


def _has(python: Path, module: str) -> bool:
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def _unpack(package: Path, site: Path) -> None:
    """Add a source archive's code to the path without building it."""
    target = site / f"unpacked-{package.name}"
    with tarfile.open(package) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # available from Python 3.11.4
        archive.extractall(target)  # noqa: S202  # the person's own package, whose code runs next
    roots = [file.parent for name in ("setup.py", "pyproject.toml") for file in target.rglob(name)] or [target]
    paths = [path for root in roots for path in (root, root / "src") if path.is_dir()]
    (site / f"{package.name}.pth").write_text("".join(f"{path}\n" for path in paths))


def _install(package: Path, python: Path, site: Path) -> int:
    """Install one package. Return pip's exit status."""
    can_build = package.suffix == ".whl" or _has(python, "setuptools")
    if not _has(python, "pip") or not can_build:
        _print(f"Running command: unpack {package.name}")
        _unpack(package, site)
        return 0
    options = ["--no-build-isolation", "--no-input", "--disable-pip-version-check", "--quiet"]
    command = [str(python), "-m", "pip", "install", *options, str(package)]
    _print(f"Running command: pip3 install {package.name}")
    return subprocess.run(command, check=False).returncode


def main() -> None:
    """Install the packages, then replace this process by the module. Exit only if that fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--package", type=Path, action="append", default=[])
    parser.add_argument("--module", required=True)
    parser.add_argument("arguments", nargs="*")
    args = parser.parse_args()
    _print("Running run_module.py")
    python, site = _environment(args.environment)
    for package in args.package:
        if not package.is_file():
            sys.stderr.write(f"CommandException: No URLs matched: {package}\n")
            sys.exit(FAILED)
        if status := _install(package, python, site):
            sys.exit(status)
    _print(f"Running command: python3 -m {args.module} {' '.join(args.arguments)}".rstrip())
    os.execv(python, [str(python), "-m", args.module, *args.arguments])  # noqa: S606


if __name__ == "__main__":
    main()
