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

from jobs.allowed_resources import NO_ACCOUNT, used
from jobs.catalog import REGIONS
from jobs.models import AllowedResource, Job, Policy, Team
from jobs.people.members import NotChanged
from jobs.permissions import check_is_admin, check_is_lead
from jobs.spec.cloud_storage import SCHEME, bucket_of, is_bucket

PROJECT = re.compile(r"(?=.{6,63}\Z)(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]", re.ASCII)
"""A project id, with its domain if it has one (cloud.google.com/resource-manager/docs); jobs store 63 characters."""
SERVICE_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]{0,61}[a-z0-9]@[a-z0-9.-]{1,150}\.gserviceaccount\.com", re.ASCII)
NETWORK = re.compile(
    r"projects/[a-z0-9.:-]{1,63}/(?:global/networks|regions/[a-z0-9-]{1,40}/networkAttachments)/[a-z0-9-]{1,63}",
    re.ASCII,
)
SERVER = re.compile(r"[A-Za-z0-9-]{1,63}[.:][A-Za-z0-9.:-]{1,189}", re.ASCII)
"""The address of a server whose files jobs mount, or its name with a domain."""
KEY = re.compile(
    r"projects/[a-z0-9.:-]{1,63}/locations/[a-z0-9-]{1,40}/keyRings/[\w-]{1,63}/cryptoKeys/[\w-]{1,63}", re.ASCII
)
MAX_ROWS = 100
"""Allowed resources of one team."""
KINDS_OF_LEADS = frozenset({AllowedResource.Kind.BUCKET})
MAX_NAME = 255
MAX_JOBS = 2_000
"""Latest jobs whose resources are counted as used by a team."""


@dataclass(frozen=True, slots=True)
class Places:
    """The region and bucket of a team's jobs; no `regions` means all."""

    default_region: str
    bucket: str
    regions: tuple[str, ...]


def create_team(name: str, project: str, *, by: User) -> Team:
    """Create a team, which may use nothing but its project and its default bucket until more is allowed.

    The first team may also run jobs without a service account: there is no other team whose data they could reach.
    Raise NotPermitted unless `by` is a site admin, NotChanged if the name or project is invalid.
    """
    check_is_admin(by)
    name = " ".join(name.split())
    if not name or not name.isprintable() or len(name) > 80:
        raise NotChanged(_("A team needs a name of at most 80 characters."))
    _check_name(AllowedResource.Kind.PROJECT, project)
    try:
        with transaction.atomic():
            is_first = not Team.objects.exists()
            team = Team.objects.create(name=name, project=project, is_closed=True)
            if is_first:
                AllowedResource.objects.create(team=team, kind=AllowedResource.Kind.SERVICE_ACCOUNT, name=NO_ACCOUNT)
            return team
    except IntegrityError:
        raise NotChanged(_("There is already a team called %(name)s.") % {"name": name}) from None


@transaction.atomic
def set_places(team: Team, places: Places, *, by: User) -> None:
    """Set a team's default region, default bucket and allowed regions.

    Raise NotPermitted unless `by` is a lead, NotChanged if a region or the bucket is invalid, or if a lead would allow
    more regions than before: that loosens the policy, which no lead does alone.
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
    is_wider = bool(policy.regions) and not (places.regions and set(places.regions) <= set(policy.regions))
    if is_wider and policy.current_id is None and not by.is_superuser:
        raise NotChanged(_("Only a site admin allows a team more regions."))
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
    """Allow a team one more resource.

    Raise NotPermitted unless `by` is a site admin, or for buckets a lead. Raise NotChanged if the name is
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
        raise NotChanged(_("A team has at most %(limit)s allowed resources.") % {"limit": MAX_ROWS})
    try:
        with transaction.atomic():
            return AllowedResource.objects.create(team=team, kind=kind, name=name)
    except IntegrityError:
        raise NotChanged(_("%(name)s is already allowed.") % {"name": name}) from None


def disallow(row: AllowedResource, *, by: User) -> None:
    """Disallow a resource. Raise NotPermitted as `allow` does."""
    _check_may_allow(by, row.team, row.kind)
    row.delete()


def used_by(team: Team) -> list[tuple[str, str]]:
    """Return (kind, name) of what the team's latest jobs used and its lists do not have, in order. Two queries.

    A list with rows was enforced already, so only empty lists are filled; jobs without an account were always allowed.
    """
    kept = set(AllowedResource.objects.filter(team=team).values_list("kind", "name"))
    filled = {kind for kind, _name in kept}
    specs = Job.objects.filter(team=team).order_by("-requested_at").values_list("spec", flat=True)[:MAX_JOBS]
    found = {each for spec in specs for each in used(spec)} - kept - {("bucket", bucket_of(team.bucket))}
    no_account = (AllowedResource.Kind.SERVICE_ACCOUNT.value, NO_ACCOUNT)
    return sorted(each for each in found if (each[0] not in filled or each == no_account) and len(each[1]) <= MAX_NAME)


@transaction.atomic
def close_lists(team: Team, *, by: User) -> int:
    """Allow a team what its jobs used and nothing else from now on. Return the number of resources added.

    Raise NotPermitted unless `by` is a site admin, NotChanged if there are too many.
    """
    check_is_admin(by)
    team = Team.objects.select_for_update().get(pk=team.pk)
    missing = used_by(team)
    if AllowedResource.objects.filter(team=team).count() + len(missing) > MAX_ROWS:
        raise NotChanged(_("A team has at most %(limit)s allowed resources.") % {"limit": MAX_ROWS})
    for kind, name in missing:
        AllowedResource.objects.create(team=team, kind=kind, name=name)
    team.is_closed = True
    team.save(update_fields=["is_closed"])
    return len(missing)


def _check_may_allow(by: User, team: Team, kind: str) -> None:
    if kind in KINDS_OF_LEADS:
        check_is_lead(by, team)
    else:
        check_is_admin(by)


def _check_name(kind: str, name: str) -> None:
    checks: dict[str, tuple[Callable[[str], object], str]] = {
        AllowedResource.Kind.PROJECT: (PROJECT.fullmatch, _("Give the ID of the project, such as vision-research.")),
        AllowedResource.Kind.BUCKET: (
            is_bucket,
            _("Give the name of the bucket, such as vision-training, without a folder."),
        ),
        AllowedResource.Kind.SERVICE_ACCOUNT: (
            lambda name: name == NO_ACCOUNT or SERVICE_ACCOUNT.fullmatch(name),
            _("A service account is an address such as trainer@vision-research.iam.gserviceaccount.com."),
        ),
        AllowedResource.Kind.NETWORK: (
            lambda name: NETWORK.fullmatch(name) or SERVER.fullmatch(name),
            _(
                "Give the full name of the network, such as projects/123/global/networks/training, "
                "or the address of a file server."
            ),
        ),
        AllowedResource.Kind.KEY: (
            KEY.fullmatch,
            _("Give the full name of the key, such as projects/p/locations/l/keyRings/r/cryptoKeys/k."),
        ),
    }
    is_right, words = checks[AllowedResource.Kind(kind)]
    if len(name) > MAX_NAME or not is_right(name):
        raise NotChanged(words)
