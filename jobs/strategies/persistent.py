"""Persistent resource: machines that stay up for your team and run one job after another."""

import re
from collections.abc import Iterator

from jobs.catalog import Machine
from jobs.spec import Severity, Submission, quoted
from jobs.strategies.base import Known, Problem, Strategy, resource_rule, rule, set_strategy
from jobs.strategies.resource_fit import count_wanted, describe_pool, find_named, match, same_machine
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import API, PERSISTENT, PERSISTENT_CREATE
from jobs.texts import translatable as _

RESOURCE_ID = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")


@rule(Severity.ERROR, API)
def resource_is_named(submission: Submission) -> Iterator[Problem]:
    """A job on a persistent resource gives the resource's short id."""
    name = submission.job_spec.persistent_resource_id
    field = submission.spec_field("persistentResourceId")
    if not name:
        yield Problem(field, _("No persistent resource is named."), _("Choose one that is running."))
    elif not RESOURCE_ID.fullmatch(name) and not is_placeholder(name):
        short = name.rpartition("/")[2]
        remedy = (
            _("Write only its id, `%(short)s`.", short=short)
            if RESOURCE_ID.fullmatch(short)
            else _("Use lowercase letters, digits and -.")
        )
        yield Problem(field, _("%(name)s is not the ID of a persistent resource.", name=quoted(name)), remedy)


@resource_rule(Severity.NOTE, PERSISTENT)
def resource_is_known(submission: Submission, known: Known) -> Iterator[Problem]:
    """The persistent resource is one that Trainboard has seen in the project and region."""
    name = submission.job_spec.persistent_resource_id
    if RESOURCE_ID.fullmatch(name) and find_named(submission, known) is None:
        yield Problem(
            submission.spec_field("persistentResourceId"),
            _(
                "Trainboard has not seen the persistent resource %(name)s in this project and region.",
                name=quoted(name),
            ),
            _("Check its name; its machines cannot be compared with the job's."),
        )


@resource_rule(Severity.ERROR, PERSISTENT)
def resource_is_running(submission: Submission, known: Known) -> Iterator[Problem]:
    """Jobs are submitted to a persistent resource that is RUNNING."""
    found = find_named(submission, known)
    is_id = RESOURCE_ID.fullmatch(submission.job_spec.persistent_resource_id)
    if is_id and found is not None and found.resource.state != "RUNNING":
        yield Problem(
            submission.spec_field("persistentResourceId"),
            _("The persistent resource is %(state)s; it takes jobs when it is RUNNING.", state=found.resource.state),
            _("Wait until it runs, or choose another."),
        )


@resource_rule(Severity.ERROR, PERSISTENT)
def pools_match_the_resource(submission: Submission, known: Known) -> Iterator[Problem]:
    """Machine and disk of each worker pool are exactly those of a pool of the resource."""
    resource = find_named(submission, known)
    if resource is None:
        return
    for index, pool in submission.pools:
        if match(pool, resource) is not None:
            continue
        near = [p for p in resource.resource.resource_pools if same_machine(pool.machine_spec, p.machine_spec)]
        choices = near or resource.resource.resource_pools
        offered = "; ".join(describe_pool(found) for found in choices[:4]) or "none"
        yield Problem(
            submission.pool_path(index, "diskSpec" if near else "machineSpec"),
            _("The boot disk of worker pool %(index)s matches no pool of the resource.", index=index)
            if near
            else _("The machine of worker pool %(index)s matches no pool of the resource.", index=index),
            _("Match one of its pools exactly: %(offered)s.", offered=offered),
        )


@resource_rule(Severity.ERROR, PERSISTENT)
def replicas_fit_the_resource(submission: Submission, known: Known) -> Iterator[Problem]:
    """The worker pools together ask for no more replicas than a pool of the resource can ever have."""
    resource = find_named(submission, known)
    if resource is None:
        return
    for at, (count, index) in count_wanted(submission, resource).items():
        most = resource.resource.resource_pools[at].most_replicas
        if count > most:
            yield Problem(
                submission.pool_path(index, "replicaCount"),
                _(
                    "The job asks for %(count)s replicas, but this pool of the resource has at most %(most)s.",
                    count=count,
                    most=most,
                ),
                _("Ask for at most %(most)s, or enlarge the resource.", most=most),
            )


