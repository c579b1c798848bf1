"""Read jobs from SDK Python: find the calls that create a job, and convert each to the request that it sends.

Source: google-cloud-aiplatform 2.7.0; google-cloud-pipeline-components 2, read 2026-11-21.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from jobs.importer.detect import CREATE, SDK_FIELD
from jobs.importer.nodes import Draft, Node, Notes, folded, set_at
from jobs.importer.python.parsing import MAX_LENGTH, parse
from jobs.importer.python.program import Program
from jobs.importer.python.values import JobCall
from jobs.importer.readers.documents import PLACE_NAMES, identify
from jobs.importer.readers.gcloud import command_of, with_command
from jobs.importer.readers.sdk_requests import job_of
from jobs.importer.sdk_names import CREATES, LOCAL_SCRIPT, MAKES_A_JOB, OPERATORS, TRAINING, other_job, positions
from jobs.spec import Severity, quoted
from jobs.texts import translatable as _

PARENT = re.compile(r"projects/(.+?)/locations/([^/]+)")
MAX_JOBS, MAX_BOUND, MAX_TEXTS = 20, 5_000, 50
UNSEEN = ("displayName", "jobSpec", "trialJobSpec", "studySpec", "maxTrialCount", "parallelTrialCount")
"""Fields that unknown `**names` may set."""
OF_INIT = {"project": "project", "location": "location"}
KEYS = dict.fromkeys(("encryption_spec_key_name", "training_encryption_spec_key_name"), "encryption_spec_key_name")
KEYS |= {"model_encryption_spec_key_name": "encryption_spec_key_name"}
"""Arguments of the constructors whose default is an argument of init()."""


def read_program(text: str, notes: Notes, environment: Mapping[str, str] = MappingProxyType({})) -> list[Draft]:
    """Return the jobs that a program creates; parts that are not Python are reported in `notes`.

    `environment` has the variables that are set for it.
    """
    if len(text) > MAX_LENGTH:
        message = _("Python is read only up to %(limit)s characters.", limit=f"{MAX_LENGTH:,}")
        notes.error("too_large", None, message, _("Give only the job."))
        return []
    program, again = (Program(notes, {name: Node(value, 1) for name, value in environment.items()}) for _ in range(2))
    try:
        tree, left_out = parse(text)
        program.follow(tree)
        drafts = list(_drafts(program, notes))
        if not drafts and program.assumptions:  # without its options it makes no job
            again.steps, again.is_assuming = program.steps, False
            again.follow(tree)
            drafts = list(_drafts(again, notes))
    except SyntaxError as error:
        _refuse_syntax(error.msg or "it cannot be parsed", error.lineno, notes)
        return []
    except (RecursionError, MemoryError, ValueError):
        notes.error("unreadable_python", None, _("The Python is nested too deep to be read."), _("Give only the job."))
        return []
    meant = [part for part in left_out if MAKES_A_JOB.search(part.text) or SDK_FIELD.search(part.text)]
    if not drafts and meant:
        _refuse_syntax(meant[0].reason, meant[0].line, notes)
    elif drafts and left_out:
        message = _("This part is not valid Python 3 and is left out: %(reason)s.", reason=quoted(left_out[0].reason))
        if len(left_out) > 1:
            message = _(
                "This part and %(count)s more below are not valid Python 3 and are left out: %(reason)s.",
                count=len(left_out) - 1,
                reason=quoted(left_out[0].reason),
            )
        notes.note("left_out", left_out[0].line, message)
    if not drafts and (other := other_job(text)) is not None:
        message = _("This creates %(what)s, which Trainboard does not run.", what=other[0])
        line = text.count("\n", 0, other[1]) + 1
        notes.error("no_job", line, message, _("Give a custom, tuning or training job."))
    return drafts


def _refuse_syntax(reason: str, line: int | None, notes: Notes) -> None:
    message = _("This is not valid Python 3: %(reason)s.", reason=quoted(reason))
    notes.error("unreadable_python", line, message, _("Give the whole statement."))


def _drafts(program: Program, notes: Notes) -> Iterator[Draft]:
    """Yield the jobs that the calls of a program create, those that are run first; else one assigned to a name."""
    ready = [made for made in program.job_calls if not made.is_used]
    ready.sort(key=lambda made: made.run is None and made.maker in ("CustomJob", *TRAINING))
    if not ready and (bound := _bound_job(program, notes)) is not None:
        commands = ("\n" * (node.line - 1) + text for node in program.texts[:MAX_TEXTS] if (text := _command(node)))
        completed = (with_command(bound, command) for command in commands)
        yield next((each for each in completed if each is not bound), bound)
    for made in ready[:MAX_JOBS]:
        own = Notes()
        if (draft := _draft(made, program, own)) is None:
            notes.extend(own)
        else:
            yield draft._replace(unseen=UNSEEN if made.is_open else draft.unseen, notes=own)


def _command(node: Node) -> str:
    """Return a text or a list of words of a program if it is a command that creates a job, else ""."""
    text = node.value if isinstance(node.value, str) else command_of(node)
    return text if CREATE.search(text) else ""


def _draft(made: JobCall, program: Program, notes: Notes) -> Draft | None:
    if made.maker in CREATES:
        return _created(made, program, notes)
    args, run = _with_defaults(made)
    if made.maker in TRAINING and made.run is None:
        notes.note("not_run", args.line, _("run() is not called in this text; the SDK's defaults are used."))
    draft = job_of(made.maker, args, run, notes, made.custom.maker if made.custom is not None else "")
    # The fields that the program sets in the request of the job, and in that of its custom job.
    inner = made.custom.edits if made.custom is not None else []
    edits = [*((["trialJobSpec", *path[1:]], node) for path, node in inner if path[:1] == ["job_spec"]), *made.edits]
    if lost := [node.line for path, node in edits if not set_at(draft.body, path, node)]:
        message = _("A field of the request is set in a way that cannot be read.")
        notes.error("not_carried", lost[0], message, _("Give it to the job or to run()."))
    return draft


def _with_defaults(made: JobCall) -> tuple[Node, Node]:
    """Return the arguments of the constructor and of run(), completed from `aiplatform.init`.

    `submit` takes only the service account from there, that of a training job only the network. Source:
    `initializer.global_config` in google-cloud-aiplatform 2.7.0, aiplatform/jobs.py and training_jobs.py.
    """
    args, run, names = made.args, made.run or Node({}, made.args.line), OF_INIT
    if made.maker in OPERATORS:
        return _completed(args, made.init, names), run
    known = positions("CustomJob" if made.maker == LOCAL_SCRIPT else made.maker)
    names = names | {name: source for name, source in KEYS.items() if name in known}
    later = ["service_account", "network"]
    if made.is_submitted:
        later = ["network" if made.maker in TRAINING else "service_account"]
    run = _completed(run, made.run_init, {name: name for name in later})
    bucket = {"staging_bucket": "staging_bucket"}
    if made.maker != "HyperparameterTuningJob":
        return _completed(args, made.init, names | bucket), run
    if (custom := args.value.get("custom_job")) is not None:
        args = Node(args.value | {"custom_job": _completed(custom, made.init, bucket)}, args.line)
    return _completed(args, made.init, names), run


def _completed(args: Node, init: dict[str, Node], names: dict[str, str]) -> Node:
    """Return arguments with those of init for what is missing, None or empty, by `{argument: argument of init}`."""
    if not isinstance(args.value, dict):
        return args
    given = {name for name, node in args.value.items() if node.value}
    missing = {name: init[source] for name, source in names.items() if source in init and name not in given}
    return Node(args.value | missing, args.line)


def _created(made: JobCall, program: Program, notes: Notes) -> Draft | None:
    """Return the job of `client.create_custom_job(parent=..., custom_job=...)`, or of the same in `request={...}`."""
    kind = CREATES[made.maker]
    request = made.args.get("request") or made.args
    body, parent = request.get(kind), request.get("parent")
    if body is None or not isinstance(body.value, dict):
        held = _bound_job(program, notes)
        if held is not None and held.kind == kind and _has_pools(held) and "a bare worker pool" not in held.form:
            return held
        notes.error("unknown_job", made.args.line, _("The %(kind)s is not created in this text.", kind=kind))
        return None
    place = PARENT.search(parent.text()) if parent is not None else None
    places = [made.init.get(name) for name in ("project", "location")]
    project, region = place.groups() if place else (node.text() if node is not None else "" for node in places)
    return Draft(kind, body, f"Python that calls {made.maker}", project, region)


def _bound_job(program: Program, notes: Notes) -> Draft | None:
    """Return a job, or its pools, assigned to a name that no call uses; one with pools is preferred."""
    first: tuple[Draft, Notes] | None = None
    for name, node in reversed(list(program.bound.items())[-MAX_BOUND:]):
        if folded(name).endswith("workerpoolspecs") and isinstance(node.value, list) and node.value:
            node = Node({"workerPoolSpecs": node}, node.line)
        own = Notes()
        places = {
            PLACE_NAMES[folded(key)]: item.text() for key, item in node.entries.items() if folded(key) in PLACE_NAMES
        }
        if places and node.get("jobSpec", "trialJobSpec"):  # tools that send a job for a program keep them beside it
            node = Node({key: item for key, item in node.value.items() if folded(key) not in PLACE_NAMES}, node.line)
        draft = identify(node, own)
        if draft is None:
            continue
        draft = draft._replace(form=f"the Python value {quoted(name)}, {draft.form}")
        project, region = places.get("project", draft.project), places.get("region", draft.region)
        draft = draft._replace(project=project, region=region)
        first = first or (draft, own)
        if _has_pools(draft) and "a bare" not in draft.form:
            first = draft, own
            break
    if first is None:
        return None
    # Tools that take a job's spec as a value, such as TFX, keep the project beside the pools.
    for note in first[1].findings:
        is_place = note.code == "misplaced" and folded(note.field) in PLACE_NAMES
        notes.findings.append(replace(note, severity=Severity.NOTE) if is_place else note)
    return first[0]


def _has_pools(draft: Draft) -> bool:
    """Return whether a job has worker pools, or a placeholder for them."""
    spec = draft.body.get("jobSpec", "trialJobSpec", "trainingTaskInputs")
    inner = spec.get("trialJobSpec") if spec is not None else None
    return any(part is not None and part.get("workerPoolSpecs") for part in (draft.body, spec, inner))
