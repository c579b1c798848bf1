"""The records of all resources: the document that clients see, and internal data."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from emulator.protocol.documents import Document

FINAL_STATES = frozenset(f"JOB_STATE_{end}" for end in "SUCCEEDED FAILED CANCELLED EXPIRED PARTIALLY_SUCCEEDED".split())
PRIMARY = "workerpool0-0"
"""The replica whose end is the end of the job."""


class Phase(StrEnum):
    """The phase of a custom job's life. It is finer than the state that clients see."""

    QUEUED = "queued"
    """Waits for quota, capacity or a persistent resource (QUEUED or PENDING)."""
    PROVISIONING = "provisioning"
    """Machines are being prepared (PENDING)."""
    STARTING = "starting"
    """Replicas are starting. Some may already run user code (PENDING)."""
    RUNNING = "running"
    """All replicas have started (RUNNING)."""
    STOPPING = "stopping"
    """Replicas are being ended. `then` is the next step."""
    TEARDOWN = "teardown"
    """The program has ended and the service notices it (TEARDOWN), cleans up (CLEANING), and publishes the end (ENDED).
    The outcome is not public yet."""
    CLEANING = "cleaning"
    ENDED = "ended"
    REPORTING = "reporting"
    """The end is public, but not its error. Only in scripts."""
    DONE = "done"


@dataclass(kw_only=True)
class Record:
    """One resource of a project and location. `seq` is the order of creation, never reused; `timers` are due times."""

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
        """The name of the location: `projects/NUMBER/locations/REGION`."""
        return f"projects/{self.project}/locations/{self.location}"

    @property
    def name(self) -> str:
        """The full resource name."""
        return f"{self.parent}/{self.kind}/{self.id}"

    @property
    def state(self) -> str:
        """The public state of a resource that has one."""
        return str(self.document["state"])


@dataclass(kw_only=True)
class WithHistory(Record):
    """A resource with its `history` of [time, state]. `answers`: how many responses have shown each state."""

    history: list[list[Any]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answers += [0] * (len(self.history) - len(self.answers))  # a record from before responses were counted

    @property
    def is_finished(self) -> bool:
        """Whether the public state is final."""
        return self.state.replace("PIPELINE", "JOB") in FINAL_STATES

    def add_to_history(self, moment: float, state: str) -> None:
        """Add a public state, which no response has shown yet."""
        self.history.append([moment, state])
        self.answers.append(0)


@dataclass(kw_only=True)
class Operation(Record):
    """A long-running operation.

    `holder` is `persistentResources/ID` if its name is nested there, else "". `version` is that of the call that
    started it.
    """

    kind: ClassVar[str] = "operations"

    holder: str = ""
    version: str = "v1"

    @property
    def name(self) -> str:
        """The full name, nested or not."""
        return f"{self.parent}/{self.holder + '/' if self.holder else ''}operations/{self.id}"


@dataclass(kw_only=True)
class Job(WithHistory):
    """A custom job. Times are seconds since 1970."""

    kind: ClassVar[str] = "customJobs"
    message: ClassVar[str] = "CustomJob"

    script: str = ""  # "" = processes
    script_times: dict[str, Any] = field(default_factory=dict)  # replace those of the script
    phase: Phase = Phase.QUEUED
    then: str = ""  # what follows STOPPING: "teardown", "requeue", "restart", "cancelled"
    outcome: Document | None = None  # {"state", "error"?, "line"?}: decided, not yet public
    replicas: dict[str, str] = field(default_factory=dict)  # "running", "moving", "evicted", "waiting" or "exited"
    hosts: int = 1  # incremented when the job gets other machines; host names do not change
    machines: dict[str, int] = field(default_factory=dict)  # replica -> `hosts` when it got its current machine
    attempt: int = 1
    retries: int = 0
    preemptions: int = 0
    stockouts: int = 0
    breakdowns: int = 0
    worker_restarts: dict[str, int] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)  # replica -> its port on 127.0.0.1, the same in every attempt
    holds_capacity: bool = False
    waits_since: float = 0.0  # when it was created, or went back from running
    runs_since: float = 0.0  # when it last entered RUNNING
    first_start: float = 0.0  # the settled start of its first run
    ended_at: float = 0.0  # the whole second of its end, 0 before
    owner: str = ""  # the tuning job or pipeline that created it
    trial: str = ""

    @property
    def is_ending(self) -> bool:
        """Whether a replica has failed permanently and the service has not ended the job yet."""
        return "end" in self.timers

    @property
    def has_started(self) -> bool:
        """Whether its replicas may be running and are not being ended."""
        return self.phase in (Phase.STARTING, Phase.RUNNING)

    @property
    def running_replicas(self) -> list[str]:
        """The replicas that are running."""
        return [name for name, state in self.replicas.items() if state in ("running", "moving", "evicted")]

    def machine_name(self, replica: str) -> str:
        """Return the name of the current machine of a replica."""
        return f"gk3-cml-{self.id[-10:]}-{self.machines.get(replica, self.hosts)}-{replica}"

    @property
    def spec(self) -> Document:
        """The CustomJobSpec."""
        spec: Document = self.document["jobSpec"]
        return spec

    @property
    def worker_pools(self) -> list[tuple[int, Document]]:
        """(index, worker pool) of each pool that is not empty."""
        return [(index, pool) for index, pool in enumerate(self.spec["workerPoolSpecs"]) if pool]

    @property
    def replica_names(self) -> list[str]:
        """The names of all replicas, the primary first."""
        return [
            f"workerpool{index}-{number}"
            for index, pool in self.worker_pools
            for number in range(int(pool.get("replicaCount", "1")))
        ]

    @property
    def scheduling(self) -> Document:
        """The Scheduling message, {} if absent."""
        scheduling: Document = self.spec.get("scheduling", {})
        return scheduling

    @property
    def strategy(self) -> str:
        """The strategy, by its current name."""
        name = str(self.scheduling.get("strategy", "STANDARD"))
        return {"LOW_COST": "SPOT", "ON_DEMAND": "STANDARD", "STRATEGY_UNSPECIFIED": "STANDARD"}.get(name, name)


