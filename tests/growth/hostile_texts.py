"""Sixty texts that were written to cost much, as large as an import may be, each with a purpose."""

import json
from collections.abc import Callable

from jobs.importer import MAX_BYTES

SIZE = 200_000
"""Characters of each text; the few that are largest at the limit of an import have its size."""
PYTHON = "from google.cloud import aiplatform\n"
POOL = "workerPoolSpecs:\n- machineSpec: {machineType: n1-standard-4}\n  replicaCount: 1\n  containerSpec:\n"


def fill(unit: str, start: str = "", end: str = "", size: int = SIZE) -> str:
    """Return a text of about `size` characters: a unit again and again, between a start and an end."""
    return start + unit * max((size - len(start) - len(end)) // max(len(unit), 1), 1) + end


def numbered(line: Callable[[int], str], start: str = "", end: str = "") -> str:
    """Return lines that differ, of about SIZE characters together."""
    lines, length, number = [start], len(start) + len(end), 0
    while length < SIZE:
        lines.append(line(number))
        length += len(lines[-1])
        number += 1
    return "".join([*lines, end])


def anchors() -> str:
    """Return YAML whose aliases stand for 9 to the power of 40 items."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]\n"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)]
    return "".join(lines)


def merges() -> str:
    """Return YAML in which each mapping merges the one before it twice."""
    lines = ["m0: &m0 {a: 1}\n"]
    lines += [f"m{n}: &m{n}\n  <<: [*m{n - 1}, *m{n - 1}]\n  k{n}: 1\n" for n in range(1, 3_000)]
    return "".join(lines)


def nested_json(opened: str, closed: str, levels: int) -> str:
    """Return JSON nested so deep."""
    return opened * levels + "1" + closed * levels


def body(args: list[str]) -> str:
    """Return the REST body of a job with these arguments."""
    container = {"imageUri": "gcr.io/p/i", "args": args}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": container}
    return json.dumps({"displayName": "x", "jobSpec": {"workerPoolSpecs": [pool]}})


def pools(count: int) -> str:
    """Return the REST body of a job with so many worker pools."""
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": {"imageUri": "i"}}
    return json.dumps({"displayName": "x", "jobSpec": {"workerPoolSpecs": [pool] * count}})


TEXTS: dict[str, str] = {
    "yaml: aliases of aliases": anchors(),
    "yaml: merges of merges": merges(),
    "yaml: an anchor on each item": numbered(lambda n: f"- &a{n} x{n}\n"),
    "yaml: one alias again and again": fill("- *a\n", "- &a [1, 2, 3]\n"),
    "yaml: lists in lists": "[" * 5_000 + "]" * 5_000,
    "yaml: mappings in mappings": "".join(f"{' ' * n}a:\n" for n in range(600)),
    "yaml: blocks in blocks": fill("- ", size=20_000) + "x",
    "yaml: braces in braces": nested_json("{a: ", "}", 5_000),
    "yaml: a long key": fill("k", end=": 1\n"),
    "yaml: many documents": fill("---\na: 1\n"),
    "yaml: many keys": numbered(lambda n: f"k{n}: v{n}\n"),
    "yaml: the same key": fill("displayName: x\n"),
    "yaml: a block text": fill("        word word word\n", POOL + "    imageUri: i\n    args:\n    - |\n"),
    "yaml: quotes that never close": fill('"a: ', "args: "),
    "yaml: escapes": fill("\\x41\\u0041\\U00000041", 'a: "', '"\n'),
    "yaml: numbers of base 60": fill("9:59", "a: ", "\n"),
    "yaml: a huge number": fill("9", "a: ", "\n"),
    "yaml: a huge exponent": "a: 1e" + "9" * 100_000 + "\n",
    "yaml: tags": fill("- !!python/object/apply:os.system [x]\n"),
    "yaml: comments": fill("# x\n"),
    "yaml: tabs": fill("\t- a\n"),
    "yaml: blank lines": fill("\n", end="a: 1\n"),
    "json: lists in lists": nested_json("[", "]", 90_000),
    "json: objects in objects": nested_json('{"a":', "}", 30_000),
    "json: a huge number": fill("9", '{"displayName": ', "}"),
    "json: a huge fraction": fill("1", '{"a": 0.', "}"),
    "json: a huge exponent": '{"a": 1e' + "9" * 100_000 + "}",
    "json: many keys": json.dumps({f"k{n}": n for n in range(14_000)}),
    "json: one key again and again": fill('"jobSpec": {}, ', "{", '"a": 1}'),
    "json: escapes": fill("\\ud83d\\ude00", '{"displayName": "', '"}'),
    "json: lone surrogates": fill("\\ud83d", '{"displayName": "', '"}'),
    "json: cut off": fill('{"a": [', ""),
    "json: many worker pools": pools(1_500),
    "json: many arguments": body(["--a=b"] * 20_000),
    "json: one long argument": body(["x" * SIZE]),
    "json: an address in each word": body([fill("https://u:p@h/ ")]),
    "json: tokens in one argument": body([fill("sk-aaaaaaaaaaaaaaaaaaaaaaaa ")]),
    "json: different secrets": body([f"--token=secret-number-{n}" for n in range(6_000)]),
    "json: schemes without an end": body([fill("a+", end="://")]),
    "json: names of passwords": body([fill("PASSWORD=")]),
    "shell: single quotes": fill("'a", "gcloud ai custom-jobs create --args="),
    "shell: quotes in quotes": fill("\"'\\", "gcloud ai custom-jobs create "),
    "shell: substitutions in substitutions": "gcloud ai custom-jobs create --args=" + "$(" * 20_000 + ")" * 20_000,
    "shell: variables that double": "".join(f"v{n}=$v{n - 1}$v{n - 1}\n" for n in range(1, 200))
    + "gcloud ai custom-jobs create --args=$v199\n",
    "shell: lines that go on": fill(" --args=a \\\n", "gcloud ai custom-jobs create \\\n"),
    "shell: documents inside": fill("cat <<EOF\n"),
    "shell: many flags": numbered(lambda n: f" --worker-pool-spec=replica-count={n}", "gcloud ai custom-jobs create"),
    "shell: loops in loops": "".join(f"for i{n} in 1 2 3 4 5 6 7 8 9; do\n" for n in range(3_000)),
    "python: brackets in brackets": PYTHON + nested_json("(", ")", 90_000),
    "python: lists that double": PYTHON + "a = [1]\n" + fill("a = a + a\n", size=20_000),
    "python: texts that double": PYTHON
    + "a = 'x'\n"
    + fill("a = a + a\n", size=20_000)
    + "aiplatform.init(project=a)\n",
    "python: powers": PYTHON + "a = 9 ** 9 ** 9\naiplatform.init(project=str(a))\n",
    "python: loops in loops": PYTHON
    + "".join(f"{'  ' * n}for i{n} in range(10**9):\n" for n in range(18))
    + "  " * 18
    + "aiplatform.CustomJob(display_name=str(i0))\n",
    "python: functions that call each other": PYTHON
    + "".join(f"def f{n}(): return f{n + 1}() + f{n + 1}()\n" for n in range(3_000))
    + "aiplatform.init(project=f0())\n",
    "python: comprehensions": PYTHON + "a = [[[x for x in range(999)] for y in range(999)] for z in range(999)]\n",
    "python: formatted texts": PYTHON + fill("a = f'{a}{a}'\n", "a = 'x'\n", size=60_000),
    "python: widths": PYTHON + "a = f'{1:>999999999}' + '%999999999d' % 1 + 'x'.ljust(10**9)\n",
    "python: replacements": PYTHON + "a = 'a' * 1000\n" + fill("a = a.replace('a', 'aa')\n", size=40_000),
    "words: one long line": fill("word "),
    "words: letters of every script": fill("é模модель🚂\u202e\u0301"),
    "words: combining marks": fill("\u0301", "a"),
    "words: as large as an import may be": fill("a: b\n", size=MAX_BYTES - 10),
}
