"""What is kept about each resource: the document that clients see and the life that they do not."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from emulator.protocol.documents import Document

TERMINAL = frozenset(
    {
        "JOB_STATE_SUCCEEDED",
        "JOB_STATE_FAILED",
        "JOB_STATE_CANCELLED",
        "JOB_STATE_EXPIRED",
        "JOB_STATE_PARTIALLY_SUCCEEDED",
    }
)


class Phase(StrEnum):
    """Where a custom job is in its life; finer than the state that clients see."""

    QUEUED = "queued"
    """Waits for quota, capacity or a persistent resource (QUEUED or PENDING)."""
    PROVISIONING = "provisioning"
    """Machines are being prepared (PENDING)."""
    STARTING = "starting"
    """Replicas are starting; some may already run user code (PENDING)."""
    RUNNING = "running"
    """All replicas are there (RUNNING)."""
    STOPPING = "stopping"
    """Replicas were told to end; `then` says what follows."""
    TEARDOWN = "teardown"
    """The program has ended, the service cleans up; the outcome is not public yet."""
    REPORTING = "reporting"
    """The end is public, its error is not yet: only in stories."""
    DONE = "done"


@dataclass(kw_only=True)
class Record:
    """One resource of one project and location. seq: order of creation, never reused; timers: when what is due."""

    kind: ClassVar[str] = ""
    message: ClassVar[str] = ""

    project: str
    project_id: str
    location: str
    id: str
    seq: int
    document: Document
    timers: dict[str, float] = field(default_factory=dict)

    @property
    def parent(self) -> str:
        """Return `projects/NUMBER/locations/REGION`."""
        return f"projects/{self.project}/locations/{self.location}"

    @property
    def name(self) -> str:
        """Return the full resource name."""
        return f"{self.parent}/{self.kind}/{self.id}"


@dataclass(kw_only=True)
class Lived(Record):
    """A resource with a life. history: [moment, state]; told: how often an answer has shown each of them."""

    history: list[list[Any]] = field(default_factory=list)
    told: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.told += [0] * (len(self.history) - len(self.told))  # a record from before answers were counted

    @property
    def state(self) -> str:
        """Return the public state."""
        return str(self.document["state"])

    @property
    def is_finished(self) -> bool:
        """Tell whether the public state is final."""
        return self.state.replace("PIPELINE", "JOB") in TERMINAL

    def live(self, moment: float, state: str) -> None:
        """Enter a public state."""
        self.history.append([moment, state])
        self.told.append(0)


@dataclass(kw_only=True)
class Operation(Record):
    """A long-running operation.

    holder: `persistentResources/ID` when its name is nested there, else ""; version: of the call that began it.
    """

    kind: ClassVar[str] = "operations"

    holder: str = ""
    version: str = "v1"

    @property
    def name(self) -> str:
        """Return the full name, nested or not."""
        return f"{self.parent}/{self.holder + '/' if self.holder else ''}operations/{self.id}"


@dataclass(kw_only=True)
class Job(Lived):
    """A custom job. Times are seconds since 1970."""

    kind: ClassVar[str] = "customJobs"
    message: ClassVar[str] = "CustomJob"

    story: str = ""  # "" = real processes
    phase: Phase = Phase.QUEUED
    then: str = ""  # what follows STOPPING: "teardown", "requeue", "restart", "cancelled"
    outcome: Document | None = None  # {"state", "error"?, "line"?}: decided, not yet public
    replicas: dict[str, str] = field(default_factory=dict)  # name -> "running", "waiting" or "exited"
    hosts: int = 1  # changes when the job gets other machines; the host names of its replicas do not
    attempt: int = 1
    retries: int = 0
    preemptions: int = 0
    stockouts: int = 0
    breakdowns: int = 0
    worker_restarts: dict[str, int] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)  # replica -> its port on 127.0.0.1, the same in every attempt
    holds_capacity: bool = False
    owner: str = ""  # the tuning job or pipeline that made it
    trial: str = ""

    @property
    def vm(self) -> str:
        """Return the name of the machines that it has now."""
        return f"gk3-cml-{self.id[-10:]}-{self.hosts}"

    @property
    def spec(self) -> Document:
        """Return the CustomJobSpec."""
        spec: Document = self.document["jobSpec"]
        return spec

    @property
    def pools(self) -> list[tuple[int, Document]]:
        """Return (index, pool) of the pools that are not empty."""
        return [(index, pool) for index, pool in enumerate(self.spec["workerPoolSpecs"]) if pool]

    @property
    def replica_names(self) -> list[str]:
        """Return `workerpool0-0` and all others, in order."""
        return [
            f"workerpool{index}-{number}"
            for index, pool in self.pools
            for number in range(int(pool.get("replicaCount", "1")))
        ]

    @property
    def scheduling(self) -> Document:
        """Return the Scheduling message, {} if absent."""
        scheduling: Document = self.spec.get("scheduling", {})
        return scheduling

    @property
    def strategy(self) -> str:
        """Return the strategy in today's words."""
        given = str(self.scheduling.get("strategy", "STANDARD"))
        return {"LOW_COST": "SPOT", "ON_DEMAND": "STANDARD", "STRATEGY_UNSPECIFIED": "STANDARD"}.get(given, given)


@dataclass(kw_only=True)
class Study(Lived):
    """A hyperparameter tuning job. is_open: more trials may follow."""

    kind: ClassVar[str] = "hyperparameterTuningJobs"
    message: ClassVar[str] = "HyperparameterTuningJob"

    is_open: bool = True
    has_failed: bool = False
    failed: int = 0
    owner: str = ""

    @property
    def spec(self) -> Document:
        """Return the StudySpec."""
        spec: Document = self.document["studySpec"]
        return spec

    @property
    def trials(self) -> list[Document]:
        """Return the trials, to be changed in place."""
        trials: list[Document] = self.document.setdefault("trials", [])
        return trials

    @property
    def running(self) -> list[str]:
        """Return the names of the jobs of trials that have not ended."""
        return [trial.get("customJob", "") for trial in self.trials if trial["state"] in ("ACTIVE", "STOPPING")]

    def trial(self, trial_id: str) -> Document:
        """Return a trial by its id, "1" the first."""
        return self.trials[int(trial_id) - 1]


@dataclass(kw_only=True)
class Pipeline(Lived):
    """A training pipeline. child: the name of the job or study that does its work."""

    kind: ClassVar[str] = "trainingPipelines"
    message: ClassVar[str] = "TrainingPipeline"

    child: str = ""


@dataclass(kw_only=True)
class Pool(Record):
    """A persistent resource. used: `{pool id: {job name: replicas}}`; operation: the one that is under way."""

    kind: ClassVar[str] = "persistentResources"
    message: ClassVar[str] = "PersistentResource"

    used: dict[str, dict[str, int]] = field(default_factory=dict)
    operation: str = ""

    @property
    def state(self) -> str:
        """Return the public state."""
        return str(self.document["state"])


@dataclass(kw_only=True)
class Plan(Record):
    """How capacity changes over time; document: `{"plan": present plan, "changes": [what is still to come]}`."""

    kind: ClassVar[str] = "capacity"


@dataclass(kw_only=True)
class Model(Record):
    """A model that a pipeline has uploaded; only its description is kept."""

    kind: ClassVar[str] = "models"
    message: ClassVar[str] = "Model"
