"""StudySpec: what a tuning job searches for, and in which ranges.

Source: google-cloud-aiplatform 2.7.0, types/study.py, read 2026-11-21.
"""

from typing import Annotated

from jobs.spec.fields import OUTPUT, Duration, Flag, Free, Int32, Int64, Message, Moment, Number, Text, enum

ALGORITHMS = enum("ALGORITHM_UNSPECIFIED", GRID_SEARCH=2, RANDOM_SEARCH=3)
GOALS = enum("GOAL_TYPE_UNSPECIFIED", "MAXIMIZE", "MINIMIZE")
MEASUREMENT_SELECTIONS = enum("MEASUREMENT_SELECTION_TYPE_UNSPECIFIED", "LAST_MEASUREMENT", "BEST_MEASUREMENT")
OBSERVATION_NOISES = enum("OBSERVATION_NOISE_UNSPECIFIED", "LOW", "HIGH")
SCALES = enum("SCALE_TYPE_UNSPECIFIED", "UNIT_LINEAR_SCALE", "UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE")
TRIAL_STATES = enum("STATE_UNSPECIFIED", "REQUESTED", "ACTIVE", "STOPPING", "SUCCEEDED", "INFEASIBLE")


class SafetyMetricConfig(Message):
    """Makes a metric a safety limit; the fraction is 0 to 1."""

    safety_threshold: Number = 0.0
    desired_min_safe_trials_fraction: Number | None = None


class MetricSpec(Message):
    """A metric that the training code reports, and whether to maximise or minimise it."""

    metric_id: Text = ""
    goal: Annotated[str, *GOALS] = "GOAL_TYPE_UNSPECIFIED"
    safety_config: SafetyMetricConfig | None = None


class DoubleValueSpec(Message):
    """A real parameter, both ends included."""

    min_value: Number = 0.0
    max_value: Number = 0.0
    default_value: Number | None = None


class IntegerValueSpec(Message):
    """An integer parameter, both ends included."""

    min_value: Int64 = 0
    max_value: Int64 = 0
    default_value: Int64 | None = None


class CategoricalValueSpec(Message):
    """A parameter with one of several words as value."""

    values: tuple[Text, ...] = ()
    default_value: Text | None = None


class DiscreteValueSpec(Message):
    """A parameter with one of several numbers as value, ascending."""

    values: tuple[Number, ...] = ()
    default_value: Number | None = None


class DiscreteValueCondition(Message):
    """The parent's numbers for which a child parameter applies."""

    values: tuple[Number, ...] = ()


class IntValueCondition(Message):
    """The parent's integers for which a child parameter applies."""

    values: tuple[Int64, ...] = ()


class CategoricalValueCondition(Message):
    """The parent's words for which a child parameter applies."""

    values: tuple[Text, ...] = ()


class ConditionalParameterSpec(Message):
    """A parameter that applies only to some values of its parent."""

    parent_discrete_values: DiscreteValueCondition | None = None
    parent_int_values: IntValueCondition | None = None
    parent_categorical_values: CategoricalValueCondition | None = None
    parameter_spec: "ParameterSpec | None" = None


class ParameterSpec(Message):
    """A parameter: its id, its range (exactly one of the four), its scale, its children."""

    double_value_spec: DoubleValueSpec | None = None
    integer_value_spec: IntegerValueSpec | None = None
    categorical_value_spec: CategoricalValueSpec | None = None
    discrete_value_spec: DiscreteValueSpec | None = None
    parameter_id: Text = ""
    scale_type: Annotated[str, *SCALES] = "SCALE_TYPE_UNSPECIFIED"
    conditional_parameter_specs: tuple[ConditionalParameterSpec, ...] = ()


ConditionalParameterSpec.model_rebuild()


class DecayCurveAutomatedStoppingSpec(Message):
    """Stops trials whose fitted curve is unlikely to reach the best value."""

    use_elapsed_duration: Flag = False


class MedianAutomatedStoppingSpec(Message):
    """Stops trials that are worse than the median of the finished ones."""

    use_elapsed_duration: Flag = False


class ConvexAutomatedStoppingSpec(Message):
    """Stops trials by the predicted end of their curve."""

    max_step_count: Int64 = 0
    min_step_count: Int64 = 0
    min_measurement_count: Int64 = 0
    learning_rate_parameter_name: Text = ""
    use_elapsed_duration: Flag = False
    update_all_stopped_trials: Flag | None = None


class StudyTimeConstraint(Message):
    """A time limit: either a duration or an end time."""

    max_duration: Duration | None = None
    end_time: Moment | None = None


class StudyStoppingConfig(Message):
    """When a whole study ends early."""

    should_stop_asap: Flag | None = None
    minimum_runtime_constraint: StudyTimeConstraint | None = None
    maximum_runtime_constraint: StudyTimeConstraint | None = None
    min_num_trials: Int32 | None = None
    max_num_trials: Int32 | None = None
    max_num_trials_no_progress: Int32 | None = None
    max_duration_no_progress: Duration | None = None


class StudySpec(Message):
    """The metrics, the parameters, the algorithm and when to stop."""

    decay_curve_stopping_spec: DecayCurveAutomatedStoppingSpec | None = None
    median_automated_stopping_spec: MedianAutomatedStoppingSpec | None = None
    convex_automated_stopping_spec: ConvexAutomatedStoppingSpec | None = None
    metrics: tuple[MetricSpec, ...] = ()
    parameters: tuple[ParameterSpec, ...] = ()
    algorithm: Annotated[str, *ALGORITHMS] = "ALGORITHM_UNSPECIFIED"
    observation_noise: Annotated[str, *OBSERVATION_NOISES] = "OBSERVATION_NOISE_UNSPECIFIED"
    measurement_selection_type: Annotated[str, *MEASUREMENT_SELECTIONS] = "MEASUREMENT_SELECTION_TYPE_UNSPECIFIED"
    study_stopping_config: StudyStoppingConfig | None = None


class TrialParameter(Message):
    """The value of a parameter in a trial; a number, or a word for categories."""

    parameter_id: Text = ""
    value: Free = None


class Metric(Message):
    """A reported value of a metric."""

    metric_id: Text = ""
    value: Number = 0.0


class Measurement(Message):
    """The metrics reported at one step."""

    elapsed_duration: Duration | None = None
    step_count: Int64 = 0
    metrics: tuple[Metric, ...] = ()


class Trial(Message):
    """One trial of a tuning job, as Vertex AI reports it."""

    name: Annotated[Text, OUTPUT] = ""
    id: Annotated[Text, OUTPUT] = ""
    state: Annotated[str, *TRIAL_STATES, OUTPUT] = "STATE_UNSPECIFIED"
    parameters: Annotated[tuple[TrialParameter, ...], OUTPUT] = ()
    final_measurement: Annotated[Measurement | None, OUTPUT] = None
    measurements: Annotated[tuple[Measurement, ...], OUTPUT] = ()
    start_time: Annotated[Moment | None, OUTPUT] = None
    end_time: Annotated[Moment | None, OUTPUT] = None
    client_id: Annotated[Text, OUTPUT] = ""
    infeasible_reason: Annotated[Text, OUTPUT] = ""
    custom_job: Annotated[Text, OUTPUT] = ""
    web_access_uris: Annotated[dict[Text, Text], OUTPUT] = {}
