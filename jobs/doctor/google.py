"""Checks of Google's side: credentials, services, permissions, regions, buckets and service accounts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from shlex import quote

from jobs.clients import account_of, client, platform_client
from jobs.doctor.permissions import (
    ACT_AS,
    ACT_AS_ROLE,
    BUCKET_PERMISSIONS,
    IMPERSONATE,
    IMPERSONATE_ROLE,
    PERMISSIONS,
    SERVICES,
)
from jobs.doctor.report import Check, Status, failed, passed, warned
from jobs.models import Job, Team
from jobs.texts import joined
from jobs.texts import translatable as _
from jobs.vertex import AuthFailed, NotFound, PlatformClient, VertexClient, VertexError

MAX_PROJECTS = 10
MAX_ACCOUNTS = 10
RECENT_JOBS = 100
"""Newest jobs whose service accounts are checked."""
MAX_CLOCK_ERROR = timedelta(seconds=30)
"""Google's tokens and signatures are valid for minutes; its Date header is truncated to seconds."""
UNKNOWN_MEMBER = "serviceAccount:ACCOUNT"
_EMAIL = re.compile(r"[a-zA-Z0-9.-]+@[a-zA-Z0-9.-]+")


@dataclass(frozen=True)
class Google:
    """The clients for the checks; `now` is the database's time."""

    platform: PlatformClient
    vertex: VertexClient
    now: datetime


def check_credentials(google: Google) -> Iterator[Check]:
    """Check which credentials this process has."""
    group, name = "Google", _("credentials")
    try:
        account = google.platform.account()
    except AuthFailed as error:
        yield failed(group, name, str(error), "gcloud auth application-default login")
        return
    if account:
        yield passed(group, name, _("This process is %(account)s.", account=account))
    else:
        words = _("Found, but they do not name their account (an emulator needs none).")
        yield passed(group, name, words)


def check_clock(google: Google) -> Iterator[Check]:
    """Compare the database's clock with Google's."""
    for project in _projects()[:1]:
        server_time = google.platform.server_time(project)
        if server_time is None:
            yield warned("Google", _("clock"), _("Google's response contains no time."))
            return
        apart = abs(server_time - google.now)
        seconds = f"{apart.total_seconds():.0f}"
        words = _("The database's clock and Google's are %(seconds)s s apart.", seconds=seconds)
        repair = "" if apart <= MAX_CLOCK_ERROR else "sudo chronyc makestep"
        status = Status.PASS if apart <= MAX_CLOCK_ERROR else Status.FAIL
        yield Check("Google", _("clock"), status, words, repair)


def check_services(google: Google) -> Iterator[Check]:
    """Check that the services that Trainboard calls are enabled in every team's project."""
    for project in _projects():
        try:
            on = google.platform.enabled(project, list(SERVICES))
        except VertexError as error:
            yield warned(
                _("Project %(project)s", project=project),
                _("services"),
                _("They could not be read: %(why)s", why=error),
            )
            continue
        for service, is_needed in SERVICES.items():
            repair = f"gcloud services enable {service} --project={quote(project)}"
            status = Status.FAIL if is_needed else Status.WARN
            is_on = service in on
            yield Check(
                _("Project %(project)s", project=project), service, Status.PASS if is_on else status,
                _("It is enabled.") if is_on else _("It is not enabled."), "" if is_on else repair,
            )  # fmt: skip


def check_permissions(google: Google) -> Iterator[Check]:
    """Check each permission in every team's project, for the account that its teams name, else Trainboard's."""
    for project in _projects():
        group, acts_as = _("Project %(project)s", project=project), account_of(project)
        try:
            held = _platform(google, acts_as).granted(project, [each.name for each in PERMISSIONS])
            member = _member(google, acts_as)
        except VertexError as error:
            yield failed(group, _("permissions"), _("They could not be checked: %(why)s", why=error))
            continue
        for each in PERMISSIONS:
            words = _("%(role)s grants it; it is needed to %(what)s.", role=each.role, what=each.what)
            if each.name in held:
                yield passed(group, each.name, words)
                continue
            repair = (
                f"gcloud projects add-iam-policy-binding {quote(project)} --member={quote(member)} --role={each.role}"
            )
            yield Check(
                group, each.name, Status.FAIL if each.is_needed else Status.WARN, joined(_("Missing."), words), repair
            )


def check_regions(google: Google) -> Iterator[Check]:
    """Check that Vertex AI answers in each team's default region."""
    places = sorted(set(Team.objects.of_each_project("default_region")))[:MAX_PROJECTS]
    for project, region in places:
        try:
            vertex = client(acts_as) if (acts_as := account_of(project)) else google.vertex
            next(vertex.pages("custom_job", project=project, region=region, fields=["name"]), None)
        except VertexError as error:
            yield failed(
                _("Project %(project)s", project=project), region, _("Custom jobs cannot be listed: %(why)s", why=error)
            )
        else:
            yield passed(_("Project %(project)s", project=project), region, _("Vertex AI answers."))


