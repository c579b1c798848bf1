"""Hypothesis strategies that generate REST bodies of every kind from the message definitions."""

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from jobs.spec import KINDS, CustomJobSpec, Message, TuningTaskInputs
from jobs.spec.fields import write_duration
from jobs.spec.shape import Slot, fields

ONE_OF = (
    {"containerSpec", "pythonPackageSpec"},
    {"decayCurveStoppingSpec", "medianAutomatedStoppingSpec", "convexAutomatedStoppingSpec"},
    {"doubleValueSpec", "integerValueSpec", "categoricalValueSpec", "discreteValueSpec"},
    {"parentDiscreteValues", "parentIntValues", "parentCategoricalValues"},
    {"maxDuration", "endTime"},
    {"fractionSplit", "filterSplit", "predefinedSplit", "timestampSplit", "stratifiedSplit"},
    {"gcsDestination", "bigqueryDestination"},
    {"exec", "httpGet", "grpc", "tcpSocket"},
)
"""Sets of fields of which a message has at most one."""
CARRIED_AS_JSON = {"explanationSpec", "baseModelSource", "modelSourceInfo", "originalModelInfo", "dataStats", "details"}
CARRIED_AS_JSON |= {"deployedModels", "checkpoints", "supportedExportFormats", "supportedDeploymentResourcesTypes"}
NEWER = {"satisfiesPzs", "satisfiesPzi"}
MAX_DEPTH = 3

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
SIGNS = """' " \\ $ ${X} $(Y) `x` | - # @ [a] {b} null true yes ~ 1e-5 0x10 012 1:30 2026-11-21 !tag &a *a % = --flag
a,b=c EOF größe <b>&amp;</b>"""
awkward = st.sampled_from([*SIGNS.split(), "", " ", "\n", "\r\n", "\t", "- a", "a: b", "# no", "é\u2028", "a b", " a"])
words = texts | awkward
durations = st.integers(0, 10**12).map(lambda micros: write_duration(timedelta(microseconds=micros)))
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-(10**9), 10**9)
newer_values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63) | numbers | words,
    lambda s: st.lists(s | st.none(), max_size=2) | st.dictionaries(texts.filter(bool), s | st.none(), max_size=2),
    max_leaves=5,
)
NEWER_NAMES = ("logFormat", "memory_mode", "has", "but", "self", "model_config", "modelFieldsSet", "größe", "a.b")
"""Names of fields that Vertex AI may add, also some that Python or our models use."""
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "text": words,
    "flag": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1).map(str),
    "number": numbers,
    "duration": durations,
    "moment": st.just("2026-11-21T08:00:00Z") | st.just("2026-11-21T08:00:00.123456789Z"),
    "free": st.recursive(st.none() | st.booleans() | numbers | words, lambda s: st.lists(s, max_size=2), max_leaves=3),
}


@st.composite
def bodies(
    draw: st.DrawFn, model: type[Message], *, outputs: bool = False, depth: int = 0, newer: bool = False
) -> dict[str, Any]:
    """Draw a body of a message in the format of `rest_body`. `newer` adds unknown fields and enum values."""
    barred = {name for group in ONE_OF for name in group} - {draw(st.sampled_from(sorted(g))) for g in ONE_OF}
    slots = [slot for slot in fields(model) if slot.alias not in CARRIED_AS_JSON | NEWER | barred]
    slots = [slot for slot in slots if outputs or not slot.output]
    body: dict[str, Any] = {}
    for slot in slots:
        wanted = draw(st.integers(0, 2 + depth)) == 0 or slot.alias in {"jobSpec", "trialJobSpec", "workerPoolSpecs"}
        if wanted and (slot.model is None or depth < MAX_DEPTH):
            value = draw(values(slot, outputs, depth, newer))
            if value is not None:
                body[slot.alias] = value
    if newer and draw(st.integers(0, 2)) == 0:
        body |= draw(st.dictionaries(st.sampled_from(NEWER_NAMES), newer_values, min_size=1, max_size=2))
    return body


def values(slot: Slot, outputs: bool, depth: int, newer: bool) -> st.SearchStrategy[Any]:
    """Return the strategy for the value of a field."""
    if slot.kind.name == "task":
        return st.sampled_from([CustomJobSpec, TuningTaskInputs]).flatmap(
            lambda model: bodies(model, depth=depth + 1, newer=newer)
        )
    known = sorted(slot.kind.names.values())
    one = (
        bodies(slot.model, outputs=outputs, depth=depth + 1, newer=newer)
        if slot.model is not None
        else st.sampled_from([*known, "BRAND_NEW", 777] if newer else known)
        if slot.kind.name == "enum"
        else SCALARS[slot.kind.name]
    )
    if slot.mapping:
        return st.dictionaries(words, one, max_size=2)
    return st.lists(one, max_size=3) if slot.many else one


@st.composite
def jobs(draw: st.DrawFn, *, outputs: bool = False, newer: bool = False) -> tuple[str, dict[str, Any]]:
    """Draw a kind and a body of it. A pipeline names the task that matches its inputs."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    body = draw(bodies(KINDS[kind], outputs=outputs, newer=newer))
    inputs = body.get("trainingTaskInputs")
    if inputs is not None:
        task = (
            "custom_task"
            if not {"studySpec", "trialJobSpec", "maxTrialCount"} & set(inputs)
            else "hyperparameter_tuning_task"
        )
        body["trainingTaskDefinition"] = f"gs://x/{task}_1.0.0.yaml"
    elif "trainingTaskDefinition" in body:
        del body["trainingTaskDefinition"]
    return kind, body


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | awkward,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | awkward, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a body with one of its values, anywhere, replaced by arbitrary JSON."""
    kind, body = draw(jobs(outputs=True))
    node: Any = body
    for _ in range(draw(st.integers(0, 6))):
        keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
        if not keys:
            break
        key = draw(st.sampled_from(keys))
        if draw(st.booleans()) or not isinstance(node[key], dict | list):
            node[key] = draw(json_values)
            break
        node = node[key]
    return kind, body
