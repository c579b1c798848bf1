"""The rules that every job keeps, whatever its strategy, in the order in which a form shows them."""

from jobs.spec import Submission, TrainingPipeline
from jobs.strategies.base import Rule
from jobs.strategies.rules import (
    accelerators,
    affinity,
    containers,
    disks,
    images,
    machines,
    names,
    parameters,
    pipelines,
    placeholders,
    scheduling,
    secrets,
    surroundings,
    tpus,
    tuning,
    worker_pools,
)

ALWAYS = (
    *names.RULES,
    *placeholders.RULES,
    *worker_pools.RULES,
    *machines.RULES,
    *accelerators.RULES,
    *tpus.RULES,
    *disks.RULES,
    *affinity.RULES,
    *containers.RULES,
    *images.RULES,
    *secrets.RULES,
    *surroundings.RULES,
    *scheduling.RULES,
)
TUNING = (*tuning.RULES, *parameters.RULES)
EVERY = (*ALWAYS, *TUNING, *pipelines.RULES)


def rules_of_kind(submission: Submission) -> tuple[Rule, ...]:
    """Return the rules that bind a submission by its kind; the others could find nothing."""
    found = ALWAYS if submission.tuning is None else ALWAYS + TUNING
    return found + pipelines.RULES if isinstance(submission.job, TrainingPipeline) else found
