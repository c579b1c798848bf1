"""Checks of Google's side: credentials, services, permissions, regions, buckets and service accounts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from shlex import quote

from jobs.connection import account_of, client, platform_client
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
from jobs.vertex import AuthFailed, NotFound, PlatformClient, VertexClient, VertexError

MAX_PROJECTS = 10
MAX_ACCOUNTS = 10
RECENT_JOBS = 100
"""Of which the service accounts are checked, the newest."""
MAX_CLOCK_ERROR = timedelta(seconds=30)
"""Google's tokens and signatures are made for minutes; its Date header is cut to seconds."""
UNKNOWN_MEMBER = "serviceAccount:ACCOUNT"
_EMAIL = re.compile(r"[a-zA-Z0-9.-]+@[a-zA-Z0-9.-]+")


@dataclass(frozen=True)
class Google:
    """Whom to ask, and as whom; `now` is the database's time."""

    platform: PlatformClient
    vertex: VertexClient
    now: datetime


def check_credentials(google: Google) -> Iterator[Check]:
    """Check whose credentials this process has."""
    group, name = "Google", "credentials"
    try:
        account = google.platform.account()
    except AuthFailed as error:
        yield failed(group, name, str(error), "gcloud auth application-default login")
        return
    if account:
        yield passed(group, name, f"This process is {account}.")
    else:
        words = "Found, but they do not name their account (an emulator needs none)."
        yield passed(group, name, words)


def check_clock(google: Google) -> Iterator[Check]:
    """Check the database's clock against Google's."""
    for project in _projects()[:1]:
        told = google.platform.server_time(project)
        if told is None:
            yield warned("Google", "clock", "Google's answer names no time.")
            return
        apart = abs(told - google.now)
        words = f"The database's clock and Google's are {apart.total_seconds():.0f} s apart."
        repair = "" if apart <= MAX_CLOCK_ERROR else "sudo chronyc makestep"
        status = Status.PASS if apart <= MAX_CLOCK_ERROR else Status.FAIL
        yield Check("Google", "clock", status, words, repair)


def check_services(google: Google) -> Iterator[Check]:
    """Check that the services that Trainboard calls are enabled in every team's project."""
    for project in _projects():
        try:
            on = google.platform.enabled(project, list(SERVICES))
        except VertexError as error:
            yield warned(f"Project {project}", "services", f"They could not be read: {error}")
            continue
        for service, is_needed in SERVICES.items():
            repair = f"gcloud services enable {service} --project={quote(project)}"
            status = Status.FAIL if is_needed else Status.WARN
            is_on = service in on
            yield Check(
                f"Project {project}", service, Status.PASS if is_on else status,
                "It is enabled." if is_on else "It is not enabled.", "" if is_on else repair,
            )  # fmt: skip


def check_permissions(google: Google) -> Iterator[Check]:
    """Check each permission in every team's project: of the account that its teams name, else of Trainboard's."""
    for project in _projects():
        group, acts_as = f"Project {project}", account_of(project)
        platform = platform_client(acts_as) if acts_as else google.platform
        try:
            held = platform.granted(project, [each.name for each in PERMISSIONS])
            member = (f"serviceAccount:{acts_as}" if acts_as else google.platform.account()) or UNKNOWN_MEMBER
        except VertexError as error:
            yield failed(group, "permissions", f"They could not be checked: {error}")
            continue
        for each in PERMISSIONS:
            words = f"{each.role} grants it; it is needed to {each.what}."
            if each.name in held:
                yield passed(group, each.name, words)
                continue
            repair = (
                f"gcloud projects add-iam-policy-binding {quote(project)} --member={quote(member)} --role={each.role}"
            )
            yield Check(group, each.name, Status.FAIL if each.is_needed else Status.WARN, f"Missing. {words}", repair)


