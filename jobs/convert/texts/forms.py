"""What a YAML or JSON document describes: recognises the forms in which people write jobs, and unwraps them.

Source of the forms: 539 published specs; gcloud's `--config` help; the REST reference, read 2026-11-21.
"""

from collections.abc import Callable

from jobs.convert.commands.ai_platform import job_of_training
from jobs.convert.texts.nodes import Draft, Node, Notes, folded
from jobs.spec import KINDS, CustomJob, CustomJobSpec, quoted
from jobs.spec.shape import slots

POOL_NAMES = frozenset({"machinespec", "containerspec", "pythonpackagespec"})
SPEC_NAMES = frozenset(folded(name) for name in slots(CustomJobSpec))
ABOVE = frozenset(folded(name) for name in slots(CustomJob)) - SPEC_NAMES
TELLING = frozenset(
    "scheduling baseoutputdirectory workerpoolspec workerpools reservedipranges persistentresourceid".split()
)
"""Names that only a job spec has, also where its pools are missing or misspelt."""
DEEPEST_WRAP = 4
MOST_WRAPPED = 50
PIPELINE_NAMES = frozenset(
    "trainingtaskdefinition trainingtaskinputs inputdataconfig modeltoupload modelid parentmodel".split()
)
WHOLE = {"pipeline": "training_pipeline", "tuning": "hyperparameter_tuning_job", "job": "custom_job"}
NO_JOBS = {
    "resourcepools": "describes a persistent resource, not a job",
    "pipelinespec": "describes a pipeline job of Vertex AI Pipelines, not a training job",
    "pipelineinfo": "describes a pipeline of Vertex AI Pipelines, not a training job",
    "apiversion": "is a Kubernetes manifest, not a job of Vertex AI",
    "deployedmodels": "describes an endpoint, not a job",
    "nasjobspec": "describes a NAS job (neural architecture search), which Trainboard does not run",
    "dedicatedresources": "describes a deployment or a batch prediction, not a training job",
    "nbformat": "is a notebook in which no job was found",
}
SDK_ONLY = frozenset({"stagingbucket", "baseoutputdir", "encryptionspeckeyname", "schedulingstrategy"})
FromCall = Callable[[Node, Node | None, Notes], Draft]


def looks_like(node: Node) -> str:
    """Name the form of a value, or return nothing: pipeline, tuning, job, spec, pools, pool, calls."""
    if isinstance(node.value, list):
        pools = [item for item in node.value[:MOST_WRAPPED] if isinstance(item.value, dict)]
        whole = len(pools) == len(node.value[:MOST_WRAPPED])
        return "pools" if whole and any(looks_like(item) == "pool" for item in pools) else ""
    if not isinstance(node.value, dict):
        return ""
    names = {folded(name) for name in node.value}
    if names & PIPELINE_NAMES:
        return "pipeline"
    if names & {"traininginput", "scaletier", "mastertype"}:
        return "training"
    if names & {"studyspec", "trialjobspec"}:
        return "tuning"
    if "jobspec" in names:
        return "job"
    if "workerpoolspecs" in names:
        return "calls" if names & SDK_ONLY and "displayname" in names else "spec"
    if names & POOL_NAMES:
        return "pool"
    if names & TELLING and not names & {"spec", "run"}:
        return "spec"
    return "job" if names and names <= ABOVE and names & {"displayname", "labels"} else ""


def listed_jobs(documents: list[Node]) -> list[Node]:
    """Take lists of jobs apart, so that each job counts as a document of its own."""
    found: list[Node] = []
    for document in documents:
        items = document.value if isinstance(document.value, list) and len(document.value) > 1 else []
        jobs = items and all(looks_like(item) in ("job", "spec", "tuning", "pipeline", "calls") for item in items)
        found.extend(items if jobs else [document])
    return found


def refusal(node: Node) -> str:
    """Say what a document is that holds no job."""
    names = {folded(name) for name in node.value} if isinstance(node.value, dict) else set()
    known = next((words for name, words in NO_JOBS.items() if name in names), "")
    return f"This {known}." if known else "No job was found in it: nothing is named workerPoolSpecs, jobSpec or alike."


