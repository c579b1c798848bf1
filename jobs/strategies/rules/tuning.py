"""Rules about tuning jobs: metrics, trials, and their machines. `parameters` has the rules about the search space."""

from collections.abc import Iterator

from jobs.catalog import machine
from jobs.spec import Severity, StudySpec, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.containers import PREBUILT
from jobs.strategies.sources import API, TUNING
from jobs.texts import translatable as _

TRIALS_PER_PARAMETER = 10
STOPPINGS = ("decay_curve_stopping_spec", "median_automated_stopping_spec", "convex_automated_stopping_spec")


def studies(submission: Submission) -> Iterator[tuple[str, StudySpec]]:
    """Yield the path and value of the study, if the job has one."""
    if submission.tuning is not None:
        yield f"{submission.tuning_path}studySpec", submission.tuning.study_spec


@rule(Severity.ERROR, API)
def metrics_are_named(submission: Submission) -> Iterator[Problem]:
    """A study has metrics, each with an id of its own and without spaces."""
    for path, study in studies(submission):
        if not study.metrics:
            yield Problem(
                f"{path}.metrics",
                _("The study has no metric to improve."),
                _("Name the metric that your code reports."),
            )
        seen: set[str] = set()
        for at, metric in enumerate(study.metrics):
            field = f"{path}.metrics[{at}].metricId"
            if not metric.metric_id or any(sign.isspace() for sign in metric.metric_id):
                yield Problem(
                    field,
                    _("%(name)s is no metric id.", name=quoted(metric.metric_id)),
                    _("Use the tag of your report, without spaces."),
                )
            elif metric.metric_id in seen:
                yield Problem(
                    field,
                    _("The metric %(name)s is given twice.", name=quoted(metric.metric_id)),
                    _("Keep one of them."),
                )
            seen.add(metric.metric_id)


@rule(Severity.NOTE, API)
def metric_goals_are_given(submission: Submission) -> Iterator[Problem]:
    """Without a goal, a metric is maximised."""
    for path, study in studies(submission):
        for at, metric in enumerate(study.metrics):
            if metric.goal == "GOAL_TYPE_UNSPECIFIED":
                message = _("No goal is given for %(name)s; it is maximised.", name=quoted(metric.metric_id))
                yield Problem(f"{path}.metrics[{at}].goal", message, _("Set MAXIMIZE or MINIMIZE."))


@rule(Severity.ERROR, API)
def safety_fractions_are_fractions(submission: Submission) -> Iterator[Problem]:
    """The wanted fraction of safe trials lies between 0 and 1."""
    for path, study in studies(submission):
        for at, metric in enumerate(study.metrics):
            fraction = metric.safety_config.desired_min_safe_trials_fraction if metric.safety_config else None
            if fraction is not None and not 0 <= fraction <= 1:
                field = f"{path}.metrics[{at}].safetyConfig.desiredMinSafeTrialsFraction"
                yield Problem(field, _("%(fraction)s is no fraction.", fraction=fraction), _("Set 0 to 1."))


@rule(Severity.ERROR, API)
def trials_are_counted(submission: Submission) -> Iterator[Problem]:
    """A tuning job has the number of trials that it runs in all and at once."""
    tuning = submission.tuning
    if tuning is None:
        return
    path = submission.tuning_path
    for name, count in (("maxTrialCount", tuning.max_trial_count), ("parallelTrialCount", tuning.parallel_trial_count)):
        if count < 1:
            yield Problem(
                f"{path}{name}",
                _("%(name)s is %(count)s; at least one trial runs.", name=name, count=count),
                _("Set 1 or more."),
            )


@rule(Severity.NOTE, API)
def parallel_trials_are_at_most_all(submission: Submission) -> Iterator[Problem]:
    """No more trials run at once than run in all."""
    tuning = submission.tuning
    if tuning is not None and tuning.parallel_trial_count > tuning.max_trial_count >= 1:
        yield Problem(
            f"{submission.tuning_path}parallelTrialCount",
            _(
                "%(parallel)s trials at once are more than the %(trials)s in all.",
                parallel=tuning.parallel_trial_count,
                trials=tuning.max_trial_count,
            ),
            _(
                "Set at most %(trials)s. With fewer at once, later trials learn more from earlier ones.",
                trials=tuning.max_trial_count,
            ),
        )


