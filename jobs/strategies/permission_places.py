"""The accounts, buckets, images, networks and keys for which a job needs permissions, described for people."""

import re
from collections.abc import Callable, Iterator

from jobs.spec import Submission, bucket_of
from jobs.strategies.base import is_reserved
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.texts import translatable as _

Places = Callable[[Submission], Iterator[str]]
IMAGE_PROJECT = re.compile(r"(?:[a-z0-9-]+-docker\.pkg\.dev|(?:[a-z]+\.)?gcr\.io)/([a-z0-9.:-]+)/", re.ASCII)
GOOGLES = frozenset({"vertex-ai", "vertex-ai-restricted", "deeplearning-platform-release", "cloud-aiplatform"})
"""Projects whose images everybody may pull."""
ACCOUNT_PROJECT = re.compile(r"[^@]+@([a-z0-9-]+)\.iam\.gserviceaccount\.com", re.ASCII)


def project(submission: Submission) -> Iterator[str]:
    """Yield the project of the job."""
    yield _("project %(name)s", name=submission.project) if submission.project else _("the project")


def account(submission: Submission) -> Iterator[str]:
    """Yield the service account of the job, if it has one."""
    if submission.job_spec.service_account:
        yield submission.job_spec.service_account


def account_of_another_project(submission: Submission) -> Iterator[str]:
    """Yield the service account of the job if it belongs to another project."""
    found = ACCOUNT_PROJECT.fullmatch(submission.job_spec.service_account[:500])
    if found and submission.project and found[1] != submission.project:
        yield submission.job_spec.service_account


def _buckets(uris: Iterator[str]) -> Iterator[str]:
    yield from (_("bucket %(name)s", name=name) for name in map(bucket_of, uris) if name and not is_placeholder(name))


def read_buckets(submission: Submission) -> Iterator[str]:
    """Yield the buckets of the Python packages."""
    packages = (pool.python_package_spec for _, pool in submission.pools)
    yield from _buckets(uri for package in packages if package is not None for uri in package.package_uris)


def written_buckets(submission: Submission) -> Iterator[str]:
    """Yield the bucket of the output folder."""
    yield from _buckets(iter((submission.job_spec.base_output_directory.output_uri_prefix,)))


def by_account(where: Places, *, own: bool) -> Places:
    """Return `where` for jobs with their own service account (`own`), or for those without."""

    def places(submission: Submission) -> Iterator[str]:
        if bool(submission.job_spec.service_account) is own:
            yield from where(submission)

    return places


def images_of_other_projects(submission: Submission) -> Iterator[str]:
    """Yield the repositories of images in other projects, except public ones."""
    for _index, pool in submission.pools:
        image = pool.container_spec.image_uri if pool.container_spec is not None else ""
        found = IMAGE_PROJECT.match(image[:1000])
        if found and found[1] not in GOOGLES | {submission.project} and not is_placeholder(found[1]):
            yield _("the repository in project %(name)s", name=found[1])


def tensorboard(submission: Submission) -> Iterator[str]:
    """Yield the project of the job if it writes to a TensorBoard."""
    if submission.job_spec.tensorboard:
        yield from project(submission)


def key(submission: Submission) -> Iterator[str]:
    """Yield the encryption key."""
    if submission.job.encryption_spec is not None and submission.job.encryption_spec.kms_key_name:
        yield submission.job.encryption_spec.kms_key_name


def network(submission: Submission) -> Iterator[str]:
    """Yield the project of the peered network."""
    if submission.job_spec.network:
        name = submission.job_spec.network
        yield _("the project of %(name)s, if it is a Shared VPC of another project", name=name)


def attachment(submission: Submission) -> Iterator[str]:
    """Yield the project of the network attachment."""
    interface = submission.job_spec.psc_interface_config
    if interface is not None and interface.network_attachment:
        yield _("the project of %(name)s", name=interface.network_attachment)


def dns(submission: Submission) -> Iterator[str]:
    """Yield the projects of the private DNS zones."""
    interface = submission.job_spec.psc_interface_config
    for zone in interface.dns_peering_configs if interface is not None else ():
        name = zone.target_project
        yield _("project %(name)s", name=name) if name else _("the project of the DNS zone")


def shell(submission: Submission) -> Iterator[str]:
    """Yield the project of the job if it has an interactive shell."""
    if submission.job_spec.enable_web_access:
        yield from project(submission)


def reservations(submission: Submission) -> Iterator[str]:
    """Yield the reservations that the pools may use."""
    for _index, pool in submission.pools:
        affinity = pool.machine_spec.reservation_affinity
        if affinity is not None and is_reserved(pool.machine_spec):
            yield from affinity.values or (_("every reservation that it may take"),)


def resource(submission: Submission) -> Iterator[str]:
    """Yield the project of the job if it runs on a persistent resource."""
    if submission.job_spec.persistent_resource_id:
        yield from project(submission)