def identify(node: Node, notes: Notes, from_call: FromCall, depth: int = 0, inside: str = "") -> Draft | None:
    """Return the job that a document holds, wrappers taken off; None when it holds none."""
    form = looks_like(node)
    if form == "pipeline" and (job := _shown_job(node, notes)) is not None:
        return Draft("custom_job", job, "a CustomJob as documentation shows it" + inside)
    if form == "training":
        return job_of_training(node, notes)
    if form in WHOLE:
        return Draft(WHOLE[form], node, f"a {KINDS[WHOLE[form]].__name__}{inside}")
    if form == "calls":
        return from_call(node, None, notes)
    if form == "spec":
        return _of_spec(node, notes, "a bare CustomJobSpec, which gcloud's --config takes" + inside)
    if form in ("pools", "pool"):
        pools = node if form == "pools" else Node([node], node.line)
        words = "a bare list of worker pools" if form == "pools" else "a bare worker pool"
        return _of_spec(Node({"workerPoolSpecs": pools}, node.line), notes, words + inside)
    return _unwrap(node, notes, from_call, depth) if depth < DEEPEST_WRAP else None


def _shown_job(node: Node, notes: Notes) -> Node | None:
    """Read the answers that Google's pages show for custom jobs, where jobSpec stands as trainingTaskInputs."""
    name = node.get("name")
    inputs = next((key for key in node.value if folded(key) == "trainingtaskinputs"), "")
    if name is None or "/customJobs/" not in name.text() or node.get("trainingTaskDefinition") or not inputs:
        return None
    message = (
        f"{quoted(inputs)} of a custom job is read as jobSpec; Google's pages show it so, the API does not take it."
    )
    notes.advise("shown_otherwise", node.value[inputs].line, message, "Write jobSpec.", "jobSpec")
    return Node({"jobSpec" if key == inputs else key: item for key, item in node.value.items()}, node.line)


def _of_spec(spec: Node, notes: Notes, form: str) -> Draft:
    """Make a CustomJob of a bare spec; fields that belong above it are moved there and refused."""
    inner: dict[str, Node] = {}
    outer: dict[str, Node] = {}
    places: dict[str, str] = {}
    for name, item in spec.value.items():
        plain_name = folded(name)
        if plain_name in ABOVE:
            outer[name] = item
            message = f"{quoted(name)} is no field of a CustomJobSpec; it is taken as the job's own."
            remedy = "Put it beside a jobSpec, or give it to gcloud as a flag."
            notes.refuse("misplaced", item.line, message, remedy, quoted(name)[1:-1])
        elif plain_name in ("project", "projectid", "region", "location") and isinstance(item.value, str):
            places["project" if plain_name.startswith("project") else "region"] = item.value
            message = f"{quoted(name)} is no field of a CustomJobSpec; it is taken as where the job runs."
            notes.refuse("misplaced", item.line, message, "gcloud takes it as a flag, REST in the address.", name)
        else:
            inner[name] = item
    body = Node({**outer, "jobSpec": Node(inner, spec.line)}, spec.line)
    return Draft("custom_job", body, form, places.get("project", ""), places.get("region", ""))


def _unwrap(node: Node, notes: Notes, from_call: FromCall, depth: int) -> Draft | None:
    entries = list(node.value.items())[:MOST_WRAPPED] if isinstance(node.value, dict) else []
    if isinstance(node.value, list) and len(node.value) == 1:
        return identify(node.value[0], notes, from_call, depth + 1, ", in a list")
    if any(folded(name) in NO_JOBS for name, _ in entries):
        return None
    spec, run = node.get("spec"), node.get("run")
    if spec is not None and run is not None and looks_like(spec) in ("spec", "calls") and isinstance(run.value, dict):
        return from_call(spec, run, notes)
    for name, item in entries:
        if isinstance(item.value, dict | list) and _holds_job(item, depth + 1):
            for other, left in node.value.items():
                if other != name and left.value is not None:
                    message = f"{quoted(other)} beside {quoted(name)} is not carried; the job is read from the latter."
                    note = notes.refuse if folded(other) in SPEC_NAMES | ABOVE else notes.advise
                    note("not_carried", left.line, message, "", quoted(other)[1:-1])
            return identify(item, notes, from_call, depth + 1, f", inside {quoted(name)}")
    return None


def _holds_job(node: Node, depth: int) -> bool:
    if looks_like(node):
        return True
    if depth >= DEEPEST_WRAP or not isinstance(node.value, dict):
        return False
    return any(_holds_job(item, depth + 1) for item in list(node.value.values())[:MOST_WRAPPED])
