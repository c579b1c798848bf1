"""Rules about networks, and about file systems that are mounted over them."""

import re
from collections.abc import Iterator

from jobs.spec import Severity, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.addresses import Name, name_problem
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import API, NFS
from jobs.texts import translatable as _

NETWORK = Name(
    re.compile(r"projects/([a-z0-9.:-]+)/global/networks/[a-z0-9-]+"),
    "projects/PROJECT_NUMBER/global/networks/NAME",
    _("network's name"),
)
ATTACHMENT = Name(
    re.compile(r"(?:projects/[^/]+/regions/[^/]+/networkAttachments/)?[a-z]([a-z0-9-]*[a-z0-9])?"),
    "projects/P/regions/R/networkAttachments/NAME",
    _("network attachment"),
)


@rule(Severity.ERROR, API)
def network_is_a_resource(submission: Submission) -> Iterator[Problem]:
    """A network is given by its full name."""
    yield from name_problem(submission.spec_field("network"), submission.job_spec.network, NETWORK)


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
    yield from name_problem(f"{path}.networkAttachment", interface.network_attachment, ATTACHMENT)
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


RULES = (
    network_is_a_resource,
    network_has_a_project_number,
    ip_ranges_have_a_network,
    private_interface_is_complete,
    nfs_mounts_are_complete,
    lustre_mounts_are_complete,
)
