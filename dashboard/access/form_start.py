"""Initial content of the compose form: a template, an earlier job or an import, chosen by the query string."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from dashboard.access.loaders import draft_for, job_for, parse_key, parse_uuid, resource_for, template_for
from dashboard.access.roles import Request, teams_by_project
from jobs import requests, spec
from jobs.models import Job, Team
from jobs.requests import imported_drafts, templates
from jobs.spec import Submission
from jobs.spec.sweep import trial_job
from jobs.timeline import known_resource

MAX_TRIAL_DIGITS = 32
"""Maximum length of a trial's number, as in its column."""


@dataclass(frozen=True, slots=True)
class Start:
    """A submission to fill the form with, its team, and a sentence about its origin.

    `expected` is None if the run time is not known. `cloned_from` is the job that was copied. `is_repeated` is whether
    its output folder may hold the output of an earlier run.
    """

    submission: Submission
    team: Team
    words: str
    expected: timedelta | None = None
    cloned_from: Job | None = None
    cap_usd: Decimal | None = None
    is_repeated: bool = False
    left_out: tuple[str, ...] = ()
    """Paths of the fields that an imported text leaves open."""


def start_for(request: Request) -> Start | None:
    """Return the first that is given of `?template=`, `?job=`, `?draft=` and `?resource=<id>&part=<index>`.

    Return None if none is given. Raise Http404 if the object does not exist, belongs to a team that the person is not
    in, or is somebody else's draft.
    """
    loaders = {"template": _from_template, "job": _from_job, "draft": _from_draft, "resource": _from_resource}
    for name, load in loaders.items():
        if key := request.GET.get(name):
            return load(request, key)
    return None


def expected_of(job: Job) -> timedelta | None:
    """Return the expected run time; for an adopted job, the time that it ran. None if it never ran."""
    seconds = job.expected_seconds or int(job.running_seconds)
    return timedelta(seconds=seconds) if seconds else None


def _from_template(request: Request, key: str) -> Start:
    template = template_for(request, parse_key(key))
    return Start(
        submission=templates.submission_of(template),
        team=template.team,
        expected=timedelta(seconds=template.expected_seconds),
        cap_usd=template.cap_usd,
        is_repeated=True,
        words=_("From the template %(name)s of %(team)s.") % {"name": template.name, "team": template.team},
    )


def _from_job(request: Request, key: str) -> Start:
    job = job_for(request, parse_uuid(key))
    if "trial" in request.GET:
        return _from_trial(job, request.GET["trial"])
    words = _("A copy of %(name)s, which %(person)s requested.")
    if job.is_adopted:
        words = _("A copy of %(name)s, which %(person)s adopted.")
    return Start(
        submission=requests.submission_of(job),
        team=job.team,
        expected=expected_of(job),
        cloned_from=job,
        is_repeated=True,
        cap_usd=job.cap_usd,
        words=words % {"name": job.display_name, "person": job.owner.get_username()},
    )


def _from_trial(job: Job, trial_id: str) -> Start:
    """Return a custom job that repeats one trial of a tuning job, with the trial's parameters as arguments."""
    trial = get_object_or_404(job.trials, trial_id=trial_id[:MAX_TRIAL_DIGITS])
    ran = trial.ended_at - trial.started_at if trial.started_at and trial.ended_at else expected_of(job)
    return Start(
        submission=trial_job(requests.submission_of(job), trial.parameters, name=f"-trial-{trial.trial_id}"),
        team=job.team,
        expected=ran or expected_of(job),
        cloned_from=job,
        is_repeated=True,
        words=_("Trial %(trial)s of %(name)s as a job, with its parameters as arguments.")
        % {"trial": trial.trial_id, "name": job.display_name},
    )


def _from_draft(request: Request, key: str) -> Start:
    draft = draft_for(request, parse_key(key))
    return Start(
        submission=imported_drafts.submission_of(draft),
        team=draft.team,
        expected=None if draft.expected_seconds is None else timedelta(seconds=draft.expected_seconds),
        words=_("As it was imported."),
        left_out=imported_drafts.left_out_of(draft),
    )


def _from_resource(request: Request, key: str) -> Start:
    """Return a job on a persistent resource: one replica with the machine and disk of one of its resource pools."""
    row = resource_for(request, parse_key(key))
    team = next(iter(teams_by_project(request.user, "request").get(row.project, ())), None)
    known, index = known_resource(row), parse_key(request.GET.get("part", "0"))
    if team is None or known is None or index >= len(known.resource.resource_pools):
        raise Http404("no such resource pool")
    resource_pool = known.resource.resource_pools[index]
    worker_pool = {
        "machineSpec": spec.rest_body(resource_pool.machine_spec),
        "diskSpec": spec.rest_body(resource_pool.disk_spec),
        "replicaCount": "1",
    }
    body = {"jobSpec": {"persistentResourceId": row.resource_id, "workerPoolSpecs": [worker_pool]}}
    job = spec.read("custom_job", body)[0]
    return Start(
        submission=Submission(kind="custom_job", project=row.project, region=row.region, job=job),
        team=team,
        words=_("On the persistent resource %(name)s.") % {"name": row.resource_id},
    )
