"""Settings of a team: where its jobs run and write, and which Google Cloud resources it may use.

Leads set what affects their own team only. Site admins set projects and service accounts, because Trainboard's
credentials may have access to those of other teams too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs.catalog import REGIONS
from jobs.models import AllowedResource, Policy, Team
from jobs.people.members import NotChanged
from jobs.permissions import check_is_admin, check_is_lead
from jobs.spec.cloud_storage import SCHEME, bucket_of, is_bucket

PROJECT = re.compile(r"(?=.{6,63}\Z)(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]", re.ASCII)
"""A project id, with its domain if it has one (cloud.google.com/resource-manager/docs); jobs store 63 characters."""
SERVICE_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]{0,61}[a-z0-9]@[a-z0-9.-]{1,150}\.gserviceaccount\.com", re.ASCII)
MAX_ROWS = 100
"""Allowed projects, buckets and service accounts of one team."""
KINDS_OF_ADMINS = frozenset({AllowedResource.Kind.PROJECT, AllowedResource.Kind.SERVICE_ACCOUNT})


@dataclass(frozen=True, slots=True)
class Places:
    """The region and bucket of a team's jobs; no `regions` means all."""

    default_region: str
    bucket: str
    regions: tuple[str, ...]


def create_team(name: str, project: str, *, by: User) -> Team:
    """Create a team.

    Raise NotPermitted unless `by` is a site admin, NotChanged if the name or project is invalid.
    """
    check_is_admin(by)
    name = " ".join(name.split())
    if not name or not name.isprintable() or len(name) > 80:
        raise NotChanged(_("A team needs a name of at most 80 characters."))
    _check_name(AllowedResource.Kind.PROJECT, project)
    try:
        with transaction.atomic():
            return Team.objects.create(name=name, project=project)
    except IntegrityError:
        raise NotChanged(_("There is already a team called %(name)s.") % {"name": name}) from None


@transaction.atomic
def set_places(team: Team, places: Places, *, by: User) -> None:
    """Set a team's default region, default bucket and allowed regions.

    Raise NotPermitted unless `by` is a lead, NotChanged if a region or the bucket is invalid.
    """
    check_is_lead(by, team)
    unknown = [region for region in (places.default_region, *places.regions) if region not in REGIONS]
    if unknown:
        raise NotChanged(_("Vertex AI has no region “%(unknown)s”.") % {"unknown": unknown[0][:40]})
    if places.regions and places.default_region not in places.regions:
        raise NotChanged(
            _("The default region %(default_region)s is not one of the allowed regions.")
            % {"default_region": places.default_region}
        )
    if places.bucket and not (places.bucket.startswith(SCHEME) and is_bucket(bucket_of(places.bucket))):
        raise NotChanged(
            _("The default bucket begins with gs:// and the name of a bucket, such as gs://vision-training.")
        )
    team = Team.objects.select_for_update().get(pk=team.pk)
    team.default_region, team.bucket = places.default_region, places.bucket
    team.save(update_fields=["default_region", "bucket"])
    policy = Policy.objects.get_or_create(team=team)[0]
    if policy.regions != list(places.regions):
        policy.regions = list(places.regions)
        policy.save(update_fields=["regions"])


@transaction.atomic
def set_project(team: Team, project: str, acts_as: str, *, by: User) -> None:
    """Set a team's default project, and the service account that calls Vertex AI; "" means Trainboard's own.

    Jobs requested before keep theirs. Raise NotPermitted unless `by` is a site admin, NotChanged if the project id or
    service account is invalid.
    """
    check_is_admin(by)
    _check_name(AllowedResource.Kind.PROJECT, project)
    if acts_as := acts_as.strip():
        _check_name(AllowedResource.Kind.SERVICE_ACCOUNT, acts_as)
    team = Team.objects.select_for_update().get(pk=team.pk)
    team.project, team.acts_as = project, acts_as
    team.save(update_fields=["project", "acts_as"])


def allow(team: Team, kind: str, name: str, *, by: User) -> AllowedResource:
    """Allow a team one more project, bucket or service account.

    Raise NotPermitted unless `by` is a lead, or for projects and accounts a site admin. Raise NotChanged if the name is
    invalid or allowed already.
    """
    if kind not in AllowedResource.Kind.values:
        raise NotChanged(
            _("What is allowed is one of %(values)s.") % {"values": ", ".join(AllowedResource.Kind.values)}
        )
    _check_may_allow(by, team, kind)
    name = name.strip().removeprefix(SCHEME).rstrip("/") if kind == AllowedResource.Kind.BUCKET else name.strip()
    _check_name(kind, name)
    if AllowedResource.objects.filter(team=team).count() >= MAX_ROWS:
        raise NotChanged(
            _("A team has at most %(limit)s allowed projects, buckets and service accounts.") % {"limit": MAX_ROWS}
        )
    try:
        with transaction.atomic():
            return AllowedResource.objects.create(team=team, kind=kind, name=name)
    except IntegrityError:
        raise NotChanged(_("%(name)s is already allowed.") % {"name": name}) from None


def disallow(row: AllowedResource, *, by: User) -> None:
    """Disallow a project, bucket or service account. Raise NotPermitted as `allow` does."""
    _check_may_allow(by, row.team, row.kind)
    row.delete()


def _check_may_allow(by: User, team: Team, kind: str) -> None:
    if kind in KINDS_OF_ADMINS:
        check_is_admin(by)
    else:
        check_is_lead(by, team)


def _check_name(kind: str, name: str) -> None:
    checks: dict[str, tuple[Callable[[str], object], str]] = {
        AllowedResource.Kind.PROJECT: (PROJECT.fullmatch, _("Give the ID of the project, such as vision-research.")),
        AllowedResource.Kind.BUCKET: (
            is_bucket,
            _("Give the name of the bucket, such as vision-training, without a folder."),
        ),
        AllowedResource.Kind.SERVICE_ACCOUNT: (
            SERVICE_ACCOUNT.fullmatch,
            _("A service account is an address such as trainer@vision-research.iam.gserviceaccount.com."),
        ),
    }
    is_right, words = checks[AllowedResource.Kind(kind)]
    if len(name) > 255 or not is_right(name):
        raise NotChanged(words)
