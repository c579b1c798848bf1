"""Standard: machines on demand at full price, whenever the region has them."""

from collections.abc import Iterator

from jobs.catalog import Machine
from jobs.spec import Severity, Submission
from jobs.strategies.base import Problem, Strategy, rule, set_strategy
from jobs.strategies.rules.machines import known_machines
from jobs.strategies.sources import COMPUTE, RUNS
from jobs.texts import translatable as _

SCARCE = frozenset({"NVIDIA_H100_MEGA_80GB", "NVIDIA_H200_141GB", "NVIDIA_B200"})


@rule(Severity.NOTE, COMPUTE)
def scarce_machines_are_reserved(submission: Submission) -> Iterator[Problem]:
    """A3 Mega, A3 Ultra and A4 machines are rarely available; Google recommends a reservation or Spot."""
    for index, _spec, found in known_machines(submission):
        if found.gpu_type in SCARCE:
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                _(
                    "%(machine_type)s is rarely available; the job may fail for lack of capacity.",
                    machine_type=found.machine_type,
                ),
                _("Use a reservation, Flex-start or Spot."),
            )


def serves(found: Machine) -> bool:
    """Return whether a machine is available on demand: all machines that train, except GB200."""
    return found.trainable and found.gpu_type != "NVIDIA_GB200"


def apply(submission: Submission) -> Submission:
    """Return the submission under Standard."""
    return set_strategy(submission, strategy="")


def recognizes(_submission: Submission) -> bool:
    """Return whether a submission asks for Standard: every one that asks for nothing else."""
    return True


STRATEGY = Strategy(
    key="standard",
    label="Standard",
    summary=_("Machines on demand at the full price; starts when the region has them and your quota allows."),
    sets="scheduling.strategy left out, which means STANDARD",
    machines="All machines that train, except GB200",
    serves=serves,
    price_key="standard",
    billing=_("On-demand price with Vertex AI's fee included, while the job runs."),
    quota="custom_model_training_",
    quota_rule="Custom training quota of the region, per CPU family and accelerator.",
    preemptible=False,
    restart_allowance=3,
    restart_rule=_("A job that finds no capacity is tried again at most 3 times; an internal error at most 2 times."),
    wait_rule=_("Waits in the queue while quota is short; fails when the region has no capacity."),
    default_wait=None,
    console=_("Google Cloud's console, gcloud, the SDK and REST submit it."),
    longest_run=None,
    source=RUNS,
    rules=(scarce_machines_are_reserved,),
    apply=apply,
    recognizes=recognizes,
    precedence=9,
    safety=2,
    queued=_("waits for quota or to be processed"),
)
