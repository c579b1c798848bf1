"""Parse JSON into typed resources and render it again. Parsing collects all findings and never raises."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.spec.custom_job import CustomJob, CustomJobSpec
from jobs.spec.fields import Message, parse_text
from jobs.spec.findings import Finding, Severity, kind_of, quoted
from jobs.spec.paths import join
from jobs.spec.persistent_resource import PersistentResource
from jobs.spec.pipeline import TrainingPipeline, is_tuning_task, task_of
from jobs.spec.shape import Slot, fields, slots
from jobs.spec.tuning_job import HyperparameterTuningJob, TuningTaskInputs
from jobs.spec.unknown import READ, SOURCE
from jobs.texts import translatable as _

Job = CustomJob | HyperparameterTuningJob | TrainingPipeline
KINDS: dict[str, type[Message]] = {
    "custom_job": CustomJob,
    "hyperparameter_tuning_job": HyperparameterTuningJob,
    "training_pipeline": TrainingPipeline,
    "persistent_resource": PersistentResource,
}
MAX_DEPTH = 60
MAX_VALUES = 50_000
MAX_FINDINGS = 100
MAX_MESSAGES = 200
"""Entries of one list of messages that are read. A job has at most 4 worker pools of 100 variables."""


def rest_body(resource: Message) -> dict[str, Any]:
    """Return the REST body: fields that were given, in API names, including explicit zeros."""
    return resource.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def read(kind: str, body: object) -> tuple[Any, list[Finding]]:
    """Parse the REST body of a resource; `kind` is a key of KINDS. Never raise, whatever JSON the body is.

    Names may be lowerCamelCase or snake_case. A field in both is an error, also if one of them is null, because
    nothing shows which of them counts. Return the part that could be parsed, or None if nothing could. The part is
    complete only if no finding is an error. If there are more than MAX_FINDINGS findings, a last one counts the
    rest. Unknown fields and enum values are no findings here: they are kept (see `jobs.spec.unknown`).
    """
    notes = Notes()
    model = KINDS.get(kind)
    if model is None:
        notes.add("unknown_kind", "", _("%(name)s is not one of %(names)s.", name=quoted(kind), names=", ".join(KINDS)))
        return None, notes.findings
    if problem := unsound(body):
        notes.add("unreadable_body", "", problem)
        return None, notes.findings
    return read_message(model, body, notes), notes.result()


def read_message(model: type[Message], body: object, notes: "Notes") -> Message | None:
    """Parse one message of type `model` from valid JSON, adding to `notes`; None if it is not an object."""
    values = _message(model, body, "", notes)
    return None if values is None else model.model_validate(values)


def unsound(body: object) -> str:
    """Return why a value is not JSON that Trainboard accepts (too deep, too large, numbers beyond JSON), or ""."""
    waiting: list[tuple[object, int]] = [(body, 0)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if depth > MAX_DEPTH:
            return _("The request is nested more than %(n)s levels deep.", n=MAX_DEPTH)
        if seen > MAX_VALUES:
            return _("The request has more than %(n)s values.", n=f"{MAX_VALUES:,}")
        if isinstance(value, float) and not abs(value) < float("inf"):
            return _("The request contains a number that is not finite, which JSON does not allow.")
        if isinstance(value, int) and abs(value) >= 2**1023:
            return _("The request contains a number of more than 300 digits.")
        if isinstance(value, Mapping):
            waiting.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list | tuple):
            waiting.extend((item, depth + 1) for item in value)
    return ""


@dataclass
class Notes:
    """Collects findings while a body is parsed."""

    findings: list[Finding] = field(default_factory=list)
    left_out: int = 0

    def add(self, code: str, path: str, message: str, remedy: str = "") -> None:
        """Add an error, or only count it once there are MAX_FINDINGS."""
        if len(self.findings) >= MAX_FINDINGS:
            self.left_out += 1
        else:
            self.findings.append(Finding(code, Severity.ERROR, path, message, remedy, SOURCE, READ))

    def result(self) -> list[Finding]:
        """Return the findings, with one more that counts those left out."""
        if self.left_out:
            message = _("%(count)s more like these.", count=self.left_out)
            return [*self.findings, Finding("more_findings", Severity.ERROR, "", message)]
        return self.findings


def _message(model: type[Message], data: object, path: str, notes: Notes) -> dict[str, Any] | None:
    if isinstance(data, Message):
        data = rest_body(data)
    if not isinstance(data, Mapping):
        problem = _("must be an object with fields, not %(kind)s", kind=kind_of(data))
        own = fields(model)  # of one field, like outputUriPrefix, people give the value of the field itself
        remedy = (
            _("Put it below, as `%(field)s`.", field=own[0].alias) if len(own) == 1 and isinstance(data, str) else ""
        )
        notes.add("wrong_type", path, _wrong_type(path, problem), remedy)
        return None
    known = slots(model)
    values: dict[str, Any] = {}
    given: set[str] = set()
    for key, value in data.items():
        slot = known.get(key) if isinstance(key, str) else None
        if slot is None:
            _keep_unknown(values, key, value, path, notes)
            continue
        if slot.name in given:
            here = join(path, slot.alias)
            message = _("%(field)s is given twice, once as %(other)s.", field=slot.alias, other=slot.name)
            notes.add("given_twice", here, message, _("Keep one of them."))
        elif value is not None:
            found = _value(slot, value, join(path, slot.alias), notes, data)
            if found is not None:
                values[slot.name] = found
        given.add(slot.name)
    return values


def _value(slot: Slot, value: object, path: str, notes: Notes, around: Mapping[str, Any]) -> Any:
    """Parse the value of a field; None if it is invalid, with a finding in `notes`."""
    if slot.mapping:
        return _mapping(slot, value, path, notes)
    if not slot.many:
        return _one(slot, value, path, notes, around)
    if not isinstance(value, list | tuple):
        message = _("%(field)s must be a list, not %(kind)s.", field=slot.alias, kind=kind_of(value))
        notes.add("wrong_type", path, message, _("Put it in [ ]."))
        return None
    if slot.model is not None and len(value) > MAX_MESSAGES:
        words = {"field": slot.alias, "count": f"{len(value):,}", "limit": MAX_MESSAGES}
        notes.add("too_many", path, _("%(field)s has %(count)s entries; Trainboard reads %(limit)s.", **words))
    items = []
    for index, item in enumerate(value if slot.model is None else value[:MAX_MESSAGES]):
        found = _one(slot, item, f"{path}[{index}]", notes, around)
        if found is not None or slot.model is not None:
            items.append({} if found is None else found)
    return items


def _one(slot: Slot, value: object, path: str, notes: Notes, around: Mapping[str, Any]) -> Any:
    if slot.kind.name == "task":
        return _task(value, path, notes, around)
    if slot.model is not None:
        return _message(slot.model, value, path, notes)
    try:
        return slot.kind.parse(value)
    except ValueError as error:
        notes.add("wrong_type", path, _wrong_type(path, error.args[0]))
        return None


def _mapping(slot: Slot, value: object, path: str, notes: Notes) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        words = {"field": slot.alias, "kind": kind_of(value)}
        notes.add("wrong_type", path, _("%(field)s must be an object of names and values, not %(kind)s.", **words))
        return None
    found: dict[str, Any] = {}
    for key, item in value.items():
        here = f"{path}[{quoted(key)[1:-1]}]"
        try:
            found[slot.kind.parse(key)] = slot.kind.parse(item)
        except ValueError as error:
            notes.add(
                "wrong_type", here, _("The value or name %(field)s %(problem)s.", field=here, problem=error.args[0])
            )
    return found


def _task(value: object, path: str, notes: Notes, around: Mapping[str, Any]) -> Any:
    """Parse the inputs of a pipeline's task by its definition, or by their fields."""
    spellings = (around.get(name) for name in ("trainingTaskDefinition", "training_task_definition"))
    named = next((text for text in spellings if isinstance(text, str)), "")
    if is_tuning_task(named, value if isinstance(value, Mapping) else ()):
        model: type[Message] = TuningTaskInputs
    elif task_of(named) == "custom" or not named:
        model = CustomJobSpec
    else:
        notes.add(
            "unknown_task",
            path,
            _("Trainboard runs pipelines of custom and tuning tasks, not %(name)s.", name=quoted(named, limit=160)),
            _("Use custom_task_1.0.0.yaml or hyperparameter_tuning_task_1.0.0.yaml."),
        )
        return None
    values = _message(model, value, path, notes)
    return None if values is None else model.model_validate(values)


def _keep_unknown(values: dict[str, Any], key: object, value: object, path: str, notes: Notes) -> None:
    """Keep an unknown field as it was written; null means that it is absent, as in the fields that are known."""
    try:
        name = parse_text(key)
    except ValueError as error:
        problem = _("The name of a field %(problem)s.", problem=error.args[0])
        notes.add("wrong_type", join(path, quoted(key)[1:-1]), problem)
        return
    if value is not None:
        values[name] = value


def _wrong_type(path: str, problem: str) -> str:
    """Return a sentence about a field's problem, such as "must be a number"."""
    field = path.rpartition(".")[2]
    if not field:
        return _("The request %(problem)s.", problem=problem)
    return _("%(field)s %(problem)s.", field=field, problem=problem)
