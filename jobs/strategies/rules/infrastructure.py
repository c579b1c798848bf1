"""Rules of what surrounds a job: identity, networks, mounts, outputs, TensorBoard, experiments, encryption."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobs.spec import Severity, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.rules.storage import FOLDER, storage_problem
from jobs.strategies.sources import API, NFS, TENSORBOARD
from jobs.texts import translatable as _


class Name(NamedTuple):
    """What a name has to look like, an example of it, and what it is called in "... is no ..."."""

    pattern: re.Pattern[str]
    example: str
    what: str


EMAIL = Name(
    re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    "name@project.iam.gserviceaccount.com",
    _("e-mail address"),
)
NETWORK = Name(
    re.compile(r"projects/([a-z0-9.:-]+)/global/networks/[a-z0-9-]+"),
    "projects/PROJECT_NUMBER/global/networks/NAME",
    _("network's name"),
)
TENSORBOARD_NAME = Name(
    re.compile(r"projects/[^/]+/locations/[^/]+/tensorboards/[^/]+"),
    "projects/P/locations/R/tensorboards/ID",
    _("TensorBoard's name"),
)
EXPERIMENT = Name(
    re.compile(r"projects/[^/]+/locations/[^/]+/metadataStores/[^/]+/contexts/[^/]+"),
    "projects/P/locations/R/metadataStores/default/contexts/NAME",
    _("experiment's name"),
)
RUN = EXPERIMENT._replace(what=_("run's name"))
KEY = Name(
    re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+"),
    "projects/P/locations/R/keyRings/RING/cryptoKeys/KEY",
    _("key's name"),
)
ATTACHMENT = Name(
    re.compile(r"(?:projects/[^/]+/regions/[^/]+/networkAttachments/)?[a-z]([a-z0-9-]*[a-z0-9])?"),
    "projects/P/regions/R/networkAttachments/NAME",
    _("network attachment"),
)


def _named(field: str, text: str, name: Name) -> Iterator[Problem]:
    if text and not name.pattern.fullmatch(text[:2000]) and not is_placeholder(text):
        message = _("%(text)s is no %(what)s.", text=quoted(text), what=name.what)
        yield Problem(field, message, _("Write %(example)s.", example=name.example))


@rule(Severity.ERROR, API)
def service_account_is_an_address(submission: Submission) -> Iterator[Problem]:
    """A service account is given by its e-mail address."""
    yield from _named(submission.spec_field("serviceAccount"), submission.job_spec.service_account, EMAIL)


@rule(Severity.ERROR, TENSORBOARD)
def tensorboard_has_a_service_account(submission: Submission) -> Iterator[Problem]:
    """A job with a TensorBoard runs as a service account of its own."""
    spec = submission.job_spec
    if spec.tensorboard and not spec.service_account:
        yield Problem(
            submission.spec_field("serviceAccount"),
            _("A TensorBoard is given but no service account, which Vertex AI then requires."),
            _("Give a service account that may write to the TensorBoard and its bucket."),
        )


@rule(Severity.NOTE, TENSORBOARD)
def tensorboard_has_an_output(submission: Submission) -> Iterator[Problem]:
    """A job with a TensorBoard has a base output directory, where the logs go."""
    spec = submission.job_spec
    if spec.tensorboard and not spec.base_output_directory.output_uri_prefix:
        yield Problem(
            submission.spec_field("baseOutputDirectory.outputUriPrefix"),
            _("A TensorBoard is given but no base output directory, so AIP_TENSORBOARD_LOG_DIR stays empty."),
            _("Give a gs:// folder."),
        )


@rule(Severity.ERROR, API)
def tensorboard_is_a_resource(submission: Submission) -> Iterator[Problem]:
    """A TensorBoard is given by its full name."""
    yield from _named(submission.spec_field("tensorboard"), submission.job_spec.tensorboard, TENSORBOARD_NAME)


@rule(Severity.ERROR, API)
def experiments_are_contexts(submission: Submission) -> Iterator[Problem]:
    """An experiment and its run are given by the full name of their context."""
    spec = submission.job_spec
    yield from _named(submission.spec_field("experiment"), spec.experiment, EXPERIMENT)
    yield from _named(submission.spec_field("experimentRun"), spec.experiment_run, RUN)
    if spec.experiment_run and not spec.experiment:
        yield Problem(
            submission.spec_field("experiment"), _("An experiment run is given without its experiment."), _("Give it.")
        )


@rule(Severity.ERROR, API)
def network_is_a_resource(submission: Submission) -> Iterator[Problem]:
    """A network is given by its full name."""
    yield from _named(submission.spec_field("network"), submission.job_spec.network, NETWORK)


@rule(Severity.NOTE, API)
def network_has_a_project_number(submission: Submission) -> Iterator[Problem]:
    """A network's name holds the project's number, not its id."""
    found = NETWORK.pattern.fullmatch(submission.job_spec.network[:2000])
    if found and not found.group(1).isdigit():
        yield Problem(
            submission.spec_field("network"),
            _("The documentation asks for the project's number; %(place)s is its id.", place=quoted(found.group(1))),
            _("Write projects/NUMBER/global/networks/NAME."),
        )


@rule(Severity.NOTE, API)
def ip_ranges_have_a_network(submission: Submission) -> Iterator[Problem]:
    """Reserved IP ranges are ranges of the job's network."""
    spec = submission.job_spec
    if spec.reserved_ip_ranges and not spec.network:
        yield Problem(
            submission.spec_field("reservedIpRanges"),
            _("Reserved IP ranges are given without a network."),
            _("Give the network."),
        )


