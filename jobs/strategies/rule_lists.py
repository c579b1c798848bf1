"""The rules of every job, whatever its strategy, in the order in which a form shows them."""

from jobs.spec import Submission, TrainingPipeline
from jobs.strategies.base import Rule
from jobs.strategies.rules import (
    accelerators,
    containers,
    disks,
    exclusions,
    identity,
    images,
    machines,
    names,
    networks,
    outputs,
    parameters,
    pipelines,
    placeholders,
    reservation_affinity,
    scheduling,
    secrets,
    tpus,
    tuning,
    unknown,
    worker_pools,
)
from jobs.texts import translatable as _

_CHAPTERS_OF_ALL = (
    (_("Names, labels, region"), names.RULES + placeholders.RULES),
    (_("What Trainboard does not know"), unknown.RULES),
    (_("Worker pools"), worker_pools.RULES),
    (_("Machines and accelerators"), machines.RULES + accelerators.RULES),
    (_("TPUs"), tpus.RULES),
    (_("Boot disks"), disks.RULES),
    (_("Reservation affinities"), reservation_affinity.RULES),
    (_("Containers and Python packages"), containers.RULES),
    (_("Images and CUDA"), images.RULES),
    (_("Secrets"), secrets.RULES),
    (_("Service account and encryption"), identity.RULES),
    (_("Networks and mounts"), networks.RULES),
    (_("Outputs, TensorBoard, experiments"), outputs.RULES),
    (_("Time and restarts"), scheduling.RULES),
    (_("Strategies that exclude each other"), exclusions.RULES),
)
CHAPTERS = (
    *_CHAPTERS_OF_ALL,
    (_("Tuning jobs"), tuning.RULES),
    (_("Parameters of a study"), parameters.RULES),
    (_("Training pipelines"), pipelines.RULES),
)
"""(title, rules) of every chapter of docs/rules.md."""
ALWAYS = tuple(rule for _title, rules in _CHAPTERS_OF_ALL for rule in rules)
TUNING = (*tuning.RULES, *parameters.RULES)
EVERY = (*ALWAYS, *TUNING, *pipelines.RULES)


def rules_of_kind(submission: Submission) -> tuple[Rule, ...]:
    """Return the rules that apply to a submission of this kind; the others would find nothing."""
    found = ALWAYS if submission.tuning is None else ALWAYS + TUNING
    return found + pipelines.RULES if isinstance(submission.job, TrainingPipeline) else found
