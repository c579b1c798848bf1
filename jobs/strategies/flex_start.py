"""Flex-start (Dynamic Workload Scheduler): waits until all machines are available, then runs for up to seven days."""

from collections.abc import Iterator
from datetime import timedelta

from jobs.catalog import ACCELERATORS, Machine, machine
from jobs.spec import Severity, Submission
from jobs.strategies.base import Problem, Strategy, rule, set_strategy
from jobs.strategies.sources import FLEX
from jobs.texts import translatable as _

MAX_RUN = timedelta(days=7)
DEFAULT_WAIT = timedelta(hours=24)
OFFERED = "L4, A100, H100, H200 and B200"


def serves(found: Machine) -> bool:
    """Return whether Flex-start offers a machine, which must have an offered GPU."""
    gpu = ACCELERATORS.get(found.gpu_type)
    return found.trainable and gpu is not None and gpu.flex_start


@rule(Severity.ERROR, FLEX)
def flex_start_gpus_are_offered(submission: Submission) -> Iterator[Problem]:
    """Flex-start offers L4, A100, H100, H200 and B200 GPUs, and nothing else."""
    for index, pool in submission.pools:
        found = machine(pool.machine_spec.machine_type)
        if found is not None and found.trainable and not serves(found):
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                _(
                    "Flex-start offers %(offered)s only; worker pool %(index)s asks for another machine.",
                    offered=OFFERED,
                    index=index,
                ),
                _("Choose a machine of the series G2, A2, A3 or A4, or another strategy."),
            )


@rule(Severity.ERROR, FLEX)
def flex_start_runs_at_most_seven_days(submission: Submission) -> Iterator[Problem]:
    """A Flex-start job has a timeout of at most seven days."""
    timeout = submission.job_spec.scheduling.timeout
    if timeout is not None and timeout > MAX_RUN:
        yield Problem(
            submission.spec_field("scheduling.timeout"),
            _("A Flex-start job runs at most 7 days."),
            _('Set at most "604800s" and resume from a checkpoint.'),
        )


@rule(Severity.ERROR, FLEX)
def flex_start_has_one_machine_configuration(submission: Submission) -> Iterator[Problem]:
    """All worker pools of a Flex-start job have the same machine."""
    pools = submission.pools
    for index, pool in pools[1:]:
        if pool.machine_spec != pools[0][1].machine_spec:
            yield Problem(
                submission.pool_path(index, "machineSpec"),
                _(
                    "Flex-start needs the same machine in all pools; pool %(index)s differs from pool %(pools)s.",
                    index=index,
                    pools=pools[0][0],
                ),
                _("Use one machine type with the same accelerators in every pool."),
            )


@rule(Severity.NOTE, FLEX)
def flex_start_disks_are_the_same(submission: Submission) -> Iterator[Problem]:
    """It is not documented whether the boot disks of a Flex-start job may differ."""
    pools = submission.pools
    for index, pool in pools[1:]:
        if pool.disk_spec != pools[0][1].disk_spec:
            yield Problem(
                submission.pool_path(index, "diskSpec"),
                _(
                    "The boot disk of pool %(index)s differs from that of pool %(pools)s; Flex-start may refuse that.",
                    index=index,
                    pools=pools[0][0],
                ),
                _("Use the same disk in every pool."),
            )


@rule(Severity.NOTE, FLEX)
def flex_start_wait_is_given(submission: Submission) -> Iterator[Problem]:
    """A Flex-start job waits 24 hours for its machines unless it sets another wait; zero waits without end."""
    wait = submission.job_spec.scheduling.max_wait_duration
    field = submission.spec_field("scheduling.maxWaitDuration")
    if wait is None:
        yield Problem(
            field,
            _("No maxWaitDuration is set; the job gives up after waiting 24 hours."),
            _("Say how long to wait."),
        )
    elif not wait:
        yield Problem(
            field,
            _("With a maxWaitDuration of 0 the job waits without limit."),
            _('Set a limit, e.g. "86400s", unless this is intended.'),
        )


def apply(submission: Submission) -> Submission:
    """Return the submission under Flex-start; a wait that was set is kept."""
    return set_strategy(submission, strategy="FLEX_START", keep_wait=True)


def recognizes(submission: Submission) -> bool:
    """Return whether a submission asks for Flex-start."""
    return submission.job_spec.scheduling.strategy == "FLEX_START"


STRATEGY = Strategy(
    key="flex_start",
    label="Flex-start",
    summary=_(
        "Waits until all GPUs are available, then keeps them for up to 7 days at a reduced price. Never preempted."
    ),
    sets="scheduling.strategy = FLEX_START and scheduling.maxWaitDuration",
    machines=f"Machines with {OFFERED}; one configuration in all pools; no TPUs",
    serves=serves,
    price_key="flex_start",
    billing=_("Dynamic Workload Scheduler price and Vertex AI's management fee, while the job runs."),
    quota="custom_model_training_preemptible_",
    quota_rule="Preemptible training quota of the region, although the job is never preempted.",
    preemptible=False,
    restart_allowance=3,
    restart_rule=_("Never preempted; errors are retried as for standard jobs."),
    wait_rule=_("Waits up to maxWaitDuration: 24 hours by default, without limit if 0."),
    default_wait=DEFAULT_WAIT,
    console=_("gcloud, the SDK and REST submit it; whether the console does is not documented."),
    longest_run=MAX_RUN,
    source=FLEX,
    rules=(
        flex_start_gpus_are_offered,
        flex_start_runs_at_most_seven_days,
        flex_start_has_one_machine_configuration,
        flex_start_disks_are_the_same,
        flex_start_wait_is_given,
    ),
    apply=apply,
    recognizes=recognizes,
    precedence=2,
    safety=3,
    queued=_("waits until all its machines are free at once"),
    pending=_("waits for its machines, or they are being prepared"),
    form_field="max_wait",
)
