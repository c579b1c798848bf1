"""Read jobs from YAML and JSON documents, in the forms in which people write them, with or without wrappers.

Source of the forms: 539 published specs; gcloud's `--config` help; the REST reference, read 2026-11-21.
"""

from jobs.importer.nodes import Draft, Node, Notes, exceeded_limit, folded, max_jobs
from jobs.importer.readers.ai_platform import converted, is_training_input
from jobs.importer.readers.flat_yaml import read_any_yaml
from jobs.importer.readers.sdk_requests import job_of
from jobs.importer.syntax.json_text import read_json
from jobs.spec import KINDS, CustomJob, CustomJobSpec, quoted
from jobs.spec.shape import slots
from jobs.texts import translatable as _

SPEC_NAMES = frozenset(folded(name) for name in slots(CustomJobSpec))
JOB_NAMES = frozenset(folded(name) for name in slots(CustomJob)) - SPEC_NAMES
PLACE_NAMES = {"project": "project", "projectid": "project", "region": "region", "location": "region"}
SDK_NAMES = frozenset({"stagingbucket", "baseoutputdir", "encryptionspeckeyname", "schedulingstrategy"})
MAX_WRAP_DEPTH, MAX_WRAPPED = 4, 50
FORMS = {
    "pipeline": set(
        "trainingtaskdefinition trainingtaskinputs inputdataconfig modeltoupload modelid parentmodel".split()
    ),
    "tuning": {"studyspec", "trialjobspec"},
    "job": {"jobspec"},
    "spec": {"workerpoolspecs"},
    "pool": {"machinespec", "containerspec", "pythonpackagespec"},
}
"""The forms, and the names by which each is recognised."""
SPEC_ONLY = frozenset(
    "scheduling baseoutputdirectory workerpoolspec workerpools reservedipranges persistentresourceid".split()
)
"""Names that only a job spec has, even if its pools are missing or misspelt."""
UNKNOWN = _("No job was found in this document: it has no workerPoolSpecs, jobSpec or the like.")
KIND = {"pipeline": "training_pipeline", "tuning": "hyperparameter_tuning_job", "job": "custom_job"}
NO_JOBS = {
    "resourcepools": _("This describes a persistent resource, not a job."),
    "pipelinespec": _("This describes a pipeline job of Vertex AI Pipelines, not a training job."),
    "pipelineinfo": _("This describes a pipeline of Vertex AI Pipelines, not a training job."),
    "apiversion": _("This is a Kubernetes manifest, not a job of Vertex AI."),
    "deployedmodels": _("This describes an endpoint, not a job."),
    "nasjobspec": _("This describes a NAS job (neural architecture search), which Trainboard does not run."),
    "dedicatedresources": _("This describes a deployment or a batch prediction, not a training job."),
    "nbformat": _("This is a notebook in which no job was found."),
}


def read_documents(text: str, notes: Notes, *, is_json: bool) -> list[Draft]:
    """Return the jobs in the documents of a JSON or YAML text."""
    documents = _listed_jobs(read_json(text, notes) if is_json else read_any_yaml(text, notes))
    drafts: list[Draft] = []
    for document in documents[: max_jobs(text)]:
        own = Notes()
        if (draft := identify(document, own)) is not None:
            drafts.append(draft._replace(notes=own))
        else:
            notes.findings.extend(own.findings)
    if documents and not drafts:
        refuse_document(documents[0], _("Give a CustomJob, a HyperparameterTuningJob or a TrainingPipeline."), notes)
    return drafts


def read_config(text: str, line: int, notes: Notes) -> Draft | None:
    """Return the job in a text for gcloud's --config; its first line has the number `line`."""
    is_json = text.lstrip().startswith("{")
    documents = read_json(text, notes, line) if is_json else read_any_yaml("\n" * (line - 1) + text, notes)
    if not documents:
        return None
    document = documents[0]
    draft = identify(document, notes)
    if draft is None and isinstance(document.value, dict) and not exceeded_limit(document):
        return Draft("custom_job", Node({"jobSpec": document}, document.line), "what should be a CustomJobSpec")
    return draft


def refuse_document(node: Node, remedy: str, notes: Notes) -> None:
    """Report a document without a job, with what it describes if that is known."""
    message = next((text for name, text in NO_JOBS.items() if node.get(name) is not None), UNKNOWN)
    notes.error("no_job", node.line, message, remedy)


def looks_like(node: Node) -> str:
    """Return the form of a value: one of FORMS, "pools", "calls" for the SDK's arguments, or ""."""
    if isinstance(node.value, list):
        items = [item for item in node.value[:MAX_WRAPPED] if isinstance(item.value, dict)]
        is_whole = len(items) == len(node.value[:MAX_WRAPPED])
        return "pools" if is_whole and any(looks_like(item) == "pool" for item in items) else ""
    names = {folded(name) for name in node.entries}
    form = next((form for form, known in FORMS.items() if names & known), "")
    if form:
        return "calls" if form == "spec" and names & SDK_NAMES and "displayname" in names else form
    if names & SPEC_ONLY and not names & {"spec", "run"}:
        return "spec"
    return "job" if names and names <= JOB_NAMES and names & {"displayname", "labels"} else ""


