"""Further hostile texts: pages, notebooks, workflows and scripts around jobs, and the values inside one."""

import json
from typing import Any

from tests.growth.hostile_texts import POOL, PYTHON, body, fill, numbered

CREATE = "gcloud ai custom-jobs create --region=us-central1 --display-name="
JOB = POOL + "    imageUri: gcr.io/p/i\n"
LONG = "import shlex\na = 'x ' * 99_999\n"
INDENTED = "".join(f"    {line}\n" for line in JOB.splitlines())
SDK = "job = aiplatform.CustomJob(display_name='x', worker_pool_specs="


def notebook(cells: list[dict[str, Any]]) -> str:
    """Return a notebook with these cells."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def cell(source: Any, kind: str = "code") -> dict[str, Any]:
    """Return a cell of a notebook."""
    return {"cell_type": kind, "metadata": {}, "outputs": [], "source": source}


def job(**changes: Any) -> str:
    """Return a body with other fields of its first worker pool's container, or of the job."""
    whole = json.loads(body(["x"]))
    container = whole["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    for name, value in changes.items():
        (container if name in ("env", "command", "imageUri", "args") else whole)[name] = value
    return json.dumps(whole)


def study(parameters: int) -> str:
    """Return a tuning job with so many parameters."""
    one = {"parameterId": "p", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}
    spec = {"metrics": [{"metricId": "m", "goal": "MAXIMIZE"}], "parameters": [one] * parameters}
    trial = json.loads(body(["x"]))["jobSpec"]
    return json.dumps({"displayName": "x", "studySpec": spec, "maxTrialCount": 1, "trialJobSpec": trial})


def conditions(levels: int) -> str:
    """Return a tuning job whose parameters depend on each other so many levels deep."""
    parameter: dict[str, Any] = {"parameterId": "p", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}
    for _ in range(levels):
        parameter = {"parameterId": "p", "conditionalParameterSpecs": [{"parameterSpec": parameter}] * 2}
    spec = {"metrics": [{"metricId": "m", "goal": "MAXIMIZE"}], "parameters": [parameter]}
    trial = json.loads(body(["x"]))["jobSpec"]
    return json.dumps({"displayName": "x", "studySpec": spec, "maxTrialCount": 1, "trialJobSpec": trial})


TEXTS: dict[str, str] = {
    # pages and notebooks
    "page: empty fences": fill("```\n```\n", "# Train\n"),
    "page: a job in each fence": fill(f"```yaml\n{JOB}```\n", "# Train\n"),
    "page: fences that never close": fill("~~~yaml\n", "# Train\n"),
    "page: fences of growing length": "".join(f"{'`' * n}\n" for n in range(3, 600)),
    "page: indented jobs": fill(f"Then:\n\n{INDENTED}\n", "# Train\n"),
    "page: commands in sentences": fill(f"Run `{CREATE}x` now. ", "# Train\n"),
    "page: objects in prose": fill('text {"jobSpec": {"a": ', "See\n"),
    "page: braces in prose": fill("word { word ( word [ ", "See this: "),
    "page: tables": fill("| a | b |\n|---|---|\n"),
    "page: tags": fill("<pre><code>jobSpec:\n</code></pre>\n"),
    "notebook: many cells": notebook([cell("x = 1\n")] * 2_500),
    "notebook: a job in each cell": notebook([cell(f"{PYTHON}{SDK}[])\n")] * 1_500),
    "notebook: commands": notebook([cell(f"!{CREATE}x --args=$a,{{b}}\n")] * 2_000),
    "notebook: written files": notebook([cell(f"%%writefile c.yaml\n{JOB}")] * 1_000),
    "notebook: a character in each line": notebook([cell(["a"] * 60_000)]),
    "notebook: magic in each line": notebook([cell("%time x = 1\n" * 14_000)]),
    "notebook: a source of objects": notebook([cell([{"a": [{}]}] * 8_000)]),
    "notebook: notebooks in notebooks": notebook([cell(notebook([cell(notebook([cell("x")] * 500))]))]),
    # workflows and manifests
    "workflow: commands in steps": "steps:\n" + fill(f"- run: {CREATE}x\n"),
    "workflow: words of commands": fill("- args: [gcloud, ai, custom-jobs, create, --region=x]\n", "steps:\n"),
    "workflow: programs in steps": fill("- run: |\n    python - <<EOF\n    import a\n    EOF\n", "steps:\n"),
    "workflow: marks of a template": fill("- {{ a }}: {{ if b }}\n", "steps:\n"),
    "workflow: logic of a template": fill("{{- if a }}\n{% for x in y %}\n", JOB),
    "manifest: jobs in lists of lists": "apiVersion: v1\n" + fill("- - - jobSpec: {workerPoolSpecs: [{}]}\n", "a:\n"),
    "yaml: keys that are lists": fill("? [a, b]\n: c\n"),
    "yaml: names in other spellings": numbered(lambda n: f"{'worker' + '_' * (n % 9 + 1)}pool_specs{n}: x\n", JOB),
    "yaml: without indentation": fill("machineSpec:\nreplicaCount: 1\n", "workerPoolSpecs:\n", size=60_000),
    "yaml: folded lines": fill("      word\n\n", POOL + "    args:\n    - >-\n"),
    "yaml: binary": fill("- !!binary AAAA\n", POOL + "    args:\n"),
    "yaml: documents with jobs": fill(f"---\n{JOB}"),
    # commands
    "shell: braces that multiply": CREATE + "{a,b}" * 2_000,
    "shell: ranges": fill(" {1..999999999}", CREATE),
    "shell: defaults in defaults": CREATE + "${a:-" * 15_000 + "}" * 15_000,
    "shell: patterns that replace": fill("b=${a//a/aa}\n", "a=aaaaaaaa\n") + CREATE + "$b",
    "shell: arithmetic": CREATE + "$((" + "9**" * 30_000 + "9))",
    "shell: arrays": numbered(lambda n: f"a[{n}]=x; a+=(x x x)\n") + CREATE + '"${a[@]}"',
    "shell: functions": numbered(lambda n: f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n") + CREATE + "$(f0)",
    "shell: escapes of lines": fill("\\\n", CREATE),
    "shell: pairs of a flag": CREATE + "x --worker-pool-spec=" + fill("machine-type=a,"),
    "shell: other delimiters": CREATE + "x --args=" + fill("^:^a:b:^;^"),
    "shell: files for a flag": fill("cat > c.yaml <<EOF\na: $b\nEOF\n") + CREATE + "x --config=c.yaml",
    "curl: headers": fill(" -H 'a: b'", "curl -X POST https://us-central1-aiplatform.googleapis.com/v1/x"),
    "curl: data in pieces": fill(" -d '{\"a\":'", "curl -X POST https://us-central1-aiplatform.googleapis.com/v1/x"),
    # programs
    "python: a chain of sums": PYTHON + "a = " + fill("1+") + "1\n",
    "python: a chain of calls": PYTHON + "a = x" + fill(".f()") + "\n",
    "python: mappings that double": PYTHON + "a = {'a': 1}\n" + fill("a = {**a, 'b': [a, a]}\n", size=40_000),
    "python: a list of pools": PYTHON + SDK + "[{'machine_spec': {}}] * 10**9)\n",
    "python: joins": PYTHON + "a = ['x' * 999] * 999\n" + fill("b = 'y'.join(a)\n", size=40_000),
    "python: variables of the environment": PYTHON + numbered(lambda n: f"a{n} = os.environ.get('A{n}', str(a))\n"),
    "python: commands in texts": PYTHON + numbered(lambda n: f"a{n} = '{CREATE}{n}'\n"),
    "python: arguments with stars": PYTHON + "def f(*a, **k): return f(*a, *a, **k)\nf(*[1] * 99)\n" * 2_000,
    "python: texts that are split": PYTHON + LONG + fill("b = a.split()\n", size=40_000),
    "python: texts in loops": PYTHON + LONG + fill("b = [c for c in a]\n", size=40_000),
    "python: texts that are unpacked": PYTHON + LONG + fill("b, c = a\n", size=40_000),
    "python: texts that are split as a shell does": PYTHON + LONG + fill("b = shlex.split(a)\n", size=40_000),
    "python: texts that are compared": PYTHON + LONG + fill("b = a < a\n", size=40_000),
    "python: lists of texts": PYTHON + LONG + fill("b = list(a)\n", size=40_000),
    # values of a job
    "job: labels": job(labels={f"k{n}": "V" * 64 for n in range(6_000)}),
    "job: variables": job(env=[{"name": "A", "value": "b"}] * 4_500),
    "job: variables with secrets": job(env=[{"name": f"TOKEN_{n}", "value": f"v{n}" * 4} for n in range(4_000)]),
    "job: keys that never end": body([fill("-----BEGIN PRIVATE KEY-----")]),
    "job: signed addresses": body([fill("https://a.b/c?sig=d&X-Goog-Signature=e&")]),
    "job: parts of a token": body([fill("eyJhbGciOi.")]),
    "job: the name of an image": job(imageUri=fill("a/") + "b:c@sha256:" + "d" * 64),
    "job: parameters": study(3_000),
    "job: parameters below parameters": conditions(11),
}
"""Texts by purpose. None has a mechanism of `hostile_texts.TEXTS`."""