def check_regions(google: Google) -> Iterator[Check]:
    """Check that Vertex AI answers in each team's default region."""
    places = sorted(set(Team.objects.of_each_project("default_region")))[:MAX_PROJECTS]
    for project, region in places:
        try:
            vertex = client(acts_as) if (acts_as := account_of(project)) else google.vertex
            next(vertex.pages("custom_job", project=project, region=region, fields=["name"]), None)
        except VertexError as error:
            yield failed(f"Project {project}", region, f"Custom jobs cannot be listed: {error}")
        else:
            yield passed(f"Project {project}", region, "Vertex AI answers.")


def check_buckets(google: Google) -> Iterator[Check]:
    """Check what Trainboard may do in the bucket of each team."""
    teams = Team.objects.exclude(bucket="").order_by("name").values_list("project", "bucket", "default_region")
    for project, bucket, region in teams[:MAX_PROJECTS]:
        name = bucket.removeprefix("gs://").partition("/")[0]
        try:
            held = google.platform.granted_on_bucket(name, list(BUCKET_PERMISSIONS))
            member = google.platform.account() or UNKNOWN_MEMBER
        except NotFound:
            place = f"--project={quote(project)} --location={quote(region)}"
            repair = f"gcloud storage buckets create {quote(f'gs://{name}')} {place}"
            yield failed(f"Bucket {name}", "exists", "There is no such bucket.", repair)
            continue
        except VertexError as error:
            yield failed(f"Bucket {name}", "permissions", f"They could not be checked: {error}")
            continue
        for permission, role in BUCKET_PERMISSIONS.items():
            if permission in held:
                yield passed(f"Bucket {name}", permission, f"{role} grants it.")
                continue
            repair = (
                f"gcloud storage buckets add-iam-policy-binding {quote(f'gs://{name}')}"
                f" --member={quote(member)} --role={role}"
            )
            yield warned(f"Bucket {name}", permission, f"Missing. {role} grants it; checkpoints stay unknown.", repair)


def check_service_accounts(google: Google) -> Iterator[Check]:
    """Check that Trainboard's account may use the service accounts of recent jobs."""
    for email in _accounts():
        yield _check_on_account(google, "Service accounts", email, ACT_AS, ACT_AS_ROLE)


def check_impersonation(google: Google) -> Iterator[Check]:
    """Check that Trainboard's account gets tokens of the service accounts that teams name."""
    named = Team.objects.exclude(acts_as="").order_by("acts_as").values_list("acts_as", flat=True).distinct()
    for email in named[:MAX_ACCOUNTS]:
        yield _check_on_account(google, "Accounts of teams", email, IMPERSONATE, IMPERSONATE_ROLE)


def _check_on_account(google: Google, group: str, email: str, permission: str, role: str) -> Check:
    try:
        held = google.platform.granted_on_account(email, [permission])
        member = google.platform.account() or UNKNOWN_MEMBER
    except VertexError as error:
        return failed(group, email, f"It could not be checked: {error}")
    if permission in held:
        return passed(group, email, f"Trainboard has {permission} on it.")
    repair = f"gcloud iam service-accounts add-iam-policy-binding {email} --member={quote(member)} --role={role}"
    return failed(group, email, f"{permission} is missing; {role} grants it.", repair)


def _projects() -> list[str]:
    return sorted({project for (project,) in Team.objects.of_each_project()})[:MAX_PROJECTS]


def _accounts() -> list[str]:
    """Return the service accounts that the newest jobs name, without placeholders, in the order of their names."""
    specs = Job.objects.order_by("-requested_at").values_list("spec", flat=True)[:RECENT_JOBS]
    named = {str(body.get("serviceAccount", "")) for spec in specs for body in _job_specs(spec)}
    return sorted(email for email in named if _EMAIL.fullmatch(email))[:MAX_ACCOUNTS]


def _job_specs(spec: object) -> Iterator[dict[str, object]]:
    """Yield the job spec inside a REST body of any kind."""
    if isinstance(spec, dict):
        for key in ("jobSpec", "trialJobSpec", "trainingTaskInputs"):
            if isinstance(spec.get(key), dict):
                yield spec[key]
