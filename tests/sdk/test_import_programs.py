"""Tests that an imported program is the request that Google's SDK really sends when the program runs, or open there.

The programs are generated: assignments, containers and their aliases, branches, loops, functions, globals, positions,
the environment, and functions of another module that change what they are given. The SDK is the installed one; only the
call that would reach Google is replaced.
"""

import importlib
import random
import re
import sys
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import google.auth
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform
from google.cloud.aiplatform_v1.services.job_service import JobServiceClient
from google.cloud.aiplatform_v1.services.pipeline_service import PipelineServiceClient
from google.protobuf import json_format
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from jobs import importer
from jobs.spec import Severity
from tests.sdk.program_shapes import BLOCKS, ENDS, HEAD, KNOWN, ODD, SIMPLE, UNKNOWN
from tests.support.examples import FEW, examples

pytestmark = pytest.mark.sdk


class Sent(BaseException):
    """Raised instead of sending a request."""


@pytest.fixture(scope="module")
def sent() -> Iterator[list[Any]]:
    """Replace the calls that would reach Google; return what they were given."""
    patch, given_to = pytest.MonkeyPatch(), []

    def create(self: Any, *, parent: str, timeout: Any = None, **body: Any) -> None:
        given_to.append((parent, next(iter(body.values()))))
        raise Sent

    patch.setattr(google.auth, "default", lambda *_, **__: (AnonymousCredentials(), "demo-proj"))
    for client, name in (
        (JobServiceClient, "create_custom_job"),
        (JobServiceClient, "create_hyperparameter_tuning_job"),
        (PipelineServiceClient, "create_training_pipeline"),
    ):
        patch.setattr(client, name, create)
    yield given_to
    patch.undo()
    aiplatform.initializer.global_config.__init__()  # type: ignore[misc]


def helpers_of(seed: int) -> ModuleType:
    """Return the module of somebody else that the programs import."""
    made, chance = ModuleType("helpers"), random.Random(seed)  # noqa: RUF100, S311
    turns = [chance.choice((0, 1, 2))]

    def twice() -> bool:
        turns[0] -= 1
        return turns[0] >= 0

    def fail(holds: object) -> None:
        if holds:
            raise ValueError

    def change(held: Any) -> None:
        held.update(timeout=77) if "timeout" in held else held.clear() if isinstance(held, dict) else held.append(
            "changed"
        )

    made.__dict__.update(
        SIZE=chance.choice(("small", "huge")),
        coin=lambda: chance.random() < 0.5,
        number=lambda: chance.choice((1, 2, 3)),
        more=lambda: chance.choice(([], ["m"], ["m", "n"])),
        options=lambda: chance.choice(({}, {"timeout": 11})),
        pair=lambda: (["s"], 2),
        mapping=lambda: {"M": "1"},
        copied=lambda held: dict(held, replica_count=3),
        path=lambda: chance.choice(("/", "/nonexistent")),
        twice=twice,
        touch=lambda held: setattr(held, "size", "touched"),
        extra=lambda: chance.choice(({}, {"replica_count": 7})),
        fail=fail,
        change=change,
    )
    return made


@st.composite
def programs(draw: st.DrawFn, *, known: bool = False) -> str:
    """Return a program; if `known`, one whose request its text determines."""
    tests = st.sampled_from(KNOWN if known else (*KNOWN, *UNKNOWN, *UNKNOWN))
    simple = st.sampled_from(SIMPLE if known else (*SIMPLE, *ODD))

    def block(depth: int) -> str:
        parts = []
        for _ in range(draw(st.integers(1, 3))):
            if depth and draw(st.booleans()):
                shape = draw(
                    st.sampled_from(
                        [
                            each
                            for each in BLOCKS
                            if not known or not ("helpers" in each or "try:" in each or "super" in each)
                        ]
                    )
                )
                inner = {name: textwrap.indent(block(depth - 1), "    ") for name in "abc"}
                deeper = {name * 2: textwrap.indent(text, "    ") for name, text in inner.items()}
                parts.append(shape.format(test=draw(tests), **inner, **deeper))
            else:
                parts.append(draw(simple))
        return "\n".join(parts)

    late = draw(st.sampled_from(("", "args.append('late')\n", "pool['replica_count'] = 9\n", "kw['timeout'] = 55\n")))
    return f"{HEAD}{block(2)}\n{block(2)}\n{draw(st.sampled_from(ENDS)).format(late=late)}\n"


