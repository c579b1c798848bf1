"""Where the parts of a job lie in the REST body of its kind."""

from dataclasses import dataclass, field
from typing import Any

from dashboard.forms.body import paths
from jobs.spec import CUSTOM_TASK, TUNING_TASK, Submission

STUDY_FIELDS = ("studySpec", "maxTrialCount", "parallelTrialCount", "maxFailedTrialCount")
INPUTS = "trainingTaskInputs"


@dataclass(slots=True)
class Parts:
    """A body in its parts: the resource, its study and trial counts, its CustomJobSpec, its pools, its parameters."""

    resource: dict[str, Any] = field(default_factory=dict)
    tuning: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    pools: list[dict[str, Any]] = field(default_factory=list)
    parameters: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Layout:
    """The kind of a job; `tunes` tells whether it searches parameters, which a pipeline may or may not."""

    kind: str = "custom_job"
    tunes: bool = False

    @property
    def spec_path(self) -> str:
        """The path of the CustomJobSpec."""
        if self.kind == "training_pipeline":
            return f"{INPUTS}.trialJobSpec" if self.tunes else INPUTS
        return "trialJobSpec" if self.tunes else "jobSpec"

    @property
    def tuning_path(self) -> str:
        """What the paths of study and trial counts begin with, its dot included."""
        return f"{INPUTS}." if self.kind == "training_pipeline" else ""

    def joined(self, parts: Parts) -> dict[str, Any]:
        """Return the body that the parts make."""
        body = dict(parts.resource)
        if self.kind == "training_pipeline":
            body.setdefault("trainingTaskDefinition", TUNING_TASK if self.tunes else CUSTOM_TASK)
        spec = parts.spec | {"workerPoolSpecs": [*parts.pools, *parts.spec.get("workerPoolSpecs", [])]}
        paths.put(body, self.spec_path, spec)
        if self.tunes:
            study = parts.tuning.get("studySpec", {})
            parameters = [*parts.parameters, *study.get("parameters", [])]
            tuning = parts.tuning | {"studySpec": study | ({"parameters": parameters} if parameters else {})}
            for name, value in tuning.items():
                paths.put(body, f"{self.tuning_path}{name}", value)
        return body

    def parted(self, body: dict[str, Any]) -> Parts:
        """Return the parts of `body`, which is used up."""
        parts = Parts(resource=body)
        if isinstance(spec := paths.get(body, self.spec_path), dict):
            parts.spec = dict(spec)
            paths.take(body, self.spec_path)
        parts.pools = list(parts.spec.pop("workerPoolSpecs", []))
        for name in STUDY_FIELDS if self.tunes else ():
            if (value := paths.get(body, f"{self.tuning_path}{name}")) is not paths.MISSING:
                parts.tuning[name] = value
                paths.take(body, f"{self.tuning_path}{name}")
        if isinstance(study := parts.tuning.get("studySpec"), dict):
            parts.parameters = list(study.pop("parameters", []))
        if body.get("trainingTaskDefinition") in (CUSTOM_TASK, TUNING_TASK):
            del body["trainingTaskDefinition"]
        return parts


def layout_of(submission: Submission) -> Layout:
    """Return the layout of a submission's body."""
    return Layout(submission.kind, submission.tuning is not None)
