"""Rules that compare the CUDA version in an image's name with the GPU.

The driver version of the machines is not documented, so no rule reports a CUDA version that may be too new for it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobs.catalog import ACCELERATORS, Accelerator
from jobs.spec import Severity, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.containers import PREBUILT
from jobs.strategies.rules.machines import known_machines
from jobs.strategies.sources import CUDA
from jobs.strategies.sources import PREBUILT as PREBUILT_PAGE
from jobs.texts import translatable as _

NVIDIA_TAG = re.compile(r"(?:^|/)nvidia/cuda:(\d{1,2})\.(\d{1,2})")
NAMED_CUDA = re.compile(r"(?<![a-z])cuda[-_.]?(\d{1,2})[._-](\d{1,2})(?!\d)|(?<![a-z0-9])cu(\d{2})(\d)(?!\d)")
"""`cuda12.1`, `cuda-11-8`, `cu128`, as written by PyTorch, Deep Learning Containers and NVIDIA."""
OFFICIAL = re.compile(r"(?:docker\.io/)?(?:library/)?(?:python|ubuntu|debian|alpine|busybox)(?:[:@]|$)")
"""Docker Hub's official images of languages and systems, which contain no CUDA libraries."""
DLC_CPU = re.compile(r"(?:^|/)deeplearning-platform-release/(?:gcr\.io/)?[a-z0-9-]*-cpu(?![a-z])")
GPU_NAME = re.compile(r"/training/([a-z-]+)-gpu\.(\d+)-(\d+)")
CPU_NAME = re.compile(r"/training/(?:[a-z-]+-cpu|pytorch-xla)\.")
FIRST_WITH_12 = {"tf": (2, 15), "pytorch": (2, 1), "sklearn": (1, 6), "xgboost": (2, 1)}
"""The first framework versions whose prebuilt images have CUDA 12; older versions, and Ray's images, have CUDA 11."""


class Cuda(NamedTuple):
    """A CUDA version; the minor is None if only the major version of an image is documented."""

    major: int
    minor: int | None

    def __str__(self) -> str:
        return f"{self.major}.x" if self.minor is None else f"{self.major}.{self.minor}"


def cuda_of(image: str) -> Cuda | None:
    """Return the CUDA version in an image's name; None if it names none."""
    if PREBUILT.match(image):
        named = GPU_NAME.search(image)
        if named is None:
            return None
        first = FIRST_WITH_12.get(named[1])
        return Cuda(12 if first is not None and (int(named[2]), int(named[3])) >= first else 11, None)
    found = NVIDIA_TAG.search(image) or NAMED_CUDA.search(image)
    if found is None:
        return None
    major, minor = [part for part in found.groups() if part is not None]
    return Cuda(int(major), int(minor))


def lacks_cuda(image: str) -> bool:
    """Return whether an image is known to contain no CUDA libraries."""
    if PREBUILT.match(image):
        return CPU_NAME.search(image) is not None
    return bool(OFFICIAL.match(image) or DLC_CPU.search(image))


def _on_gpus(submission: Submission) -> Iterator[tuple[str, str, Accelerator]]:
    """Yield path, image and GPU of the pools that run an image on GPUs; for packages, prebuilt executors only."""
    for index, spec, found in known_machines(submission):
        gpu = ACCELERATORS.get(found.fixed_accelerator or spec.accelerator)
        if gpu is None or gpu.kind != "gpu":
            continue
        pool = submission.job_spec.worker_pool_specs[index]
        if pool.container_spec is not None:
            yield submission.pool_path(index, "containerSpec.imageUri"), pool.container_spec.image_uri[:1000], gpu
        elif pool.python_package_spec is not None:
            image = pool.python_package_spec.executor_image_uri[:1000]
            if PREBUILT.match(image):
                yield submission.pool_path(index, "pythonPackageSpec.executorImageUri"), image, gpu


@rule(Severity.NOTE, PREBUILT_PAGE)
def gpus_have_an_image_with_cuda(submission: Submission) -> Iterator[Problem]:
    """A pool with GPUs runs an image that holds CUDA, such as a prebuilt one whose name has -gpu."""
    for path, image, gpu in _on_gpus(submission):
        if lacks_cuda(image):
            yield Problem(
                path,
                _(
                    "%(image)s has no CUDA libraries of its own, so the program may not see the %(gpu)s, which "
                    "is billed all the same.",
                    image=quoted(image),
                    gpu=gpu.label,
                ),
                _("Use an image with CUDA (prebuilt: -gpu; base: nvidia/cuda), or a machine without GPUs."),
            )


@rule(Severity.NOTE, CUDA)
def cuda_knows_the_gpu(submission: Submission) -> Iterator[Problem]:
    """The CUDA version of an image knows the GPU. Which driver the machines have is not documented."""
    for path, image, gpu in _on_gpus(submission):
        cuda = cuda_of(image)
        if cuda is None or gpu.min_cuda is None:
            continue
        newest = (cuda.major, 99 if cuda.minor is None else cuda.minor)
        if newest < gpu.min_cuda:
            needed = ".".join(map(str, gpu.min_cuda))
            yield Problem(
                path,
                _(
                    "The image has CUDA %(cuda)s; the first that knows the %(gpu)s is %(needed)s.",
                    cuda=cuda,
                    gpu=gpu.label,
                    needed=needed,
                ),
                _("Use an image with CUDA %(needed)s or later.", needed=needed),
            )
        elif gpu.end_cuda is not None and (cuda.major, cuda.minor or 0) >= gpu.end_cuda:
            yield Problem(
                path,
                _(
                    "The image has CUDA %(cuda)s, whose compiler and libraries no longer support the %(gpu)s.",
                    cuda=cuda,
                    gpu=gpu.label,
                ),
                _("Use an image with a CUDA version before %(end)s.", end=".".join(map(str, gpu.end_cuda))),
            )


RULES = (gpus_have_an_image_with_cuda, cuda_knows_the_gpu)
