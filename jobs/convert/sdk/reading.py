"""SDK Python to jobs: the calls of a program that make one, each turned into the request that it sends.

Source: google-cloud-aiplatform 2.7.0; google-cloud-pipeline-components 2, read 2026-11-21.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from jobs.convert.sdk.custom_jobs import custom_job, local_script, tuning_job
from jobs.convert.sdk.makers import CREATES, MESSAGE_FIELDS, OPERATORS, TRAINING, makes_a_job, other_job
from jobs.convert.sdk.operators import job_of_operator
from jobs.convert.sdk.parsing import LeftOut, parsed
from jobs.convert.sdk.program import Program
from jobs.convert.sdk.statements import Made, put, uses
from jobs.convert.sdk.training_pipelines import training_job
from jobs.convert.texts.nodes import Draft, Node, Notes, folded
from jobs.spec import Severity, quoted

PARENT = re.compile(r"projects/(.+?)/locations/([^/]+)")
POOLS = re.compile(r"\bworker_?pool_?specs?\b", re.IGNORECASE)
LONGEST = 500_000
MAX_JOBS = 20
UNSEEN = ("displayName", "jobSpec", "trialJobSpec", "studySpec", "maxTrialCount", "parallelTrialCount")
"""What `**names` that are not known here may give."""
KIND = {"CustomJob": "custom_job", "HyperparameterTuningJob": "hyperparameter_tuning_job"}
PLACES = {"project": "project", "projectid": "project", "region": "region", "location": "region"}
Identify = Callable[[Node, Notes], Draft | None]


def _has_pools(draft: Draft) -> bool:
    """Tell whether a job that was found holds worker pools, or a hole in their place."""
    body = draft.body
    spec = body.get(
        "jobSpec", "job_spec", "trialJobSpec", "trial_job_spec", "trainingTaskInputs", "training_task_inputs"
    )
    inner = spec.get("trialJobSpec", "trial_job_spec") if spec is not None else None
    return any(part is not None and part.get("workerPoolSpecs", "worker_pool_specs") for part in (body, spec, inner))


def _without_places(node: Node) -> tuple[Node, dict[str, str]]:
    """Take the project and region off a job, where tools that send a job for a program keep them."""
    if not isinstance(node.value, dict) or not {folded(name) for name in node.value} & {"jobspec", "trialjobspec"}:
        return node, {}
    kept = {name: item for name, item in node.value.items() if folded(name) not in PLACES}
    places = {PLACES[folded(name)]: item.text() for name, item in node.value.items() if folded(name) in PLACES}
    return Node(kept, node.line), places


class PythonText(NamedTuple):
    """The jobs that a program makes, and the program where it could be parsed."""

    drafts: list[Draft]
    program: Program | None


def read_python(text: str, notes: Notes, identify: Identify) -> PythonText:
    """Return the jobs that a program makes; what is no Python is noted."""
    if len(text) > LONGEST:
        notes.refuse("too_large", None, f"Python is read up to {LONGEST:,} characters.", "Give only the job.")
        return PythonText([], None)
    program = Program(notes)
    try:
        tree, left_out = parsed(text)
        program.walk(tree)
        drafts = _Jobs(program, notes, identify).drafts()
    except SyntaxError as trouble:
        message = f"This is no Python 3: {quoted(trouble.msg or 'it cannot be parsed')}."
        notes.refuse("unreadable_python", trouble.lineno, message, "Give the whole statement.")
        return PythonText([], None)
    except (RecursionError, MemoryError, ValueError):
        notes.refuse("unreadable_python", None, "The Python is nested too deep to be read.", "Give only the job.")
        return PythonText([], None)
    _tell(left_out, bool(drafts), notes)
    if not drafts and (other := other_job(text)) is not None:
        words, place = other
        message = f"This makes {words}, which Trainboard does not run."
        notes.refuse("no_job", text.count("\n", 0, place) + 1, message, "Give a custom, tuning or training job.")
    return PythonText(drafts, program)


def _tell(left_out: list[LeftOut], found: bool, notes: Notes) -> None:
    """Say what was no Python: refused where it was to make a job and no other part made one."""
    for part in left_out:
        if not found and (makes_a_job(part.text) or POOLS.search(part.text)):
            message = f"This is no Python 3: {quoted(part.reason)}."
            notes.refuse("unreadable_python", part.line, message, "Give the whole statement.")
            return
    if found and left_out:
        others = f", and {len(left_out) - 1} more parts below," if len(left_out) > 1 else ""
        message = f"What stands here{others} is no Python 3 and is left out: {quoted(left_out[0].reason)}."
        notes.advise("left_out", left_out[0].line, message)


class _Jobs:
    """The jobs among what a program makes."""

    def __init__(self, program: Program, notes: Notes, identify: Identify) -> None:
        self.program, self.notes, self.identify = program, notes, identify

    def drafts(self) -> list[Draft]:
        """Return the drafts, those that are run first."""
        made = self.program.made
        inner = {id(one.args) for one in made for other in made if uses(other, one)}
        ready = [one for one in made if id(one.args) not in inner]
        ready.sort(key=lambda one: one.run is None and one.maker in ("CustomJob", *TRAINING))
        if not ready:
            return [draft for draft in [self._bare()] if draft is not None]
        told, found = self.notes, []
        for one in ready[:MAX_JOBS]:
            self.notes = Notes()
            draft = self._draft(one)
            if draft is None:
                told.findings.extend(self.notes.findings)
                continue
            if lost := [node.line for path, node in one.edits if not put(draft.body, path, node)]:
                message = "A field of the request is set in a way that is not followed."
                self.notes.refuse("not_carried", lost[0], message, "Give it to the job or to run().")
            found.append(draft._replace(unseen=UNSEEN if one.is_open else draft.unseen, notes=self.notes))
        self.notes = told
        return found

    def _draft(self, made: Made) -> Draft | None:
        if made.maker in CREATES:
            return self._created(made)
        args = made.args
        names = set(args.value) if isinstance(args.value, dict) else set()
        if MESSAGE_FIELDS.get(made.maker, frozenset()) & names:
            return Draft(KIND[made.maker], args, f"Python that makes a {made.maker}")
        if isinstance(args.value, dict):
            places = self.program.places
            args = Node(
                {**{n: Node(place, args.line) for n, place in places.items() if place}, **args.value}, args.line
            )
        if made.maker in TRAINING:
            return training_job(made.maker, args, made.run, self.notes)
        if made.maker == "HyperparameterTuningJob":
            scripted = any(other.maker == "from_local_script" and uses(made, other) for other in self.program.made)
            return tuning_job(args, made.run, self.notes, local_script if scripted else custom_job)
        if made.maker == "from_local_script":
            return local_script(args, made.run, self.notes)
        if made.maker in OPERATORS:
            return job_of_operator(made.maker, args, self.notes)
        return custom_job(args, made.run, self.notes)

    def _created(self, made: Made) -> Draft | None:
        """Read `client.create_custom_job(parent=..., custom_job=...)`, also with `request={...}`."""
        argument, kind = CREATES[made.maker]
        request = made.args.get("request") or made.args
        body, parent = request.get(argument), request.get("parent")
        found = PARENT.search(parent.text()) if parent is not None else None
        if body is None or not isinstance(body.value, dict):
            held = self._bare()
            if held is not None and held.kind == kind and _has_pools(held) and "a bare worker pool" not in held.form:
                return held
            self.notes.refuse("unknown_job", made.args.line, f"The {argument} is not made in this text.")
            return None
        places = self.program.places
        project, region = (found[1], found[2]) if found else (places["project"], places["location"])
        return Draft(kind, body, f"Python that calls {made.maker}", project, region)

    def _bare(self) -> Draft | None:
        """Read a job, or its pools, that a name is bound to where no call uses it; one that has pools before others."""
        names = self.program.values.names
        first: tuple[Draft, Notes] | None = None
        for name, node in (*reversed(names.items()), *self.program.given.items()):
            if name in ("worker_pool_specs", "WORKER_POOL_SPECS") and isinstance(node.value, list) and node.value:
                node = Node({"workerPoolSpecs": node}, node.line)
            scratch = Notes()
            node, places = _without_places(node)
            draft = self.identify(node, scratch) if isinstance(node.value, dict | list) else None
            if draft is None:
                continue
            draft = draft._replace(project=places.get("project", draft.project))
            draft = draft._replace(region=places.get("region", draft.region))
            draft = draft._replace(form=f"the Python value {quoted(name)}, {draft.form}")
            first = first or (draft, scratch)
            if _has_pools(draft) and "a bare" not in draft.form:
                first = draft, scratch
                break
        if first is None:
            return None
        # Tools that take a job's spec as a value, such as TFX, keep the project beside the pools.
        for note in first[1].findings:
            is_place = note.code == "misplaced" and folded(note.field) in PLACES
            self.notes.findings.append(replace(note, severity=Severity.ADVISE) if is_place else note)
        return first[0]
