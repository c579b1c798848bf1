"""Rules of time and of strategies that exclude each other."""

from collections.abc import Iterator
from datetime import timedelta

from jobs.spec import Severity, Submission
from jobs.spec.fields import write_duration
from jobs.strategies.base import Problem, is_reserved, rule
from jobs.strategies.sources import API, PIPELINE_COMPONENTS, RESERVATIONS, RUNS, SPOT
from jobs.texts import translatable as _

ZERO = timedelta(0)
DEFAULT_TIMEOUT = timedelta(days=7)
CHECKPOINT_EVERY = timedelta(hours=4)
CURRENT = {"LOW_COST": "SPOT", "ON_DEMAND": "STANDARD"}
SPOT_NAMES = frozenset({"SPOT", "LOW_COST"})


def reserved_pools(submission: Submission) -> list[int]:
    """Return the indexes of the pools that take their machines from a reservation."""
    return [index for index, pool in submission.pools if is_reserved(pool.machine_spec)]


def _field(submission: Submission, name: str) -> str:
    return submission.spec_field(f"scheduling.{name}")


@rule(Severity.ERROR, API, by_strategy=True)
def durations_are_not_negative(submission: Submission) -> Iterator[Problem]:
    """Timeout and maximum wait are not negative, and a timeout is longer than zero."""
    scheduling = submission.job_spec.scheduling
    if scheduling.timeout is not None and scheduling.timeout <= ZERO:
        given = write_duration(scheduling.timeout)
        yield Problem(
            _field(submission, "timeout"),
            _("A timeout of %(given)s leaves no time to run.", given=given),
            _("Set the longest run time."),
        )
    if scheduling.max_wait_duration is not None and scheduling.max_wait_duration < ZERO:
        given = write_duration(scheduling.max_wait_duration)
        yield Problem(
            _field(submission, "maxWaitDuration"),
            _("A wait of %(given)s is negative.", given=given),
            _('"0s" waits without end.'),
        )


@rule(Severity.NOTE, API)
def timeout_is_given(submission: Submission) -> Iterator[Problem]:
    """Without a timeout, a job is ended after seven days."""
    if submission.job_spec.scheduling.timeout is None:
        yield Problem(
            _field(submission, "timeout"),
            _("No timeout is given; Vertex AI ends the job after 7 days, and a job that hangs costs until then."),
            _("Set the longest run time that you expect; beyond 4 hours, save checkpoints to AIP_CHECKPOINT_DIR."),
        )


@rule(Severity.NOTE, API, by_strategy=True)
def timeout_is_at_most_seven_days(submission: Submission) -> Iterator[Problem]:
    """A timeout beyond the default of seven days may be refused; Flex-start has a rule of its own."""
    scheduling = submission.job_spec.scheduling
    timeout = scheduling.timeout
    if timeout is not None and timeout > DEFAULT_TIMEOUT and scheduling.strategy != "FLEX_START":
        yield Problem(
            _field(submission, "timeout"),
            _("The timeout is longer than 7 days, the default; whether more is taken is not documented."),
            _('Set at most "604800s" and resume from a checkpoint.'),
        )


@rule(Severity.NOTE, RUNS)
def long_runs_save_checkpoints(submission: Submission) -> Iterator[Problem]:
    """A run longer than four hours saves a checkpoint at least every four hours."""
    spec = submission.job_spec
    timeout = spec.scheduling.timeout
    if timeout is not None and CHECKPOINT_EVERY < timeout <= DEFAULT_TIMEOUT:  # other rules speak of other timeouts
        remedy = _("Save a checkpoint at least every 4 hours: write to AIP_CHECKPOINT_DIR.")
        if not spec.base_output_directory.output_uri_prefix:
            remedy = _(
                "Save a checkpoint at least every 4 hours: set baseOutputDirectory and write to AIP_CHECKPOINT_DIR."
            )
        yield Problem(
            _field(submission, "timeout"),
            _("The job may run longer than 4 hours, and maintenance or an error can restart it at any time."),
            remedy,
        )


