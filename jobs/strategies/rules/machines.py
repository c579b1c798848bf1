"""Rules about machine types: whether they are given, support training, and leave enough memory to programs."""

from collections.abc import Iterator
from decimal import Decimal

from jobs.catalog import READ_DATE, Machine, machine, trainable
from jobs.spec import MachineSpec, Severity, Submission, quoted
from jobs.spec.unknown import confirmed_value, nearest_known, not_known
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import COMPUTE, GCLOUD, RUNS
from jobs.texts import day_of
from jobs.texts import translatable as _

SMALL_MEMORY_GB = 16
"""The documentation gives n1-standard-4 (15 GB) as an example of the smallest machines."""
AGENTS_SHARE = Decimal("0.4")


def known_machines(submission: Submission) -> Iterator[tuple[int, MachineSpec, Machine]]:
    """Yield index, machine spec and catalogue entry of each pool with a known machine."""
    for index, pool in submission.pools:
        found = machine(pool.machine_spec.machine_type)
        if found is not None:
            yield index, pool.machine_spec, found


@rule(Severity.ERROR, GCLOUD)
def machine_type_is_given(submission: Submission) -> Iterator[Problem]:
    """Every pool names its machine type."""
    for index, pool in submission.pools:
        if not pool.machine_spec.machine_type:
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                _("Worker pool %(index)s names no machine type.", index=index),
                _("Choose one, e.g. n1-standard-4."),
            )


@rule(Severity.APPROVAL, COMPUTE)
def machine_type_trains(submission: Submission) -> Iterator[Problem]:
    """The machine type is one of those that training supports, or a person confirmed it and Vertex AI decides."""
    for index, pool in submission.pools:
        name = pool.machine_spec.machine_type
        found = machine(name)
        if not name or (found is not None and found.trainable) or is_placeholder(name):
            continue
        message = not_known(name, READ_DATE)
        if found:
            words = {"machine": quoted(name), "day": day_of(READ_DATE)}
            message = _("%(machine)s serves predictions but does not train as of %(day)s.", **words)
        path = submission.pool_path(index, "machineSpec.machineType")
        yield Problem(path, message, nearest_known(name, trainable()), confirmed_value(path, name))


@rule(Severity.NOTE, RUNS)
def small_machines_keep_memory(submission: Submission) -> Iterator[Problem]:
    """On the smallest machines, of up to 16 GB, Vertex AI's agents take up to 40 percent of the memory."""
    for index, _spec, found in known_machines(submission):
        memory = found.memory_gib
        if found.trainable and memory is not None and memory <= SMALL_MEMORY_GB:
            left = found.allocatable_gib
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                _(
                    "Of the %(memory)s GB of %(machine)s, GKE leaves %(left)s GB to programs, and Vertex AI's "
                    "agents may leave as little as %(least)s GB.",
                    memory=f"{memory:g}",
                    machine=found.machine_type,
                    left=f"{left:.1f}",
                    least=f"{memory * (1 - AGENTS_SHARE):.1f}",
                ),
                _("Choose a machine with more memory if your program needs more."),
            )


RULES = (machine_type_is_given, machine_type_trains, small_machines_keep_memory)