@resource_rule(Severity.NOTE, PERSISTENT)
def replicas_are_free(submission: Submission, known: Known) -> Iterator[Problem]:
    """The replicas that other running jobs hold are not free; the job waits for them."""
    resource = find_named(submission, known)
    if resource is None:
        return
    for at, (count, index) in count_wanted(submission, resource).items():
        most, used = resource.resource.resource_pools[at].most_replicas, resource.used(at)
        if count <= most < count + used:
            yield Problem(
                submission.pool_path(index, "replicaCount"),
                _(
                    "Other jobs hold %(used)s of %(most)s replicas, so the job will wait for some of its %(count)s.",
                    used=used,
                    most=most,
                    count=count,
                ),
                _("Wait for them to end, or ask for fewer."),
            )


@resource_rule(Severity.ERROR, API)
def service_account_is_allowed(submission: Submission, known: Known) -> Iterator[Problem]:
    """A job brings its own service account only to a resource that allows it."""
    resource = find_named(submission, known)
    account = submission.job_spec.service_account
    if resource is None or not account:
        return
    runtime = resource.resource.resource_runtime_spec
    allowed = runtime.service_account_spec if runtime is not None else None
    if allowed is None or not allowed.enable_custom_service_account:
        yield Problem(
            submission.spec_field("serviceAccount"),
            _("The persistent resource does not allow jobs to bring a service account."),
            _("Remove it, or create the resource with enableCustomServiceAccount."),
        )


@resource_rule(Severity.ERROR, API)
def network_and_key_are_the_resources(submission: Submission, known: Known) -> Iterator[Problem]:
    """Network and encryption key of a job are those of its persistent resource."""
    resource = find_named(submission, known)
    if resource is None:
        return
    network, key = resource.resource.network, resource.resource.encryption_spec
    if submission.job_spec.network != network:
        remedy = _("Set %(network)s.", network=quoted(network)) if network else _("Remove it.")
        yield Problem(submission.spec_field("network"), _("The network differs from the resource's."), remedy)
    ours = submission.job.encryption_spec.kms_key_name if submission.job.encryption_spec is not None else ""
    theirs = key.kms_key_name if key is not None else ""
    if ours != theirs:
        remedy = _("Set %(theirs)s.", theirs=quoted(theirs, limit=200)) if theirs else _("Remove it.")
        yield Problem("encryptionSpec.kmsKeyName", _("The encryption key differs from the resource's."), remedy)


@rule(Severity.NOTE, PERSISTENT_CREATE)
def disk_is_spelled_out(submission: Submission) -> Iterator[Problem]:
    """The pages disagree on the default boot disk of a persistent resource, so a job spells its disk out."""
    for index, pool in submission.pools:
        if not pool.disk_spec.boot_disk_type:
            yield Problem(
                submission.pool_path(index, "diskSpec.bootDiskType"),
                _("The boot disk must equal the resource's, whose default is given as pd-ssd and as pd-standard."),
                _("Set bootDiskType and bootDiskSizeGb, here and on the resource."),
            )


def serves(found: Machine) -> bool:
    """Return whether a persistent resource can have a machine: all machines that train."""
    return found.trainable


def apply(submission: Submission) -> Submission:
    """Return the submission on its persistent resource; the person has to name the resource."""
    return set_strategy(submission, strategy="", resource=submission.job_spec.persistent_resource_id)


def recognizes(submission: Submission) -> bool:
    """Return whether a submission names a persistent resource."""
    return bool(submission.job_spec.persistent_resource_id)


STRATEGY = Strategy(
    key="persistent",
    label="Persistent resource",
    summary=_("Machines that stay up for your team. A job starts at once if they are free, and costs nothing extra."),
    sets="persistentResourceId; scheduling.strategy left out",
    machines="Exactly a machine and disk of one of the resource's pools",
    serves=serves,
    price_key="standard",
    billing=_("The resource is billed for all its replicas while it is RUNNING; jobs on it are not charged again."),
    quota="",
    quota_rule="Training quota is used by the resource, none by its jobs.",
    preemptible=False,
    restart_allowance=3,
    restart_rule=_("As for standard jobs."),
    wait_rule=_("Waits until the resource has enough free replicas."),
    default_wait=None,
    console=_("Google Cloud's console, gcloud, the SDK and REST submit it."),
    longest_run=None,
    source=PERSISTENT,
    rules=(
        resource_is_named,
        resource_is_known,
        resource_is_running,
        pools_match_the_resource,
        replicas_fit_the_resource,
        replicas_are_free,
        service_account_is_allowed,
        network_and_key_are_the_resources,
        disk_is_spelled_out,
    ),
    apply=apply,
    recognizes=recognizes,
    precedence=0,
    safety=1,
    queued=_("waits for free replicas of its persistent resource"),
    is_held=True,
    runs_on_resource=True,
    form_field="resource",
)
