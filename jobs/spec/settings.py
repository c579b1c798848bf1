"""The settings of a job by which its runs are compared: arguments, environment variables, labels and image. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from jobs.spec.body import custom_job_spec
from jobs.spec.compare import OWN_LABELS

Value = str | int | float | bool
"""A setting as JSON. Numbers are numbers, so that a database sorts them; an option without a value is true."""
MAX_SETTINGS = 60
MAX_NAME_LENGTH, MAX_TEXT_LENGTH = 64, 120
IMAGE = "image"
_OPTION = re.compile(r"(--?[A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_ASSIGNED = re.compile(r"\+{0,2}([A-Za-z_][\w./-]*)=(.*)", re.DOTALL)
"""An argument as Hydra reads it: `lr=0.1`, `+model.depth=3`."""
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][+-]?\d{1,2})?")


def settings_of(body: Any) -> dict[str, Value]:
    """Return {name: value} of the settings in a REST body, those of its first worker pool, at most MAX_SETTINGS.

    Arguments have the name of their option, variables and labels begin with `env.` and `labels.`. Secrets are not
    hidden: pass the body without them.
    """
    found: dict[str, Value] = {}
    for name, value in _every(body):
        if len(found) == MAX_SETTINGS:
            break
        found.setdefault(name[:MAX_NAME_LENGTH], value)
    return found


def _every(body: Any) -> Iterator[tuple[str, Value]]:
    pools = custom_job_spec(body).get("workerPoolSpecs")
    pool = pools[0] if isinstance(pools, list) and pools and isinstance(pools[0], dict) else {}
    program = pool.get("containerSpec") or pool.get("pythonPackageSpec")
    program = program if isinstance(program, dict) else {}
    words = [*_texts(program.get("command")), *_texts(program.get("args"))]
    yield from _options(words)
    image = program.get("imageUri") or program.get("executorImageUri")
    if isinstance(image, str):
        yield IMAGE, image[-MAX_TEXT_LENGTH:]  # the end has the tag
    variables = program.get("env")
    for each in variables if isinstance(variables, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            yield f"env.{each['name']}", _value(str(each.get("value", "")))
    labels = body.get("labels") if isinstance(body, dict) else None
    for name, value in labels.items() if isinstance(labels, dict) else ():
        if f"labels[{name}]" not in OWN_LABELS:
            yield f"labels.{name}", _value(str(value))


def _options(words: Sequence[str]) -> Iterator[tuple[str, Value]]:
    """Yield what arguments set: `--lr=0.1`, `--lr 0.1`, `--fast` and `lr=0.1`. Other words set nothing."""
    option = ""
    for word in words:
        found = _OPTION.fullmatch(word)
        if found is None and option:
            yield option, _value(word)
            option = ""
        elif found is None:
            if (assigned := _ASSIGNED.fullmatch(word)) is not None:
                yield assigned[1], _value(assigned[2])
        else:
            if option:
                yield option, True
            option = found[1] if found[2] is None else ""
            if found[2] is not None:
                yield found[1], _value(found[2])
    if option:
        yield option, True


def _value(text: str) -> Value:
    if _NUMBER.fullmatch(text) is None:
        return text[:MAX_TEXT_LENGTH]
    return float(text) if any(sign in text for sign in ".eE") else int(text)


def _texts(words: Any) -> list[str]:
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