def check_buckets(google: Google) -> Iterator[Check]:
    """Check the permissions on each team's bucket, for the account that the team names, else Trainboard's."""
    columns = ("project", "bucket", "default_region", "acts_as")
    teams = Team.objects.exclude(bucket="").order_by("name").values_list(*columns)
    names = {(bucket.removeprefix("gs://").partition("/")[0], acts_as): (project, region)
             for project, bucket, region, acts_as in teams[:MAX_PROJECTS]}  # fmt: skip
    for (name, acts_as), (project, region) in names.items():
        group = joined(_("Bucket %(name)s", name=name), _as(acts_as), between="")
        try:
            held = _platform(google, acts_as).granted_on_bucket(name, list(BUCKET_PERMISSIONS))
            member = _member(google, acts_as)
        except NotFound:
            place = f"--project={quote(project)} --location={quote(region)}"
            repair = f"gcloud storage buckets create {quote(f'gs://{name}')} {place}"
            yield failed(group, _("exists"), _("There is no such bucket."), repair)
            continue
        except VertexError as error:
            yield failed(group, _("permissions"), _("They could not be checked: %(why)s", why=error))
            continue
        for permission, role in BUCKET_PERMISSIONS.items():
            if permission in held:
                yield passed(group, permission, _("%(role)s grants it.", role=role))
                continue
            repair = (
                f"gcloud storage buckets add-iam-policy-binding {quote(f'gs://{name}')}"
                f" --member={quote(member)} --role={role}"
            )
            yield warned(
                group, permission, _("Missing, so checkpoints cannot be listed. %(role)s grants it.", role=role), repair
            )


def check_service_accounts(google: Google) -> Iterator[Check]:
    """Check that the account that creates recent jobs at Vertex AI may use the service accounts of the jobs."""
    jobs = Job.objects.order_by("-requested_at").values_list("spec", "acts_as")[:RECENT_JOBS]
    named = {(str(body.get("serviceAccount", "")), acts_as) for spec, acts_as in jobs for body in _job_specs(spec)}
    accounts = sorted(pair for pair in named if _EMAIL.fullmatch(pair[0]))  # without placeholders
    for email, acts_as in accounts[:MAX_ACCOUNTS]:
        yield _check_on_account(google, _("Service accounts"), email, ACT_AS, ACT_AS_ROLE, acts_as)


def check_impersonation(google: Google) -> Iterator[Check]:
    """Check that Trainboard's account may get tokens for the service accounts that teams name."""
    named = Team.objects.exclude(acts_as="").order_by("acts_as").values_list("acts_as", flat=True).distinct()
    for email in named[:MAX_ACCOUNTS]:
        yield _check_on_account(google, _("Accounts of teams"), email, IMPERSONATE, IMPERSONATE_ROLE)


def _check_on_account(google: Google, group: str, email: str, permission: str, role: str, acts_as: str = "") -> Check:
    name = joined(email, _as(acts_as), between="")
    try:
        held = _platform(google, acts_as).granted_on_account(email, [permission])
        member = _member(google, acts_as)
    except VertexError as error:
        return failed(group, name, _("It could not be checked: %(why)s", why=error))
    if permission in held:
        return passed(
            group, name, _("%(who)s has %(permission)s on it.", who=acts_as or "Trainboard", permission=permission)
        )
    repair = f"gcloud iam service-accounts add-iam-policy-binding {email} --member={quote(member)} --role={role}"
    return failed(
        group, name, _("%(permission)s is missing; %(role)s grants it.", permission=permission, role=role), repair
    )


def _platform(google: Google, acts_as: str) -> PlatformClient:
    """Return the client that calls as the service account of a team; "" means as Trainboard itself."""
    return platform_client(acts_as) if acts_as else google.platform


def _member(google: Google, acts_as: str) -> str:
    """Return the account's name in IAM."""
    return (f"serviceAccount:{acts_as}" if acts_as else google.platform.account()) or UNKNOWN_MEMBER


def _as(acts_as: str) -> str:
    return _(", as %(account)s", account=acts_as) if acts_as else ""


def _projects() -> list[str]:
    return sorted({project for (project,) in Team.objects.of_each_project()})[:MAX_PROJECTS]


def _job_specs(spec: object) -> Iterator[dict[str, object]]:
    """Yield the job spec in a REST body of any kind."""
    if isinstance(spec, dict):
        for key in ("jobSpec", "trialJobSpec", "trainingTaskInputs"):
            if isinstance(spec.get(key), dict):
                yield spec[key]
