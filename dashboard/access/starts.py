"""What the compose form begins with: a template, an earlier job, or an import, as the address says."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.http import Http404

from dashboard.access.jobs import job_for
from dashboard.access.pools import pool_for
from dashboard.access.roles import Request, teams_where
from dashboard.access.templates import draft_for, number, template_for
from jobs import lifecycle, spec
from jobs.lifecycle.asking import drafts, templates
from jobs.models import Job, Team
from jobs.spec import Submission
from jobs.timeline import known_resource


@dataclass(frozen=True, slots=True)
class Start:
    """A submission to fill the form with, the team whose it was, and where it comes from in words.

    `expected` is None where nobody said a run time; `cloned_from` is the job that it was copied from.
    """

    submission: Submission
    team: Team
    expected: timedelta | None
    cloned_from: Job | None
    words: str


def start_for(request: Request) -> Start | None:
    """Return what `?template=<id>`, `?job=<uuid>`, `?draft=<id>` or `?pool=<id>&part=<index>` name, the first of them.

    None where none is given.

    Raises Http404 for what does not exist or belongs to a team that the person is not in, or is another's draft.
    """
    for name, find in (("template", _template), ("job", _job), ("draft", _draft), ("pool", _pool)):
        if key := request.GET.get(name):
            return find(request, key)
    return None


def expected_of(job: Job) -> timedelta | None:
    """Return the run time that the requester expects, of an adopted job how long it ran; None where it never did."""
    seconds = job.expected_seconds or int(job.running_seconds)
    return timedelta(seconds=seconds) if seconds else None


def uuid(text: str) -> UUID:
    """Read a job's id from an address; raise Http404 for what is none."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404("no such job") from None


def _template(request: Request, key: str) -> Start:
    found = template_for(request, number(key))
    return Start(
        submission=templates.submission_of(found),
        team=found.team,
        expected=timedelta(seconds=found.expected_seconds),
        cloned_from=None,
        words=f"From the template {found.name} of {found.team}.",
    )


def _job(request: Request, key: str) -> Start:
    found = job_for(request, uuid(key))
    return Start(
        submission=lifecycle.submission_of(found),
        team=found.team,
        expected=expected_of(found),
        cloned_from=found,
        words=f"A copy of {found.display_name}, which {found.owner.get_username()} "
        + ("adopted." if found.is_adopted else "requested."),
    )


def _draft(request: Request, key: str) -> Start:
    found = draft_for(request, number(key))
    return Start(
        submission=drafts.submission_of(found),
        team=found.team,
        expected=None if found.expected_seconds is None else timedelta(seconds=found.expected_seconds),
        cloned_from=None,
        words="As it was imported.",
    )


def _pool(request: Request, key: str) -> Start:
    """A job on a persistent resource: one replica with exactly the machine and disk of one of its pools."""
    found = pool_for(request, number(key))
    team = teams_where(request.user, "request").filter(project=found.project).first()
    known, index = known_resource(found), number(request.GET.get("part", "0"))
    if team is None or known is None or index >= len(known.resource.resource_pools):
        raise Http404("no such pool to run on")
    part = known.resource.resource_pools[index]
    worker = {
        "machineSpec": spec.rest_body(part.machine_spec),
        "diskSpec": spec.rest_body(part.disk_spec),
        "replicaCount": "1",
    }
    body = {"jobSpec": {"persistentResourceId": found.resource_id, "workerPoolSpecs": [worker]}}
    job, _ = spec.read("custom_job", body)
    return Start(
        submission=Submission(kind="custom_job", project=found.project, region=found.region, job=job),
        team=team,
        expected=None,
        cloned_from=None,
        words=f"On the persistent resource {found.resource_id}.",
    )
