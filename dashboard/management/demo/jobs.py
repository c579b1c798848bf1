"""The demo's jobs: one of each interesting kind and strategy. They are requested and run like any other job."""

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from jobs import requests, spec
from jobs.models import Job, Team
from jobs.spec import Submission

IMAGE = "us-docker.pkg.dev/trainboard/samples/penguins:latest"
REGION = "us-central1"
BUCKET = "gs://vision-training"
PEOPLE = ("engineer", "approver")
SMALL = {"machineType": "n1-standard-4"}
A100 = {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}
A100_EIGHT = {"machineType": "a2-highgpu-8g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 8}
STUDY: dict[str, Any] = {
    "metrics": [{"metricId": "accuracy", "goal": "MAXIMIZE"}],
    "parameters": [
        {
            "parameterId": "learning-rate",
            "doubleValueSpec": {"minValue": 0.001, "maxValue": 0.5},
            "scaleType": "UNIT_LOG_SCALE",
        },
        {"parameterId": "hidden", "integerValueSpec": {"minValue": "2", "maxValue": "32"}},
    ],
}


class MissingPeople(Exception):
    """The demo's team or one of its people is missing, so its jobs cannot be requested."""


@dataclass(frozen=True, slots=True)
class Example:
    """A job of the demo. If it needs approval and `approved` is true, the demo's approver approves it."""

    name: str
    machine: dict[str, Any]
    expected: timedelta
    kind: str = "custom_job"
    arguments: tuple[str, ...] = ("--epochs", "30")
    scheduling: dict[str, Any] = field(default_factory=dict)
    approved: bool = True

    def submission(self, project: str) -> Submission:
        """Return the job as the form would create it. Raise ValueError if its body cannot be read."""
        job, findings = spec.read(self.kind, self._body())
        if job is None or findings:
            raise ValueError(f"the demo's job {self.name} cannot be read: {findings}")
        return Submission(kind=self.kind, project=project, region=REGION, job=job)

    def _body(self) -> dict[str, Any]:
        container = {"imageUri": IMAGE, "command": ["python", "train.py"], "args": list(self.arguments)}
        pool = {"machineSpec": self.machine, "replicaCount": "1", "containerSpec": container}
        inner: dict[str, Any] = {
            "workerPoolSpecs": [pool],
            "scheduling": {"timeout": "7200s", **self.scheduling},
            "baseOutputDirectory": {"outputUriPrefix": f"{BUCKET}/{self.name}"},
        }
        if self.kind == "training_pipeline":
            task = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
            return {"displayName": self.name, "trainingTaskDefinition": task, "trainingTaskInputs": inner}
        if self.kind == "custom_job":
            return {"displayName": self.name, "jobSpec": inner}
        trials = {"maxTrialCount": 6, "parallelTrialCount": 2, "trialJobSpec": inner}
        return {"displayName": self.name, "studySpec": deepcopy(STUDY), **trials}


SPOT = {"strategy": "SPOT"}
MINUTES, TRIAL = timedelta(minutes=3), timedelta(minutes=1)
"""Slightly longer than their run on the emulator, so that their expected ends are realistic."""
EXAMPLES = (
    Example("penguins-first", SMALL, MINUTES),
    Example("penguins-spot", A100, MINUTES, arguments=("--epochs", "60"), scheduling=SPOT),
    Example("penguins-no-data", SMALL, MINUTES, arguments=("--data", f"{BUCKET}/no-such-file.csv")),
    Example("penguins-search", SMALL, TRIAL, kind="hyperparameter_tuning_job", arguments=("--epochs", "12")),
    Example("penguins-pipeline", SMALL, MINUTES, kind="training_pipeline"),
    Example(
        "penguins-on-eight-a100",
        A100_EIGHT,
        timedelta(hours=12),
        scheduling={"timeout": "86400s", "strategy": "FLEX_START", "maxWaitDuration": "43200s"},
        approved=False,
    ),
)


def request(now: datetime) -> list[Job]:
    """Request the jobs that were not requested before, as the demo's engineer, and return them.

    Raise MissingPeople if the demo's people or their team are missing, NotAllowed if policy refuses a job.
    """
    people = {user.username: user for user in User.objects.filter(username__in=PEOPLE, is_active=True)}
    team = Team.objects.filter(name="vision").first()
    if team is None or len(people) < len(PEOPLE):
        raise MissingPeople("The demo's team vision, its engineer and its approver are needed to request jobs.")
    known = set(Job.objects.filter(request_key__startswith="demo:").values_list("request_key", flat=True))
    return [_requested(each, team, people, now) for each in EXAMPLES if f"demo:{each.name}" not in known]


def _requested(example: Example, team: Team, people: dict[str, User], now: datetime) -> Job:
    job = requests.request_job(
        submission=example.submission(team.project),
        team=team,
        by=people["engineer"],
        expected=example.expected,
        request_key=f"demo:{example.name}",
        now=now,
    )
    if example.approved and job.state == "awaiting_approval":
        requests.approve(job, by=people["approver"], comment="Small enough for a demo.", now=now)
    return job