@dataclass(kw_only=True)
class Study(WithHistory):
    """A hyperparameter tuning job. `is_open`: more trials may follow; `is_cancelled`: its trials are being ended."""

    kind: ClassVar[str] = "hyperparameterTuningJobs"
    message: ClassVar[str] = "HyperparameterTuningJob"

    is_open: bool = True
    is_cancelled: bool = False
    has_failed: bool = False
    failed: int = 0
    owner: str = ""

    @property
    def spec(self) -> Document:
        """The StudySpec."""
        spec: Document = self.document["studySpec"]
        return spec

    @property
    def trials(self) -> list[Document]:
        """The trials. Callers change those in it in place, and add with `add_trial`."""
        trials: list[Document] = self.document.get("trials", [])
        return trials

    def add_trial(self, trial: Document) -> None:
        """Add a trial."""
        self.document.setdefault("trials", []).append(trial)

    @property
    def running(self) -> list[str]:
        """The names of the jobs of trials that have not ended."""
        return [trial.get("customJob", "") for trial in self.trials if trial["state"] in ("ACTIVE", "STOPPING")]

    def trial(self, trial_id: str) -> Document:
        """Return a trial by its id, "1" for the first."""
        return self.trials[int(trial_id) - 1]


@dataclass(kw_only=True)
class Pipeline(WithHistory):
    """A training pipeline. `child` is the name of the job or study that does its work."""

    kind: ClassVar[str] = "trainingPipelines"
    message: ClassVar[str] = "TrainingPipeline"

    child: str = ""


@dataclass(kw_only=True)
class PersistentResource(Record):
    """A persistent resource. `used`: `{resource pool id: {job name: replicas}}`; `operation`: the current one."""

    kind: ClassVar[str] = "persistentResources"
    message: ClassVar[str] = "PersistentResource"

    used: dict[str, dict[str, int]] = field(default_factory=dict)
    operation: str = ""


@dataclass(kw_only=True)
class CapacityPlan(Record):
    """A capacity plan with its changes; `document` is `{"plan": current plan, "changes": [...]}`."""

    kind: ClassVar[str] = "capacity"


@dataclass(kw_only=True)
class Nested(Record):
    """A resource below another one: `holder` is the part of the name in between, such as `metadataStores/default`."""

    holder: str = ""

    @property
    def name(self) -> str:
        """The full name."""
        return f"{self.parent}/{self.holder + '/' if self.holder else ''}{self.kind}/{self.id}"


@dataclass(kw_only=True)
class MetadataStore(Nested):
    """A metadata store, which contains experiments and their runs as contexts."""

    kind: ClassVar[str] = "metadataStores"
    message: ClassVar[str] = "MetadataStore"


@dataclass(kw_only=True)
class Context(Nested):
    """An experiment or a run of one."""

    kind: ClassVar[str] = "contexts"
    message: ClassVar[str] = "Context"


@dataclass(kw_only=True)
class Artifact(Nested):
    """Something that a run used or wrote, such as its TensorBoard run."""

    kind: ClassVar[str] = "artifacts"
    message: ClassVar[str] = "Artifact"


@dataclass(kw_only=True)
class Execution(Nested):
    """A step of a run."""

    kind: ClassVar[str] = "executions"
    message: ClassVar[str] = "Execution"


@dataclass(kw_only=True)
class Tensorboard(Nested):
    """A TensorBoard instance. Only its description is stored."""

    kind: ClassVar[str] = "tensorboards"
    message: ClassVar[str] = "Tensorboard"


@dataclass(kw_only=True)
class TensorboardExperiment(Nested):
    """An experiment of a TensorBoard."""

    kind: ClassVar[str] = "experiments"
    message: ClassVar[str] = "TensorboardExperiment"


@dataclass(kw_only=True)
class TensorboardRun(Nested):
    """A run of an experiment of a TensorBoard."""

    kind: ClassVar[str] = "runs"
    message: ClassVar[str] = "TensorboardRun"


@dataclass(kw_only=True)
class TensorboardTimeSeries(Nested):
    """A metric of a run of a TensorBoard. Its values are not stored."""

    kind: ClassVar[str] = "timeSeries"
    message: ClassVar[str] = "TensorboardTimeSeries"


@dataclass(kw_only=True)
class Model(Record):
    """A model that a pipeline has uploaded. Only its description is stored."""

    kind: ClassVar[str] = "models"
    message: ClassVar[str] = "Model"
