"""What the compose form begins with: a template, an earlier job, or an import, as the address says."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.http import Http404

from dashboard.access.jobs import job_for
from dashboard.access.roles import Request
from dashboard.access.templates import draft_for, number, template_for
from jobs import lifecycle
from jobs.lifecycle.asking import drafts, templates
from jobs.models import Job, Team
from jobs.spec import Submission


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
    """Return what `?template=<id>`, `?job=<uuid>` or `?draft=<id>` name, the first of them; None where none is given.

    Raises Http404 for what does not exist or belongs to a team that the person is not in, or is another's draft.
    """
    for name, find in (("template", _template), ("job", _job), ("draft", _draft)):
        if key := request.GET.get(name):
            return find(request, key)
    return None


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
        expected=timedelta(seconds=found.expected_seconds),
        cloned_from=found,
        words=f"A copy of {found.display_name}, which {found.owner.get_username()} requested.",
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