def request_of(program: str, seed: int, sent: list[Any]) -> tuple[str, Any] | None:
    """Return what the SDK sends when the program runs; None if it fails before."""
    sent.clear()
    importlib.import_module("os").environ.pop("SET_X", None)
    sys.modules["helpers"] = helpers_of(seed)
    try:
        exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})  # noqa: RUF100, S102
    except Sent:
        return sent[0]
    except Exception:  # noqa: BLE001
        return None
    finally:
        del sys.modules["helpers"]
    return None


def differences(ours: Any, real: Any, reading: importer.Reading, path: str = "") -> list[str]:
    """Return where a request differs from the real one and is not open."""
    if any(finding.code == "placeholder" and not finding.field for finding in reading.findings) and ours is None:
        return []  # unknown **names may give it
    is_open = any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in reading.placeholders)
    if is_open or re.sub(r"\.(\w+)$", r"[\1]", path) in reading.placeholders:
        return []
    if isinstance(ours, dict) and isinstance(real, dict):
        names = {*ours, *real}
        found = [differences(ours.get(n), real.get(n), reading, f"{path}.{n}" if path else n) for n in sorted(names)]
        return [each for part in found for each in part]
    if isinstance(ours, list) and isinstance([] if real is None else real, list):
        if any(each.startswith(f"{path}[") and each.count("[") == path.count("[") + 1 for each in reading.placeholders):
            return []  # an open item may stand for any number of them
        if len(ours) == len(real or []):
            pairs = enumerate(zip(ours, real, strict=True))
            return [each for n, (one, other) in pairs for each in differences(one, other, reading, f"{path}[{n}]")]
    if ours is None and any(each.startswith((f"{path}.", f"{path}[")) for each in reading.placeholders):
        return []
    return [] if ours == real else [f"{path}: {ours!r} is sent as {real!r}"]


def plain(message: Any) -> dict[str, Any]:
    made: dict[str, Any] = json_format.MessageToDict(message)
    return made


def compared(program: str, seed: int, sent: list[Any]) -> tuple[importer.Reading, list[str]]:
    """Read and run a program; return the reading, and where it silently differs from the request."""
    request = request_of(program, seed, sent)
    assume(request is not None)
    assert request is not None
    parent, real = request
    reading = importer.read_text(program)
    if reading.submission is None or any(each.severity is Severity.ERROR for each in reading.findings):
        return reading, []
    message = type(real).pb(real)
    ours = plain(json_format.ParseDict(reading.body, type(message)()))
    found = differences(normal(ours), normal(plain(message)), reading)
    where = f"projects/{reading.submission.project}/locations/{reading.submission.region}"
    return reading, found + ([] if where == parent or "${" in where else [f"{where} is sent as {parent}"])


def normal(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request with the inputs of a pipeline parsed, which the SDK writes in its own case."""
    inputs = body.get("trainingTaskInputs")
    if inputs:
        spec = aiplatform.gapic.CustomJobSpec.pb()
        body["trainingTaskInputs"] = plain(json_format.ParseDict(_whole(inputs), spec()))
    return body


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


quick = settings(
    max_examples=max(2 * FEW, examples(5)),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@quick
@given(program=programs(), seed=st.integers(0, 9))
def test_a_program_is_what_the_sdk_sends_or_open(program: str, seed: int, sent: list[Any]) -> None:
    reading, found = compared(program, seed, sent)

    assert found == [], f"{program}\n{[str(each) for each in reading.findings]}"


@quick
@given(program=programs(known=True))
def test_a_program_that_its_text_determines_is_known(program: str, sent: list[Any]) -> None:
    reading, found = compared(program, 0, sent)

    errors = [each for each in reading.findings if each.severity is Severity.ERROR]
    assert (found, errors) == ([], []), program
    assert not reading.placeholders, program
