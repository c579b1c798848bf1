"""Check that a job uses only the Google Cloud resources that its team may use. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jobs import spec
from jobs.spec import Finding, Severity, Submission
from jobs.spec.body import custom_job_spec
from jobs.spec.cloud_storage import SCHEME, bucket_of
from jobs.strategies import Known
from jobs.texts import translatable as _

SOURCE = "settings of the team"
PROJECT_NOT_ALLOWED = "project_not_allowed"
"""Code of the finding about a project. The project is not in the body, so the finding names no field."""
NO_ACCOUNT = "none"
"""Entry of the list of service accounts for jobs without one, which run as the project's default account."""
BIGQUERY = "bq://"
NETWORKS = frozenset({"network", "networkattachment"})
IN_PROJECTS = frozenset({"tensorboard", "experiment", "experimentrun", "parentmodel"})
"""Fields with the full name of a resource that a job writes to, which begins with its project."""
FREE_NAMES = frozenset({"labels", "env", "args", "command"})
"""Fields whose content is the person's own, so that a name in it means nothing."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The resources that a team may use; `projects` is never empty.

    Another empty list allows nothing if `is_closed`, and everything if not, as for teams made before there were both.
    """

    projects: frozenset[str]
    buckets: frozenset[str] = frozenset()
    service_accounts: frozenset[str] = frozenset()
    networks: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    is_closed: bool = False

    def names(self, kind: str) -> frozenset[str]:
        """Return the list of a kind of `used`."""
        lists = {"bucket": self.buckets, "service_account": self.service_accounts, "network": self.networks}
        return lists.get(kind, self.keys)


REFUSED = {
    "bucket": lambda name: _("The team may not use the bucket %(name)s.", name=name),
    "service_account": lambda name: _("The team may not use the service account %(name)s.", name=name),
    "network": lambda name: _("The team may not use the network %(name)s.", name=name),
    "key": lambda name: _("The team may not use the encryption key %(name)s.", name=name),
}


def check_project(project: str, allowed: Allowed) -> Finding | None:
    """Return an error if the team may not use the project."""
    if project in allowed.projects:
        return None
    message = _("The team may not use the project %(name)s.", name=_shown(project))
    return _finding(PROJECT_NOT_ALLOWED, message, allowed.projects)


def check(submission: Submission, allowed: Allowed, resources: Known = ()) -> tuple[Finding, ...]:
    """Return an error for each project, account, destination, network and key that the team may not use.

    A job on a persistent resource may run as the account of that resource, so closed lists refuse one that is not among
    `resources`. Only names in the request are checked. The
    job's program may still reach all that its service account can access.
    """
    return tuple(dict.fromkeys(_findings(submission, allowed, resources)))


def check_resource(body: Any, allowed: Allowed) -> tuple[Finding, ...]:
    """Return an error for each account, network and key of a persistent resource's body that the team may not use.

    Without an account of its own, a resource uses that of each job, which is checked with the job.
    """
    return tuple(dict.fromkeys(_refusals([*_accounts(body), *_used_elsewhere(body)], allowed)))


def used(body: Any) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of what a REST body uses: its accounts, the buckets it writes to, its networks and keys.

    The account of a job without one is NO_ACCOUNT. A server whose files are mounted counts as a network, by its
    address; so does a network whose names are resolved, by its full name.
    """
    if not custom_job_spec(body).get("serviceAccount"):
        yield "service_account", NO_ACCOUNT
    yield from _accounts(body)
    yield from _used_elsewhere(body)


def _accounts(body: Any) -> Iterator[tuple[str, str]]:
    for name, value in _texts(body, ""):
        if name.endswith("serviceaccount"):
            yield "service_account", value


def _used_elsewhere(body: Any) -> Iterator[tuple[str, str]]:
    for name, value in _texts(body, ""):
        if name in NETWORKS:
            yield "network", value
        elif name == "kmskeyname":
            yield "key", value
        elif _is_destination(name) and value.startswith(SCHEME):
            yield "bucket", bucket_of(value)
    for given in _objects(body):
        if "targetnetwork" in given or "targetproject" in given:
            project, network = given.get("targetproject", ""), given.get("targetnetwork", "")
            yield "network", f"projects/{project}/global/networks/{network}"
        if "mountpoint" in given:
            yield "network", given.get("server") or given.get("instanceip") or given.get("volumehandle", "")


def _findings(submission: Submission, allowed: Allowed, resources: Known) -> Iterator[Finding]:
    body = spec.rest_body(submission.job)
    if (refused := check_project(submission.project, allowed)) is not None:
        yield refused
    yield from _refusals(used(body), allowed)
    wanted = submission.job_spec.persistent_resource_id
    known = [each for each in resources if each.resource_id == wanted]
    for each in known:
        yield from _refusals(_accounts(spec.rest_body(each.resource)), allowed)
    if wanted and not known and allowed.is_closed:
        yield Finding(
            code="resource_account_unknown",
            severity=Severity.ERROR,
            field=submission.spec_field("persistentResourceId"),
            message=_(
                "The persistent resource %(name)s has not been seen yet, so the account that it may run the job as is "
                "not known.",
                name=_shown(wanted),
            ),
            remedy=_("Submit the job again once the resource is on the page of persistent resources."),
            source=SOURCE,
        )
    for project in _projects(body) if allowed.is_closed else ():
        if (refused := check_project(project, allowed)) is not None:
            yield refused


def _refusals(names_used: Iterable[tuple[str, str]], allowed: Allowed) -> Iterator[Finding]:
    for kind, name in names_used:
        names = allowed.names(kind)
        if name in names or not (names or allowed.is_closed):
            continue
        if name != NO_ACCOUNT or kind != "service_account":
            yield _finding(f"{kind}_not_allowed", REFUSED[kind](_shown(name)), names)
        elif allowed.is_closed:
            yield _finding(f"{kind}_not_allowed", _("The team’s jobs need a service account of their own."), names)


def _projects(body: Any) -> Iterator[str]:
    """Yield the projects of the BigQuery tables and of the other resources that a body writes to."""
    for name, value in _texts(body, ""):
        if _is_destination(name) and value.startswith(BIGQUERY):
            yield value.removeprefix(BIGQUERY).partition(".")[0]
        elif name in IN_PROJECTS and "projects/" in value:
            yield value.partition("projects/")[2].partition("/")[0]


def _is_destination(name: str) -> bool:
    return "output" in name or "destination" in name


def _plain(name: object) -> str:
    """Return a field's name in small letters without underscores: both spellings of an unknown field are the same."""
    return str(name).replace("_", "").lower()


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield (plain name of the field, text) of every text in a body, except in fields with free names."""
    if isinstance(value, str):
        if value:
            yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in FREE_NAMES:
                yield from _texts(item, _plain(key))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, name)


def _objects(value: Any) -> Iterator[dict[str, str]]:
    """Yield {plain name: text} of every object in a body, except in fields with free names."""
    if isinstance(value, dict):
        yield {_plain(key): item for key, item in value.items() if isinstance(item, str)}
        for key, item in value.items():
            if key not in FREE_NAMES:
                yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _shown(name: str) -> str:
    return name[:200] or _("without a name")


def _finding(code: str, message: str, names: frozenset[str]) -> Finding:
    listed = ", ".join(sorted(names - {NO_ACCOUNT})[:10])
    return Finding(
        code=code,
        severity=Severity.ERROR,
        field="",
        message=message,
        remedy=_("Choose %(names)s, or have it added to the team’s settings.", names=listed)
        if listed
        else _("Have it added to the team’s settings."),
        source=SOURCE,
    )
