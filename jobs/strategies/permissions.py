"""The permissions and roles that each account needs before a job can run, for what the job uses."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jobs.spec import COLLECTIONS, Submission
from jobs.strategies import permission_places as places
from jobs.strategies.base import Source
from jobs.strategies.sources import (
    ACCESS,
    CMEK,
    LOGS,
    PERSISTENT_CREATE,
    PRIVATE_INTERFACE,
    RESERVATIONS,
    SERVICE_ACCOUNTS,
    SHELL,
    STORAGE,
    TENSORBOARD_SETUP,
    VPC_PEERING,
)
from jobs.texts import joined
from jobs.texts import translatable as _

CALLER = _("Trainboard's account")
"""The account of the site's credentials; whoever sends an exported request needs the same permissions."""
JOB_ACCOUNT = _("The job's service account")
CODE_AGENT = "Custom Code Service Agent"
"""Pulls images, and runs jobs that have no service account of their own."""
AGENT = "Vertex AI Service Agent"
ADDRESSES = {
    CODE_AGENT: "service-PROJECT_NUMBER@gcp-sa-aiplatform-cc.iam.gserviceaccount.com",
    AGENT: "service-PROJECT_NUMBER@gcp-sa-aiplatform.iam.gserviceaccount.com",
}
"""E-mail addresses of the accounts that Google creates for a project."""
MAX_PLACES = 4
"""Buckets, images and the like that one line names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Who needs which role where, in words for people; `permissions` are the relevant permissions of the role.

    `address` is the e-mail address of an account that Google created, "" for others.

    `role` is empty if something else than a role gives the permission; `what` then names it.
    """

    who: str
    address: str
    what: str
    where: str
    role: str
    permissions: tuple[str, ...]
    source: str
    read: str


@dataclass(frozen=True)
class Need:
    """A reason why an account needs a role; `where` yields the resources, nothing if the job does not need the role."""

    who: str
    what: str
    role: str
    source: Source
    where: Callable[[Submission], Iterator[str]]
    permissions: tuple[str, ...] = ()


def permissions_of(submission: Submission) -> tuple[Permission, ...]:
    """Return the permissions that a job needs under its strategy, in the order of NEEDS."""
    found = ((need, list(dict.fromkeys(need.where(submission)))) for need in NEEDS)
    return tuple(_permission(submission, need, found_at) for need, found_at in found if found_at)


def _permission(submission: Submission, need: Need, found_at: list[str]) -> Permission:
    more = len(found_at) - MAX_PLACES
    shown = joined(*found_at[:MAX_PLACES], between=", ")
    if more > 0:
        shown = _("%(places)s and %(count)s more", places=shown, count=more)
    names = tuple(permission.format(collection=COLLECTIONS.get(submission.kind, "")) for permission in need.permissions)
    address = ADDRESSES.get(need.who, "")
    return Permission(need.who, address, need.what, shown, need.role, names, need.source.title, need.source.read)


VERBS = ("create", "get", "list", "cancel", "delete")
NEEDS = (
    Need(
        CALLER,
        _("creates, follows, cancels and deletes the job"),
        "roles/aiplatform.user",
        ACCESS,
        places.project,
        tuple(f"aiplatform.{{collection}}.{verb}" for verb in VERBS),
    ),
    Need(CALLER, _("reads the job's log"), "roles/logging.viewer", LOGS, places.project, ("logging.logEntries.list",)),
    Need(
        CALLER,
        _("lets the job run as its service account"),
        "roles/iam.serviceAccountUser",
        SERVICE_ACCOUNTS,
        places.account,
        ("iam.serviceAccounts.actAs",),
    ),
    Need(
        AGENT,
        _("uses a service account of another project"),
        "roles/iam.serviceAccountTokenCreator",
        SERVICE_ACCOUNTS,
        places.account_of_another_project,
    ),
    Need(
        CALLER,
        _("finds the persistent resource; to create one takes roles/aiplatform.admin"),
        "roles/aiplatform.user",
        PERSISTENT_CREATE,
        places.resource,
        ("aiplatform.persistentResources.get", "aiplatform.persistentResources.list"),
    ),
    Need(
        "Vertex AI",
        _(
            "takes machines of the reservation: its sharing policy allows that (serviceShareType ALLOW_ALL), and the "
            "job's project is its owner or a consumer of it"
        ),
        "",
        RESERVATIONS,
        places.reservations,
    ),
    Need(
        CODE_AGENT,
        _("pulls an image of another project"),
        "roles/artifactregistry.reader",
        SERVICE_ACCOUNTS,
        places.images_of_other_projects,
    ),
    Need(
        JOB_ACCOUNT,
        _("reads packages"),
        "roles/storage.objectViewer",
        STORAGE,
        places.by_account(places.read_buckets, own=True),
    ),
    Need(
        JOB_ACCOUNT,
        _("writes its output"),
        "roles/storage.objectAdmin",
        STORAGE,
        places.by_account(places.written_buckets, own=True),
    ),
    Need(
        CODE_AGENT,
        _("reads packages, if the bucket is in another project"),
        "roles/storage.objectViewer",
        STORAGE,
        places.by_account(places.read_buckets, own=False),
    ),
    Need(
        CODE_AGENT,
        _("writes the output, if the bucket is in another project"),
        "roles/storage.objectAdmin",
        STORAGE,
        places.by_account(places.written_buckets, own=False),
    ),
    Need(JOB_ACCOUNT, _("writes to the TensorBoard"), "roles/aiplatform.user", TENSORBOARD_SETUP, places.tensorboard),
    Need(
        JOB_ACCOUNT, _("writes the TensorBoard's bucket"), "roles/storage.admin", TENSORBOARD_SETUP, places.tensorboard
    ),
    Need(AGENT, _("uses the encryption key"), "roles/cloudkms.cryptoKeyEncrypterDecrypter", CMEK, places.key),
    Need(CALLER, _("uses the peered network"), "roles/compute.networkUser", VPC_PEERING, places.network),
    Need(
        AGENT,
        _("connects through the network attachment"),
        "roles/compute.networkAdmin",
        PRIVATE_INTERFACE,
        places.attachment,
    ),
    Need(AGENT, _("resolves names of the private DNS zone"), "roles/dns.peer", PRIVATE_INTERFACE, places.dns),
    Need(
        _("Whoever opens the interactive shell"),
        _("opens it; with a service account also iam.serviceAccounts.actAs on that"),
        "roles/aiplatform.user",
        SHELL,
        places.shell,
        ("aiplatform.customJobs.create", "aiplatform.customJobs.get", "aiplatform.customJobs.cancel"),
    ),
)
"""All needs, those of every job first."""
