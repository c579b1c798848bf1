"""Location of the parts of a job in the REST body of each kind. The form's own body has the same paths for all kinds.

In the form's body the CustomJobSpec is `jobSpec` and the study is `studySpec`, next to the fields of the resource.
"""

from dataclasses import dataclass
from typing import Any

from dashboard.forms.compose import paths
from jobs.spec import COLLECTIONS, CUSTOM_TASK, KINDS, TUNING_TASK, Submission
from jobs.spec.shape import fields

INPUTS = "trainingTaskInputs"
JOB_SPEC = "jobSpec"
STUDY_FIELDS = ("studySpec", "maxTrialCount", "parallelTrialCount", "maxFailedTrialCount")
WORKER_POOLS = f"{JOB_SPEC}.workerPoolSpecs"
PARAMETERS = "studySpec.parameters"


@dataclass(frozen=True, slots=True)
class Layout:
    """The kind of a job. `tunes` is whether it searches parameters, which a pipeline may or may not do."""

    kind: str = "custom_job"
    tunes: bool = False

    @property
    def spec_path(self) -> str:
        """The path of the CustomJobSpec."""
        if self.kind == "training_pipeline":
            return f"{INPUTS}.trialJobSpec" if self.tunes else INPUTS
        return "trialJobSpec" if self.tunes else JOB_SPEC

    @property
    def study_path(self) -> str:
        """The prefix of the paths of study and trial counts, including its dot."""
        return f"{INPUTS}." if self.kind == "training_pipeline" else ""

    def to_rest(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the REST body of this kind. Fields of other kinds, and a study without tuning, are omitted."""
        own = {slot.alias for slot in fields(KINDS[self.kind])}
        others = {slot.alias for kind in COLLECTIONS for slot in fields(KINDS[kind])} - own
        moved = {JOB_SPEC, *STUDY_FIELDS, *others}  # a field that no kind has may be new at Vertex AI
        rest = {name: value for name, value in body.items() if name not in moved}
        if self.kind == "training_pipeline":
            rest.setdefault("trainingTaskDefinition", TUNING_TASK if self.tunes else CUSTOM_TASK)
        paths.put(rest, self.spec_path, body.get(JOB_SPEC, {}))
        for name in STUDY_FIELDS if self.tunes else ():
            if name in body:
                paths.put(rest, f"{self.study_path}{name}", body[name])
        return rest

    def from_rest(self, rest: dict[str, Any]) -> dict[str, Any]:
        """Return the form's body for a REST body, which is modified."""
        moved = {JOB_SPEC: self.spec_path} | {name: f"{self.study_path}{name}" for name in STUDY_FIELDS if self.tunes}
        parts = {name: paths.get(rest, path) for name, path in moved.items()}
        parts = {name: value for name, value in parts.items() if value is not paths.MISSING}
        if not isinstance(parts.get(JOB_SPEC), dict):
            parts.pop(JOB_SPEC, None)
        for name in parts:
            paths.take(rest, moved[name])
        if rest.get("trainingTaskDefinition") in (CUSTOM_TASK, TUNING_TASK):
            del rest["trainingTaskDefinition"]
        return rest | parts

    def form_path(self, path: str) -> str:
        """Return a path of the REST body as a path of the form's body."""
        if f"{path}.".startswith(f"{self.spec_path}."):
            return JOB_SPEC + path[len(self.spec_path) :]
        return path.removeprefix(self.study_path)


def layout_of(submission: Submission) -> Layout:
    """Return the layout of a submission's body."""
    return Layout(submission.kind, submission.tuning is not None)
