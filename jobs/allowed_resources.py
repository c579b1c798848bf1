"""Check that a job uses only the Google Cloud resources that its team may use. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from jobs import spec
from jobs.spec import Finding, Severity, Submission
from jobs.spec.body import custom_job_spec, output_folder
from jobs.spec.cloud_storage import bucket_of
from jobs.texts import translatable as _

SOURCE = "settings of the team"
PROJECT_NOT_ALLOWED = "project_not_allowed"
"""Code of the finding about a project. The project is not in the body, so the finding names no field."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The resources that a team may use. Empty `buckets` or `service_accounts` allow any; `projects` is never empty."""

    projects: frozenset[str]
    buckets: frozenset[str] = frozenset()
    service_accounts: frozenset[str] = frozenset()


def check_project(project: str, allowed: Allowed) -> Finding | None:
    """Return an error if the team may not use the project."""
    if project in allowed.projects:
        return None
    message = _("The team may not use the project %(name)s.", name=_shown(project))
    return _finding(PROJECT_NOT_ALLOWED, message, allowed.projects)


def check(submission: Submission, allowed: Allowed) -> tuple[Finding, ...]:
    """Return an error for each project, service account and output bucket that the team may not use.

    Only names in the request are checked. The job's program may still reach all that its service account can access.
    """
    return tuple(_findings(submission, allowed))


def _findings(submission: Submission, allowed: Allowed) -> Iterator[Finding]:
    body = spec.rest_body(submission.job)
    if (refused := check_project(submission.project, allowed)) is not None:
        yield refused
    account = custom_job_spec(body).get("serviceAccount")
    if allowed.service_accounts and isinstance(account, str) and account not in allowed.service_accounts:
        message = _("The team may not use the service account %(name)s.", name=_shown(account))
        yield _finding("service_account_not_allowed", message, allowed.service_accounts)
    bucket = bucket_of(output_folder(body))
    if allowed.buckets and bucket and bucket not in allowed.buckets:
        message = _("The team may not use the bucket %(name)s.", name=_shown(bucket))
        yield _finding("bucket_not_allowed", message, allowed.buckets)


def _shown(name: str) -> str:
    return name[:200] or _("without a name")


def _finding(code: str, message: str, names: frozenset[str]) -> Finding:
    return Finding(
        code=code,
        severity=Severity.ERROR,
        field="",
        message=message,
        remedy=_("Choose %(names)s, or have it added to the team’s settings.", names=", ".join(sorted(names)[:10])),
        source=SOURCE,
    )
