"""Rules about boot disks."""

from collections.abc import Iterator

from jobs.catalog import DISKS, MAX_DISK_GB, MIN_DISK_GB, READ_DATE, default_disk
from jobs.spec import Severity, Submission, quoted
from jobs.spec.unknown import confirmed_value, nearest_known, not_known
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.machines import known_machines
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import COMPUTE
from jobs.texts import translatable as _


@rule(Severity.ERROR, COMPUTE)
def boot_disk_size_is_in_range(submission: Submission) -> Iterator[Problem]:
    """A boot disk has 100 to 64,000 GB."""
    for index, pool in submission.pools:
        size = pool.disk_spec.size_gb
        if not MIN_DISK_GB <= size <= MAX_DISK_GB:
            yield Problem(
                submission.pool_path(index, "diskSpec.bootDiskSizeGb"),
                _(
                    "A boot disk has %(least)s to %(limit)s GB, not %(size)s.",
                    least=MIN_DISK_GB,
                    limit=f"{MAX_DISK_GB:,}",
                    size=f"{size:,}",
                ),
                _("Set %(size)s.", size=MIN_DISK_GB if size < MIN_DISK_GB else MAX_DISK_GB),
            )


@rule(Severity.APPROVAL, COMPUTE)
def boot_disk_type_is_known(submission: Submission) -> Iterator[Problem]:
    """A boot disk is pd-ssd, pd-standard or hyperdisk-balanced, or a person confirmed it and Vertex AI decides."""
    for index, pool in submission.pools:
        name = pool.disk_spec.boot_disk_type
        if name and name not in DISKS and not is_placeholder(name):
            path = submission.pool_path(index, "diskSpec.bootDiskType")
            yield Problem(path, not_known(name, READ_DATE), nearest_known(name, DISKS), confirmed_value(path, name))


@rule(Severity.NOTE, COMPUTE)
def newest_machines_take_hyperdisk(submission: Submission) -> Iterator[Problem]:
    """N4, A3 Ultra and A4 machines use Hyperdisk."""
    for index, _spec, found in known_machines(submission):
        disk = submission.job_spec.worker_pool_specs[index].disk_spec.boot_disk_type
        wants = found.series == "n4" or default_disk(found.machine_type) == "hyperdisk-balanced"
        silent = not disk and default_disk(found.machine_type) == "hyperdisk-balanced"
        if wants and disk != "hyperdisk-balanced" and not silent:
            yield Problem(
                submission.pool_path(index, "diskSpec.bootDiskType"),
                _(
                    "%(machine)s uses Hyperdisk on Compute Engine; %(disk)s may be refused.",
                    machine=found.machine_type,
                    disk=quoted(disk or "pd-ssd"),
                ),
                _("Set bootDiskType: hyperdisk-balanced."),
            )


RULES = (
    boot_disk_size_is_in_range,
    boot_disk_type_is_known,
    newest_machines_take_hyperdisk,
)
