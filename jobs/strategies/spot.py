"""Spot: spare machines at a discount, which Google may take back at any time."""

from collections.abc import Iterator

from jobs.catalog import Machine, machine
from jobs.spec import Severity, Submission
from jobs.strategies.base import Problem, Strategy, rule, set_strategy
from jobs.strategies.rules.exclusions import SPOT_NAMES
from jobs.strategies.rules.machines import known_machines
from jobs.strategies.rules.tpus import is_pod
from jobs.strategies.sources import SPOT
from jobs.texts import translatable as _

SERIES = ("a2", "a3")
RESTARTS = 6


@rule(Severity.NOTE, SPOT)
def spot_uses_a2_or_a3(submission: Submission) -> Iterator[Problem]:
    """Spot is documented for the A2 and A3 series; the current English page has dropped the limit."""
    for index, pool in submission.pools:
        found = machine(pool.machine_spec.machine_type)
        if found is not None and found.trainable and found.series not in SERIES:
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                _(
                    "Older pages offer Spot for A2 and A3 only; %(machine_type)s may be refused.",
                    machine_type=found.machine_type,
                ),
                _("Try it, or use an A2 or A3 machine."),
            )


@rule(Severity.ERROR, SPOT)
def spot_has_no_tpu_pods(submission: Submission) -> Iterator[Problem]:
    """TPU Pods, slices of several machines, are not available as Spot."""
    for index, spec, found in known_machines(submission):
        is_sound = found.series != "cloud-tpu" or found.takes(spec.accelerator, spec.accelerator_count)
        if found.is_tpu and is_sound and is_pod(spec, found):
            yield Problem(
                submission.pool_path(
                    index, "machineSpec.tpuTopology" if spec.tpu_topology else "machineSpec.acceleratorCount"
                ),
                _("A TPU Pod cannot run as Spot."),
                _("Use a slice of one machine, or another strategy."),
            )


@rule(Severity.NOTE, SPOT)
def spot_saves_checkpoints(submission: Submission) -> Iterator[Problem]:
    """A Spot job should save checkpoints, because it can be stopped at any time and is restarted at most six times."""
    spec = submission.job_spec
    if not spec.base_output_directory.output_uri_prefix:
        yield Problem(
            submission.spec_field("baseOutputDirectory.outputUriPrefix"),
            _(
                "A Spot job can be stopped at any time and is started again at most %(restarts)s times, "
                "each time from the beginning unless it saved its work; this one has no base output "
                "directory to save to.",
                restarts=RESTARTS,
            ),
            _("Set a gs:// folder, save to AIP_CHECKPOINT_DIR often and resume from there."),
        )


def serves(found: Machine) -> bool:
    """Return whether a machine is available as Spot: all machines that train, except GB200."""
    return found.trainable and found.gpu_type != "NVIDIA_GB200"


def apply(submission: Submission) -> Submission:
    """Return the submission under Spot."""
    return set_strategy(submission, strategy="SPOT")


def recognizes(submission: Submission) -> bool:
    """Return whether a submission asks for Spot, by its present or its old name."""
    return submission.job_spec.scheduling.strategy in SPOT_NAMES


STRATEGY = Strategy(
    key="spot",
    label="Spot",
    summary=_("Spare machines at a discount of 40 to 91 percent that Google may take back at any time."),
    sets="scheduling.strategy = SPOT",
    machines="A2 and A3; others since 2026, by newer pages; no TPU Pods, no GB200",
    serves=serves,
    price_key="spot",
    billing=_(
        "Compute Engine's Spot price and Vertex AI's management fee, while the job runs; nothing "
        "while it is queued or preempted."
    ),
    quota="custom_model_training_preemptible_",
    quota_rule="Preemptible training quota of the region.",
    preemptible=True,
    restart_allowance=RESTARTS,
    restart_rule=_("A preempted job counts as STOCKOUT and is started again at most 6 times."),
    wait_rule=_("Waits in the queue while quota is short; fails when there is no capacity after its restarts."),
    default_wait=None,
    console=_("Spot jobs cannot be submitted in Google's console."),
    longest_run=None,
    source=SPOT,
    rules=(spot_uses_a2_or_a3, spot_has_no_tpu_pods, spot_saves_checkpoints),
    apply=apply,
    recognizes=recognizes,
    precedence=1,
    safety=4,
    queued=_("waits for Spot capacity or quota"),
)