@rule(Severity.ERROR, API)
def private_interface_is_complete(submission: Submission) -> Iterator[Problem]:
    """A Private Service Connect interface names its attachment; its DNS zones end with a dot."""
    interface = submission.job_spec.psc_interface_config
    if interface is None:
        return
    path = submission.spec_field("pscInterfaceConfig")
    yield from _named(f"{path}.networkAttachment", interface.network_attachment, ATTACHMENT)
    for index, zone in enumerate(interface.dns_peering_configs[:20]):
        if not zone.domain.endswith(".") and not is_placeholder(zone.domain):
            yield Problem(
                f"{path}.dnsPeeringConfigs[{index}].domain",
                _("The DNS zone %(zone)s does not end with a dot.", zone=quoted(zone.domain)),
                _("Put a dot at its end."),
            )


@rule(Severity.ERROR, NFS)
def nfs_mounts_are_complete(submission: Submission) -> Iterator[Problem]:
    """An NFS mount has a server, a path from / and a mount point, and the job has a network that reaches it."""
    spec = submission.job_spec
    for index, pool in submission.pools:
        for at, mount in enumerate(pool.nfs_mounts[:20]):
            path = submission.pool_path(index, f"nfsMounts[{at}]")
            for name, value in (("server", mount.server), ("path", mount.path), ("mountPoint", mount.mount_point)):
                if not value:
                    yield Problem(f"{path}.{name}", _("The NFS mount has no %(name)s.", name=name), _("Give it."))
            if mount.path and not mount.path.startswith("/") and not is_placeholder(mount.path):
                yield Problem(
                    f"{path}.path",
                    _("The NFS path %(path)s does not start with /.", path=quoted(mount.path)),
                    _("Put / first."),
                )
        if pool.nfs_mounts and not spec.network and spec.psc_interface_config is None:
            yield Problem(
                submission.spec_field("network"),
                _("NFS is mounted, but the job has neither a network nor a Private Service Connect interface."),
                _("Give the network that reaches the server."),
            )
            return


@rule(Severity.ERROR, API)
def lustre_mounts_are_complete(submission: Submission) -> Iterator[Problem]:
    """A Lustre mount has an instance address, a volume handle, a file system and a mount point."""
    for index, pool in submission.pools:
        for at, mount in enumerate(pool.lustre_mounts[:20]):
            path = submission.pool_path(index, f"lustreMounts[{at}]")
            given = {"instanceIp": mount.instance_ip, "volumeHandle": mount.volume_handle}
            for name, value in (given | {"filesystem": mount.filesystem, "mountPoint": mount.mount_point}).items():
                if not value:
                    yield Problem(f"{path}.{name}", _("The Lustre mount has no %(name)s.", name=name), _("Give it."))


@rule(Severity.ERROR, API)
def output_is_in_cloud_storage(submission: Submission) -> Iterator[Problem]:
    """The base output directory is a folder in Cloud Storage."""
    field = submission.spec_field("baseOutputDirectory.outputUriPrefix")
    prefix = submission.job_spec.base_output_directory.output_uri_prefix
    if prefix:
        yield from storage_problem(field, prefix, FOLDER)


@rule(Severity.ERROR, API)
def encryption_key_is_in_the_region(submission: Submission) -> Iterator[Problem]:
    """An encryption key is given by its full name and lies in the job's region."""
    encryption = submission.job.encryption_spec
    if encryption is None:
        return
    name = encryption.kms_key_name
    found = KEY.pattern.fullmatch(name[:2000])
    if not name:
        yield Problem(
            "encryptionSpec.kmsKeyName",
            _("Encryption is asked for without a key."),
            _("Write %(example)s.", example=KEY.example),
        )
    yield from _named("encryptionSpec.kmsKeyName", name, KEY)
    if found and submission.region and found.group(1) != submission.region and not is_placeholder(found.group(1)):
        yield Problem(
            "encryptionSpec.kmsKeyName",
            _(
                "The key lies in %(place)s, the job runs in %(region)s.",
                place=quoted(found.group(1)),
                region=quoted(submission.region),
            ),
            _("Use a key of the job's region."),
        )


RULES = (
    service_account_is_an_address,
    tensorboard_has_a_service_account,
    tensorboard_has_an_output,
    tensorboard_is_a_resource,
    experiments_are_contexts,
    network_is_a_resource,
    network_has_a_project_number,
    ip_ranges_have_a_network,
    private_interface_is_complete,
    nfs_mounts_are_complete,
    lustre_mounts_are_complete,
    output_is_in_cloud_storage,
    encryption_key_is_in_the_region,
)