@rule(Severity.NOTE, API)
def retries_and_restarts_agree(submission: Submission) -> Iterator[Problem]:
    """disableRetries switches restartJobOnWorkerRestart off."""
    scheduling = submission.job_spec.scheduling
    if scheduling.disable_retries and scheduling.restart_job_on_worker_restart:
        yield Problem(
            _field(submission, "restartJobOnWorkerRestart"),
            _("disableRetries switches restartJobOnWorkerRestart off, so the job will not be restarted."),
            _("Keep only one of them."),
        )


@rule(Severity.ERROR, PIPELINE_COMPONENTS, by_strategy=True)
def waiting_belongs_to_flex_start(submission: Submission) -> Iterator[Problem]:
    """A maximum wait is accepted with Flex-start only."""
    scheduling = submission.job_spec.scheduling
    if scheduling.max_wait_duration is not None and scheduling.strategy != "FLEX_START":
        yield Problem(
            _field(submission, "maxWaitDuration"),
            _("maxWaitDuration is accepted with FLEX_START only."),
            _("Remove it, or set strategy: FLEX_START."),
        )


@rule(Severity.NOTE, API, by_strategy=True)
def strategy_name_is_current(submission: Submission) -> Iterator[Problem]:
    """LOW_COST and ON_DEMAND are the old names of SPOT and STANDARD."""
    name = submission.job_spec.scheduling.strategy
    if name in CURRENT:
        yield Problem(
            _field(submission, "strategy"),
            _("%(name)s is an old name.", name=name),
            _("Write %(current)s.", current=CURRENT[name]),
        )


@rule(Severity.ERROR, SPOT, by_strategy=True)
def spot_needs_no_reservation(submission: Submission) -> Iterator[Problem]:
    """Spot machines do not come from a reservation."""
    if submission.job_spec.scheduling.strategy in SPOT_NAMES:
        for index in reserved_pools(submission)[:1]:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("Spot machines do not come from a reservation."),
                _("Remove the reservation, or the strategy SPOT."),
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def flex_start_needs_no_reservation(submission: Submission) -> Iterator[Problem]:
    """Flex-start and reservations exclude each other."""
    if submission.job_spec.scheduling.strategy == "FLEX_START":
        for index in reserved_pools(submission)[:1]:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("Flex-start cannot be combined with a reservation."),
                _("Remove the reservation, or the strategy FLEX_START."),
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def persistent_resource_needs_no_reservation(submission: Submission) -> Iterator[Problem]:
    """A job on a persistent resource does not name a reservation."""
    if submission.job_spec.persistent_resource_id:
        for index in reserved_pools(submission)[:1]:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("A job on a persistent resource cannot take machines from a reservation."),
                _("Remove the reservation here; the resource itself may have been created with one."),
            )


@rule(Severity.ERROR, API, by_strategy=True)
def persistent_resource_needs_no_strategy(submission: Submission) -> Iterator[Problem]:
    """A job on a persistent resource provisions nothing, so Spot and Flex-start do not apply."""
    strategy = submission.job_spec.scheduling.strategy
    if submission.job_spec.persistent_resource_id and strategy in SPOT_NAMES | {"FLEX_START"}:
        yield Problem(
            _field(submission, "strategy"),
            _(
                "The machines of a persistent resource are there already; %(strategy)s does not apply.",
                strategy=strategy,
            ),
            _("Remove the strategy, or the persistent resource."),
        )


EXCLUSIONS = (
    waiting_belongs_to_flex_start,
    spot_needs_no_reservation,
    flex_start_needs_no_reservation,
    persistent_resource_needs_no_reservation,
    persistent_resource_needs_no_strategy,
)
"""The rules of what belongs to another strategy than the one that a job asks for."""
RULES = (
    durations_are_not_negative,
    timeout_is_given,
    timeout_is_at_most_seven_days,
    long_runs_save_checkpoints,
    retries_and_restarts_agree,
    strategy_name_is_current,
    *EXCLUSIONS,
)
