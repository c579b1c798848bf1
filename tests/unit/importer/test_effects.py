"""Tests that what a program may do is open in its job: a change that is not certain is never left out silently."""

import pytest

from jobs import importer
from tests.unit.importer.test_reading import refused, spec_of

PROGRAM = """
import contextlib, enum, json, mine
from google.cloud import aiplatform
from pathlib import Path

args = ["a"]
pool = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "gcr.io/p/i", "args": args},
}
other = dict(pool, replica_count=2)
CHANGE
aiplatform.CustomJob(display_name="x", worker_pool_specs=[pool]).run()
"""
COUNT, ARGS = "jobSpec.workerPoolSpecs[0].replicaCount", "jobSpec.workerPoolSpecs[0].containerSpec.args[1]"
OPEN = {
    "one of two values that a name may have": (
        "kept, pool = pool, pool if mine.coin() else other\nkept['replica_count'] = 3",
        COUNT,
    ),
    "an object that a module is given": (
        "class C:\n    n = 1\nc = C()\nc.n = 2\nmine.fix(c)\npool['replica_count'] = c.n",
        COUNT,
    ),
    "an object that its base class may change": (
        "class A:\n    n = 1\n    def __init__(self):\n        self.n = 2\n"
        "class B(A):\n    def __init__(self):\n        super().__init__()\npool['replica_count'] = B().n",
        COUNT,
    ),
    "a comprehension that appends": ("[args.append(x) for x in mine.more()]", ARGS),
    "a default that unknown items may replace": (
        "def f(a, b=2):\n    return b\npool['replica_count'] = f(*mine.pair())",
        COUNT,
    ),
    "a value of an earlier turn of a loop": (
        "d = {'n': 1}\nfor x in mine.more():\n    pool['replica_count'] = d['n']\n    d['n'] = 5",
        COUNT,
    ),
    "what a suppressed error leaves out": (
        "with contextlib.suppress(ValueError):\n    mine.fail()\n    args.append('b')",
        ARGS,
    ),
    "the text of an enum's member": (
        "class Size(enum.Enum):\n    BIG = 'big'\nargs.append(f'{Size.BIG}')",
        ARGS,
    ),
    "a change after an unknown condition": ("mine.coin() and args.append('b')", ARGS),
    "an entry that unknown names may replace": ("pool = {**pool, **mine.more()}", COUNT),
    "a default for a mapping that something unknown changed": (
        "d = {'n': 5}\nd[mine.name()] = 6\npool['replica_count'] = d.get('n', 1)",
        COUNT,
    ),
    "a text that is too long": ("long = 'x' * 150_000\nargs.append(long + long)", ARGS),
}
KNOWN = {
    "a decorator of the program": (
        "def twice(f):\n    return lambda n: f(n) * 2\n"
        "@twice\ndef one(n):\n    return n\npool['replica_count'] = one(2)",
        ("4", ["a"]),
    ),
    "a loop that ends": ("n = 0\nwhile n < 3:\n    n += 1\npool['replica_count'] = n", ("3", ["a"])),
    "a text of JSON": ("args.append(json.dumps({'a': 1}))", ("1", ["a", '{"a": 1}'])),
    "a path": ("args.append(str(Path('/gcs') / 'b'))", ("1", ["a", "/gcs/b"])),
    "a long sum": ("args.append(" + " + ".join(["'b'"] * 90) + ")", ("1", ["a", "b" * 90])),
    "a list that is added to in place": ("args += ['b']", ("1", ["a", "b"])),
    "a default of a field": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n    n: int = dataclasses.field(default=6)\n"
        "pool['replica_count'] = C().n",
        ("6", ["a"]),
    ),
}


@pytest.mark.parametrize("what", OPEN)
def test_what_is_not_certain_is_open(what: str) -> None:
    change, path = OPEN[what]

    reading = importer.read_text(PROGRAM.replace("CHANGE", change))

    assert refused(reading) == []
    assert any(path.startswith(each) for each in reading.placeholders), reading.body


@pytest.mark.parametrize("what", KNOWN)
def test_what_the_text_determines_is_known(what: str) -> None:
    change, expected = KNOWN[what]

    reading = importer.read_text(PROGRAM.replace("CHANGE", change))

    (pool,) = spec_of(reading)["workerPoolSpecs"]
    assert (pool["replicaCount"], pool["containerSpec"]["args"]) == expected
    assert not reading.placeholders
