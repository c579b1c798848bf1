"""Tests of small texts with what must come out of each: a value is known, or it is open and reported.

`tests/support/imported` has the texts, each with its expectation: the outcome, values of the job, what must be
reported and what must not be, and whether the job could be submitted as it is.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jobs import importer, strategies
from jobs.spec import Severity

IMPORTED = Path(__file__).parents[2] / "support" / "imported"
CASES = {path.name.removesuffix(".expect.json"): path for path in sorted(IMPORTED.glob("*.expect.json"))}


def judged(reading: importer.Reading) -> tuple[list[str], bool]:
    """Return the findings as texts, and whether its text leaves nothing open."""
    own = reading.with_rules((), confirmed=())
    ready = reading.submission is not None and not any(each.severity is Severity.ERROR for each in own)
    rules = strategies.check(reading.submission) if reading.submission is not None else ()
    found = reading.with_rules(rules, confirmed=())
    return [f"{each.field}: {each.message} {each.remedy}" for each in found], ready


def value_at(reading: importer.Reading, path: str) -> Any:
    """Return a value: `spec.` begins at the job spec, `pools` at its worker pools, `~` at the reading."""
    if path.startswith("len("):
        return len(value_at(reading, path[4:-1]))
    spec: Any = next((reading.body[name] for name in SPECS if name in reading.body), {})
    root = {"spec": spec, "pools": spec.get("workerPoolSpecs", [])}
    if path.startswith("~"):
        place = reading.submission
        root = {"body": reading.body, "jobs": reading.jobs, "region": place.region if place is not None else ""}
    found: Any = root
    for step in re.findall(r"\w+", path):
        found = found[int(step)] if isinstance(found, list) else found.get(step)
        if found is None:
            return None
    return found


SPECS = ("jobSpec", "trialJobSpec", "trainingTaskInputs")


@pytest.mark.parametrize("name", CASES)
def test_a_value_is_known_or_reported(name: str) -> None:
    expected = json.loads(CASES[name].read_text())["expect"]
    text = (IMPORTED / f"{name}.txt").read_text()

    reading = importer.read_text(text, name=Path(name).stem, project="vision", region="us-central1")

    told, ready = judged(reading)
    shown = "\n".join(told)
    assert reading.submission is not None if expected["outcome"] == "job" else not ready, shown
    assert reading.kind == expected.get("kind", reading.kind)
    for path, value in expected.get("body", {}).items():
        got = value_at(reading, path)
        assert got is not None if value == "*" else str(got) == str(value), f"{path}: {got}\n{shown}"
    for pattern in expected.get("told", ()):
        assert re.search(pattern, shown), f"{pattern} is not in\n{shown}"
    for text in expected.get("quiet", ()):
        assert text not in shown
    if expected.get("ready") is not None:
        assert ready is expected["ready"], shown