@rule(Severity.ERROR, TUNING)
def failed_trials_are_at_most_all(submission: Submission) -> Iterator[Problem]:
    """The number of trials that may fail is between 0 and the number of all."""
    tuning = submission.tuning
    if tuning is not None and not 0 <= tuning.max_failed_trial_count <= max(1, tuning.max_trial_count):
        yield Problem(
            f"{submission.tuning_path}maxFailedTrialCount",
            _(
                "maxFailedTrialCount is %(failed)s, with %(trials)s trials in all.",
                failed=tuning.max_failed_trial_count,
                trials=tuning.max_trial_count,
            ),
            _("Set 0 to %(limit)s.", limit=max(1, tuning.max_trial_count)),
        )


@rule(Severity.NOTE, TUNING)
def trials_are_enough(submission: Submission) -> Iterator[Problem]:
    """A study has at least ten trials for each parameter."""
    tuning = submission.tuning
    if tuning is None:
        return
    parameters_count = len(tuning.study_spec.parameters)
    wanted = TRIALS_PER_PARAMETER * parameters_count
    if 1 <= tuning.max_trial_count < wanted and tuning.study_spec.algorithm != "GRID_SEARCH":
        words = {"trials": tuning.max_trial_count, "parameters": parameters_count}
        message = _("%(trials)s trials are few for %(parameters)s parameters.", **words)
        if parameters_count == 1:
            message = _("%(trials)s trials are few for 1 parameter.", trials=tuning.max_trial_count)
        yield Problem(
            f"{submission.tuning_path}maxTrialCount",
            message,
            _("Google recommends at least %(wanted)s.", wanted=wanted),
        )


@rule(Severity.ERROR, TUNING)
def tuning_has_no_tpus(submission: Submission) -> Iterator[Problem]:
    """Tuning jobs do not run on TPUs."""
    if submission.tuning is None:
        return
    for index, pool in submission.pools:
        found = machine(pool.machine_spec.machine_type)
        if (found is not None and found.is_tpu) or pool.machine_spec.accelerator.startswith("TPU_"):
            yield Problem(
                submission.pool_path(index, "machineSpec.machineType"),
                _("Tuning jobs do not run on TPUs."),
                _("Choose a GPU machine, or run custom jobs."),
            )


@rule(Severity.NOTE, TUNING)
def tuning_containers_report_metrics(submission: Submission) -> Iterator[Problem]:
    """A container of your own needs cloudml-hypertune to report its metric."""
    if submission.tuning is None:
        return
    for index, pool in submission.pools[:1]:
        image = pool.container_spec.image_uri if pool.container_spec is not None else ""
        if image and not PREBUILT.match(image):
            yield Problem(
                submission.pool_path(index, "containerSpec.imageUri"),
                _("A container of your own reports its metric through the package cloudml-hypertune."),
                _("Install it in the image; Google's prebuilt images have it."),
            )


@rule(Severity.NOTE, API)
def observation_noise_is_left_out(submission: Submission) -> Iterator[Problem]:
    """Observation noise counts in Vizier studies only."""
    for path, study in studies(submission):
        if study.observation_noise != "OBSERVATION_NOISE_UNSPECIFIED":
            message = _("observationNoise counts in Vizier studies, not in tuning jobs.")
            yield Problem(f"{path}.observationNoise", message, _("Remove it."))


@rule(Severity.ERROR, API)
def study_stops_in_one_way(submission: Submission) -> Iterator[Problem]:
    """A study has at most one way of stopping trials early, and each limit of time is a length or a moment."""
    for path, study in studies(submission):
        given = [name for name in STOPPINGS if getattr(study, name) is not None]
        if len(given) > 1:
            yield Problem(
                path, _("%(count)s ways of stopping trials early are given.", count=len(given)), _("Keep one of them.")
            )
        config = study.study_stopping_config
        if config is None:
            continue
        limits = {"minimumRuntimeConstraint": config.minimum_runtime_constraint}
        for name, limit in (limits | {"maximumRuntimeConstraint": config.maximum_runtime_constraint}).items():
            if limit is not None and limit.max_duration is not None and limit.end_time is not None:
                field = f"{path}.studyStoppingConfig.{name}"
                yield Problem(field, _("%(name)s has both maxDuration and endTime.", name=name), _("Keep one of them."))


RULES = (
    metrics_are_named,
    metric_goals_are_given,
    safety_fractions_are_fractions,
    trials_are_counted,
    parallel_trials_are_at_most_all,
    failed_trials_are_at_most_all,
    trials_are_enough,
    tuning_has_no_tpus,
    tuning_containers_report_metrics,
    observation_noise_is_left_out,
    study_stops_in_one_way,
)
