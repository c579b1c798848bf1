"""What makes jobs alike for an estimate: program, machine, and magnitude of the expected run time. Pure.

A program is the image without tag or digest, what it runs, and the names of its options. Their values, and the numbers
in a text given to a shell, vary between runs of the same program.
"""

import math
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256

from jobs.spec import ContainerSpec, PythonPackageSpec, Submission

DIGEST_LENGTH = 16
MAX_MACHINE_LENGTH = 160
MAX_MAGNITUDE = 40
_TAG, _NUMBER = re.compile(r"@.*$|:[^/:]*$"), re.compile(r"\d+(?:\.\d+)?")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_TEXT_OPTIONS = frozenset({"-c", "-lc", "-ec", "-xc"})
"""Options of shells and of Python whose value is a program text."""
_MODULE_OPTION = "-m"
_SCRIPTS = (".py", ".sh")


def machine_of(submission: Submission) -> str:
    """Return the machine by which jobs are alike: that of the first worker pool, with its attached accelerators."""
    for _, pool in submission.pools:
        machine = pool.machine_spec
        attached = machine.machine_type.startswith("n1-") and machine.accelerator
        gpus = f" with {machine.accelerator_count} × {machine.accelerator}" if attached else ""
        return f"{machine.machine_type}{gpus}"[:MAX_MACHINE_LENGTH]
    return ""


def program_of(submission: Submission) -> str:
    """Return a digest that is equal for jobs that run the same program in their first worker pool."""
    for _, pool in submission.pools:
        spec = pool.container_spec or pool.python_package_spec
        parts = _parts(spec) if spec is not None else ()
        return sha256("\n".join(parts).encode()).hexdigest()[:DIGEST_LENGTH]
    return sha256(b"").hexdigest()[:DIGEST_LENGTH]


def _parts(spec: ContainerSpec | PythonPackageSpec) -> Iterator[str]:
    if isinstance(spec, PythonPackageSpec):
        yield from (_TAG.sub("", spec.executor_image_uri), spec.python_module)
        yield from _shape(spec.args)
    else:
        yield _TAG.sub("", spec.image_uri)
        yield from _shape((*spec.command, *spec.args))


def _shape(words: Sequence[str]) -> Iterator[str]:
    """Yield the scripts, modules and texts that run in order, then the names of options, sorted and each once."""
    options = set()
    before = ""
    for place, word in enumerate(words):
        if before in _TEXT_OPTIONS:
            yield _NUMBER.sub("#", word)
        elif place == 0 or before == _MODULE_OPTION or word.endswith(_SCRIPTS):
            yield word
        elif option := _OPTION.match(word):
            options.add(option.group())
        before = word
    yield from sorted(options)


def magnitude_of(expected_seconds: float) -> int:
    """Return the magnitude of an expected run time: 0 for about a minute, and 1 more for each doubling.

    Raise ValueError unless the time is above zero.
    """
    if not expected_seconds > 0:
        raise ValueError("a run time must be above zero")
    return round(max(-MAX_MAGNITUDE, min(math.log2(expected_seconds / 60), MAX_MAGNITUDE)))
