"""The records of all resources: the document that clients see, and what they do not see."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from emulator.protocol.documents import Document

FINAL_STATES = frozenset(f"JOB_STATE_{end}" for end in "SUCCEEDED FAILED CANCELLED EXPIRED PARTIALLY_SUCCEEDED".split())
PRIMARY = "workerpool0-0"
"""The replica whose end is the end of the job."""


class Phase(StrEnum):
    """The phase of a custom job's life; finer than the state that clients see."""

    QUEUED = "queued"
    """Waits for quota, capacity or a persistent resource (QUEUED or PENDING)."""
    PROVISIONING = "provisioning"
    """Machines are being prepared (PENDING)."""
    STARTING = "starting"
    """Replicas are starting; some may already run user code (PENDING)."""
    RUNNING = "running"
    """All replicas are there (RUNNING)."""
    STOPPING = "stopping"
    """Replicas were asked to end; `then` is what follows."""
    TEARDOWN = "teardown"
    """The program has ended, the service cleans up; the outcome is not public yet."""
    REPORTING = "reporting"
    """The end is public, its error is not yet: only in scripts."""
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

    @property
    def state(self) -> str:
        """Return the public state, of a resource that has one."""
        return str(self.document["state"])


@dataclass(kw_only=True)
class WithHistory(Record):
    """A resource whose states are kept. history: [moment, state]; answers: how many have shown each of them."""

    history: list[list[Any]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answers += [0] * (len(self.history) - len(self.answers))  # a record from before answers were counted

    @property
    def is_finished(self) -> bool:
        """Return whether the public state is final."""
        return self.state.replace("PIPELINE", "JOB") in FINAL_STATES

    def add_to_history(self, moment: float, state: str) -> None:
        """Add a public state, which no answer has shown yet."""
        self.history.append([moment, state])
        self.answers.append(0)


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
class Job(WithHistory):
    """A custom job. Times are seconds since 1970."""

    kind: ClassVar[str] = "customJobs"
    message: ClassVar[str] = "CustomJob"

    script: str = ""  # "" = processes
    script_times: dict[str, Any] = field(default_factory=dict)  # in place of those of the script
    phase: Phase = Phase.QUEUED
    then: str = ""  # what follows STOPPING: "teardown", "requeue", "restart", "cancelled"
    outcome: Document | None = None  # {"state", "error"?, "line"?}: decided, not yet public
    replicas: dict[str, str] = field(default_factory=dict)  # "running", "moving", "evicted", "waiting" or "exited"
    hosts: int = 1  # changes when the job gets other machines; the host names of its replicas do not
    machines: dict[str, int] = field(default_factory=dict)  # replica -> `hosts` when it got the machine that it is on
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
    def is_ending(self) -> bool:
        """Return whether a replica has failed permanently and the service has not ended the job yet."""
        return "end" in self.timers

    @property
    def has_started(self) -> bool:
        """Return whether its replicas may run, and were not asked to end."""
        return self.phase in (Phase.STARTING, Phase.RUNNING)

    @property
    def running_replicas(self) -> list[str]:
        """Return the replicas that run."""
        return [name for name, state in self.replicas.items() if state in ("running", "moving", "evicted")]

    def machine_name(self, replica: str) -> str:
        """Return the name of the machine that a replica has now."""
        return f"gk3-cml-{self.id[-10:]}-{self.machines.get(replica, self.hosts)}-{replica}"

    @property
    def spec(self) -> Document:
        """Return the CustomJobSpec."""
        spec: Document = self.document["jobSpec"]
        return spec

    @property
    def worker_pools(self) -> list[tuple[int, Document]]:
        """Return (index, worker pool) of those that are not empty."""
        return [(index, pool) for index, pool in enumerate(self.spec["workerPoolSpecs"]) if pool]

    @property
    def replica_names(self) -> list[str]:
        """Return the names of all replicas, the primary first."""
        return [
            f"workerpool{index}-{number}"
            for index, pool in self.worker_pools
            for number in range(int(pool.get("replicaCount", "1")))
        ]

    @property
    def scheduling(self) -> Document:
        """Return the Scheduling message, {} if absent."""
        scheduling: Document = self.spec.get("scheduling", {})
        return scheduling

    @property
    def strategy(self) -> str:
        """Return the strategy, by its present name."""
        name = str(self.scheduling.get("strategy", "STANDARD"))
        return {"LOW_COST": "SPOT", "ON_DEMAND": "STANDARD", "STRATEGY_UNSPECIFIED": "STANDARD"}.get(name, name)


@dataclass(kw_only=True)
class Study(WithHistory):
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
class Pipeline(WithHistory):
    """A training pipeline. child: the name of the job or study that does its work."""

    kind: ClassVar[str] = "trainingPipelines"
    message: ClassVar[str] = "TrainingPipeline"

    child: str = ""


@dataclass(kw_only=True)
class PersistentResource(Record):
    """A persistent resource. used: `{resource pool id: {job name: replicas}}`; operation: the one under way."""

    kind: ClassVar[str] = "persistentResources"
    message: ClassVar[str] = "PersistentResource"

    used: dict[str, dict[str, int]] = field(default_factory=dict)
    operation: str = ""


@dataclass(kw_only=True)
class CapacityPlan(Record):
    """How capacity changes over time; document: `{"plan": present plan, "changes": [what is still to come]}`."""

    kind: ClassVar[str] = "capacity"


@dataclass(kw_only=True)
class Model(Record):
    """A model that a pipeline has uploaded; only its description is kept."""

    kind: ClassVar[str] = "models"
    message: ClassVar[str] = "Model"