def identify(node: Node, notes: Notes, depth: int = 0, inside: str = "") -> Draft | None:
    """Return the job in a document, without wrappers; None if there is none."""
    if depth == 0 and (message := exceeded_limit(node)):
        notes.error("too_much", node.line, message, _("Give one job."))
        return None
    if is_training_input(node):
        return converted(node, notes)
    form = looks_like(node)
    if form == "pipeline" and (job := _documented_job(node, notes)) is not None:
        return Draft("custom_job", job, "a CustomJob as documentation shows it" + inside)
    if form in KIND:
        return Draft(KIND[form], node, f"a {KINDS[KIND[form]].__name__}{inside}")
    if form == "calls":
        return job_of("CustomJob", node, None, notes)
    if form == "spec":
        return _of_spec(node, notes, "a bare CustomJobSpec, which gcloud's --config takes" + inside)
    if form in ("pools", "pool"):
        pools = node if form == "pools" else Node([node], node.line)
        words = "a bare list of worker pools" if form == "pools" else "a bare worker pool"
        return _of_spec(Node({"workerPoolSpecs": pools}, node.line), notes, words + inside)
    return _unwrap(node, notes, depth) if depth < MAX_WRAP_DEPTH else None


def _listed_jobs(documents: list[Node]) -> list[Node]:
    """Return the documents, with the items of a list of jobs in place of the list."""
    listed: list[Node] = []
    for document in documents:
        items = document.value if isinstance(document.value, list) and len(document.value) > 1 else []
        is_list = items and all(looks_like(item) in ("job", "spec", "tuning", "pipeline", "calls") for item in items)
        listed.extend(items if is_list else [document])
    return listed


def _documented_job(node: Node, notes: Notes) -> Node | None:
    """Return a custom job as shown in Google's pages, with jobSpec named trainingTaskInputs; None for others."""
    name, inputs = node.get("name"), node.key("trainingTaskInputs")
    if name is None or "/customJobs/" not in name.text() or node.get("trainingTaskDefinition") or inputs is None:
        return None
    message = _(
        "%(inputs)s of a custom job is read as jobSpec. Google's pages show it like this, but the API does not accept "
        "it.",
        inputs=quoted(inputs),
    )
    notes.note("shown_otherwise", node.value[inputs].line, message, _("Write jobSpec."), "jobSpec")
    return Node({"jobSpec" if key == inputs else key: item for key, item in node.value.items()}, node.line)


def _of_spec(spec: Node, notes: Notes, form: str) -> Draft:
    """Return a CustomJob for a bare spec; fields that belong above the spec are moved there and reported."""
    inner: dict[str, Node] = {}
    outer: dict[str, Node] = {}
    places = {"project": "", "region": ""}
    for name, item in spec.value.items():
        place, remedy = PLACE_NAMES.get(folded(name)), _("gcloud takes it as a flag, REST in the address.")
        message = _("%(name)s is not a field of CustomJobSpec; it is read as the region of the job.", name=quoted(name))
        if folded(name) in JOB_NAMES:
            outer[name] = item
            message = _(
                "%(name)s is not a field of CustomJobSpec; it is read as a field of the job.", name=quoted(name)
            )
            remedy = _("Put it beside a jobSpec, or give it to gcloud as a flag.")
        elif place and isinstance(item.value, str):
            places[place] = item.value
        else:
            inner[name] = item
            continue
        notes.error("misplaced", item.line, message, remedy, quoted(name)[1:-1])
    body = Node({**outer, "jobSpec": Node(inner, spec.line)}, spec.line)
    return Draft("custom_job", body, form, places["project"], places["region"])


def _unwrap(node: Node, notes: Notes, depth: int) -> Draft | None:
    if isinstance(node.value, list) and len(node.value) == 1:
        return identify(node.value[0], notes, depth + 1, ", in a list")
    entries = list(node.entries.items())[:MAX_WRAPPED]
    if any(folded(name) in NO_JOBS for name, _ in entries):
        return None
    spec, run = node.entries.get("spec"), node.entries.get("run")
    if spec is not None and run is not None and looks_like(spec) in ("spec", "calls") and isinstance(run.value, dict):
        return job_of("CustomJob", spec, run, notes)
    for name, item in entries:
        own = Notes()
        draft = None if item.is_scalar else identify(item, own, depth + 1, f", inside {quoted(name)}")
        if draft is None:
            continue
        for other, left in node.value.items():
            if other != name and left.value is not None and not _taken(draft, other, left):
                message = _(
                    "%(other)s is left out; the job is read from %(name)s.",
                    other=quoted(other),
                    name=quoted(name),
                )
                note = notes.error if folded(other) in SPEC_NAMES | JOB_NAMES else notes.note
                note("not_carried", left.line, message, "", quoted(other)[1:-1])
        notes.extend(own)
        places = {PLACE_NAMES.get(folded(key), ""): left.text() for key, left in node.value.items() if key != name}
        project, region = (getattr(draft, place) or places.get(place, "") for place in ("project", "region"))
        return draft._replace(project=project, region=region)
    return None


def _taken(draft: Draft, name: str, node: Node) -> bool:
    """Give a job the name, labels or place that stand beside it; return False for anything else."""
    if folded(name) in PLACE_NAMES and isinstance(node.value, str):
        return not getattr(draft, PLACE_NAMES[folded(name)])
    is_field = folded(name) in JOB_NAMES and isinstance(draft.body.value, dict) and draft.body.get(name) is None
    if is_field:
        draft.body.value[name] = node
    return is_field
