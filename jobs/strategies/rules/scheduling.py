"""Rules about time: timeout, maximum wait, checkpoints, restarts."""

from collections.abc import Iterator
from datetime import timedelta

from jobs.spec import Severity, Submission
from jobs.spec.fields import write_duration
from jobs.strategies.base import Problem, rule
from jobs.strategies.sources import API, RUNS
from jobs.texts import translatable as _

ZERO = timedelta(0)
DEFAULT_TIMEOUT = timedelta(days=7)
CHECKPOINT_EVERY = timedelta(hours=4)


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
            _("No timeout is set. Vertex AI ends the job after 7 days; a job that hangs is billed until then."),
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
            _("The timeout is longer than the default of 7 days; whether Vertex AI accepts that is not documented."),
            _('Set at most "604800s" and resume from a checkpoint.'),
        )


@rule(Severity.NOTE, RUNS)
def long_runs_save_checkpoints(submission: Submission) -> Iterator[Problem]:
    """A run longer than four hours saves a checkpoint at least every four hours."""
    spec = submission.job_spec
    timeout = spec.scheduling.timeout
    if timeout is not None and CHECKPOINT_EVERY < timeout <= DEFAULT_TIMEOUT:  # other rules cover other timeouts
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


RULES = (
    durations_are_not_negative,
    timeout_is_given,
    timeout_is_at_most_seven_days,
    long_runs_save_checkpoints,
    retries_and_restarts_agree,
)
