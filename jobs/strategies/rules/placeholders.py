"""Rules about placeholders that were not replaced by real values."""

import re
from collections.abc import Iterator

from jobs.spec import Placeholder, Severity, Submission, quoted
from jobs.spec.secret_texts import MASK
from jobs.strategies.base import Problem, rule
from jobs.strategies.sources import GCLOUD
from jobs.texts import translatable as _

MARK = re.compile(r"\$\{[^{}]*\}|\$[A-Za-z_]\w*|<[^<>]+>|\{\{[^{}]*\}\}|\[(?:[A-Z][A-Z_ -]*|your[ _-][a-z _-]*)\]")
SIGNS = re.compile(r"[$<{\[]")
"""Found in every placeholder without capitals; checking for these first is several times faster."""
CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*")
ENDS = re.compile(r"[/:.@]")


PLACE = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]")


def is_open_place(region: str) -> bool:
    """Return whether a region is a placeholder of any style; region names, valid or misspelt, do not look like one."""
    return PLACE.fullmatch(region) is None or "your" in region or region.startswith("my-")


def is_placeholder(text: str) -> bool:
    """Return whether text that never has capitals contains a placeholder: ${X}, $X, <X>, {{ x }}, [X] or A_WORD."""
    if text.islower() and not SIGNS.search(text):
        return False
    if MARK.search(text):
        return True
    return any(len(part) > 2 and CAPITALS.fullmatch(part) for part in ENDS.split(text.partition("?")[0]))


def _lowercase_texts(submission: Submission) -> Iterator[tuple[int | None, str, str]]:
    """Yield (index of the pool or None, field, text) of names that never contain capitals on Google Cloud.

    In these names, A_WORD is a placeholder.
    """
    spec = submission.job_spec
    yield None, "persistentResourceId", spec.persistent_resource_id
    yield None, "serviceAccount", spec.service_account
    yield None, "network", spec.network
    yield None, "tensorboard", spec.tensorboard
    yield None, "experiment", spec.experiment
    yield None, "baseOutputDirectory.outputUriPrefix", _bucket(spec.base_output_directory.output_uri_prefix)
    for index, pool in submission.pools:
        machine = pool.machine_spec
        yield index, "machineSpec.machineType", machine.machine_type
        if machine.accelerator and (MARK.search(machine.accelerator) or machine.accelerator == "ACCELERATOR_TYPE"):
            yield index, "machineSpec.acceleratorType", machine.accelerator
        yield index, "diskSpec.bootDiskType", pool.disk_spec.boot_disk_type
        for at, mount in enumerate(pool.nfs_mounts):
            yield index, f"nfsMounts[{at}].server", mount.server
        if pool.container_spec is not None:
            yield index, "containerSpec.imageUri", _untagged(pool.container_spec.image_uri)
        if pool.python_package_spec is not None:
            package = pool.python_package_spec
            yield index, "pythonPackageSpec.executorImageUri", _untagged(package.executor_image_uri)
            for at, uri in enumerate(package.package_uris):
                yield index, f"pythonPackageSpec.packageUris[{at}]", _bucket(uri)


def _bucket(uri: str) -> str:
    """Return the bucket of a gs:// address, with any placeholder mark after it; object names may have capitals."""
    head, _, path = uri.removeprefix("gs://").partition("/")
    placeholder = MARK.search(path)
    return f"{head}/{placeholder.group()}" if placeholder else head


def _untagged(image: str) -> str:
    """Return an image's name with its tag in lowercase unless the tag is a placeholder; tags may have capitals."""
    name, at, tag = image.rpartition(":")
    return f"{name}{at}{tag.lower()}" if at and "/" not in tag and not MARK.search(tag) and tag != "TAG" else image


@rule(Severity.ERROR, GCLOUD, by_strategy=True)
def placeholders_are_filled(submission: Submission) -> Iterator[Problem]:
    """Placeholders of a template, such as ${PROJECT} or MY_BUCKET, are replaced before a job is submitted."""
    for index, name, text in _lowercase_texts(submission):
        if text and is_placeholder(text):
            path = submission.spec_field(name) if index is None else submission.pool_path(index, name)
            yield Problem(
                path,
                _("%(text)s still holds a placeholder.", text=quoted(text)),
                _("Replace it with the real value."),
            )
    if submission.region and is_open_place(submission.region):
        yield Problem(
            "", _("The region %(region)s is a placeholder.", region=quoted(submission.region)), _("Choose the region.")
        )
    if MARK.search(submission.display_name) or submission.display_name in ("JOB_NAME", "DISPLAY_NAME", "MY_JOB"):
        yield Problem(
            "displayName", _("%(name)s is a placeholder.", name=quoted(submission.display_name)), _("Name the job.")
        )


def unfilled(submission: Submission) -> list[Placeholder]:
    """Return the values that look like placeholders where any text is valid, so that only a person can decide.

    Masked secrets are left out: `hidden_secrets_are_filled_in` finds them, and nobody can confirm them.
    """
    if not submission.placeholders:
        return []
    certain = {problem.field for problem in placeholders_are_filled.find(submission, ())}
    return [
        placeholder
        for placeholder in submission.placeholders
        if placeholder.path not in certain and MASK not in placeholder.text
    ]


@rule(Severity.ERROR, GCLOUD, by_strategy=True)
def placeholders_are_filled_or_confirmed(submission: Submission) -> Iterator[Problem]:
    """What looks like a placeholder in an argument, a variable or a name is filled in or confirmed as meant."""
    if submission.confirmed is None:
        return
    for path, text in unfilled(submission):
        if text not in submission.confirmed:
            message = _("%(text)s looks like a placeholder.", text=quoted(text))
            yield Problem(path, message, _("Write the real value, or confirm that this is the real value."))


@rule(Severity.NOTE, GCLOUD, by_strategy=True)
def confirmed_values_are_recorded(submission: Submission) -> Iterator[Problem]:
    """A value that looks like a placeholder and was confirmed as meant literally is kept in the job's record."""
    confirmed = submission.confirmed
    for path, text in unfilled(submission):
        if confirmed is None:
            yield Problem(
                path,
                _("%(text)s looks like a placeholder.", text=quoted(text)),
                _("Check whether it is the real value."),
            )
        elif text in confirmed:
            message = _("%(text)s looks like a placeholder; it was confirmed as the real value.", text=quoted(text))
            yield Problem(path, message, _("An approver can see it here."))


RULES = (placeholders_are_filled, placeholders_are_filled_or_confirmed, confirmed_values_are_recorded)
