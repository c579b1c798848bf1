"""Specs at the boundary of the rules of tuning jobs and pipelines."""

from typing import Any

from tests.unit.strategies.cases import ABSENT, STUDY, T4, TPU, Case

P = "studySpec.parameters"
DOUBLE = {"parameterId": "p", "doubleValueSpec": {"minValue": 0, "maxValue": 1}}
DISCRETE = {"parameterId": "p", "discreteValueSpec": {"values": [1, 2]}}
CHILD = {"parentDiscreteValues": {"values": [1]}, "parameterSpec": DOUBLE | {"parameterId": "c"}}
WHOLE = {"parameterId": "p", "integerValueSpec": {"minValue": 1, "maxValue": 9}}


def parent(*children: dict[str, Any], of: dict[str, Any] = DISCRETE) -> dict[str, Any]:
    return {f"{P}[2]": of | {"conditionalParameterSpecs": list(children)}, "maxTrialCount": 30}


def third(parameter: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {f"{P}[2]": parameter | changes, "maxTrialCount": 30}


def discrete(values: list[float]) -> dict[str, Any]:
    return third(DISCRETE, discreteValueSpec={"values": values})


TRIAL = "trialJobSpec.workerPoolSpecs[0]"
TUNING: list[Case] = [
    ("metrics_are_named", "studySpec.metrics", {}, {"studySpec.metrics": []}),
    ("metrics_are_named", "studySpec.metrics[0].metricId", {}, {"studySpec.metrics[0].metricId": "val loss"}),
    ("metrics_are_named", "studySpec.metrics[1].metricId", {}, {"studySpec.metrics": STUDY["metrics"] * 2}),
    ("metric_goals_are_given", "studySpec.metrics[0].goal", {}, {"studySpec.metrics[0].goal": ABSENT}),
    (
        "safety_fractions_are_fractions",
        "studySpec.metrics[0].safetyConfig.desiredMinSafeTrialsFraction",
        {"studySpec.metrics[0].safetyConfig": {"desiredMinSafeTrialsFraction": 1}},
        {"studySpec.metrics[0].safetyConfig": {"desiredMinSafeTrialsFraction": 1.01}},
    ),
    ("trials_are_counted", "maxTrialCount", {}, {"maxTrialCount": 0}),
    ("trials_are_counted", "parallelTrialCount", {"parallelTrialCount": 1}, {"parallelTrialCount": ABSENT}),
    ("parallel_trials_are_at_most_all", "parallelTrialCount", {"parallelTrialCount": 20}, {"parallelTrialCount": 21}),
    ("failed_trials_are_at_most_all", "maxFailedTrialCount", {"maxFailedTrialCount": 20}, {"maxFailedTrialCount": 21}),
    ("trials_are_enough", "maxTrialCount", {"maxTrialCount": 20}, {"maxTrialCount": 19}),
    (
        "tuning_has_no_tpus",
        f"{TRIAL}.machineSpec.machineType",
        {f"{TRIAL}.machineSpec": T4},
        {f"{TRIAL}.machineSpec": TPU},
    ),
    (
        "tuning_containers_report_metrics",
        f"{TRIAL}.containerSpec.imageUri",
        {f"{TRIAL}.containerSpec.imageUri": "us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4:latest"},
        {},
    ),
    ("observation_noise_is_left_out", "studySpec.observationNoise", {}, {"studySpec.observationNoise": "LOW"}),
    (
        "study_stops_in_one_way",
        "studySpec",
        {"studySpec.decayCurveStoppingSpec": {}},
        {"studySpec.decayCurveStoppingSpec": {}, "studySpec.medianAutomatedStoppingSpec": {}},
    ),
    ("parameters_are_named", P, {}, {P: []}),
    ("parameters_are_named", f"{P}[2].parameterId", third(DOUBLE), third(DOUBLE, parameterId="a b")),
    ("parameters_are_named", f"{P}[2].parameterId", third(DOUBLE), third(DOUBLE, parameterId="lr")),
    ("parameters_have_one_range", f"{P}[2]", third(DOUBLE), third(DOUBLE, discreteValueSpec={"values": [1]})),
    ("parameters_have_one_range", f"{P}[2]", third(DOUBLE), third({"parameterId": "p"})),
    (
        "parameter_ranges_are_ordered",
        f"{P}[2].integerValueSpec.minValue",
        third(WHOLE, integerValueSpec={"minValue": "9", "maxValue": 9}),
        third(WHOLE, integerValueSpec={"minValue": "10", "maxValue": 9}),
    ),
    (
        "discrete_values_ascend",
        f"{P}[2].discreteValueSpec.values[1]",
        discrete([1, 1 + 2e-10]),
        discrete([1, 1 + 5e-11]),
    ),
    (
        "discrete_values_ascend",
        f"{P}[2].discreteValueSpec.values",
        discrete([float(n) for n in range(1000)]),
        discrete([float(n) for n in range(1001)]),
    ),
    ("discrete_values_ascend", f"{P}[1].categoricalValueSpec.values", {}, {f"{P}[1].categoricalValueSpec": {}}),
    (
        "default_values_are_left_out",
        f"{P}[0].doubleValueSpec.defaultValue",
        {},
        {f"{P}[0].doubleValueSpec.defaultValue": 0.1},
    ),
    ("log_scales_are_above_zero", f"{P}[0].scaleType", {}, {f"{P}[0].doubleValueSpec.minValue": 0}),
    ("log_scales_are_above_zero", f"{P}[1].scaleType", {}, {f"{P}[1].scaleType": "UNIT_LINEAR_SCALE"}),
    (
        "log_scales_are_above_zero",
        f"{P}[2].scaleType",
        third(DISCRETE, scaleType="UNIT_REVERSE_LOG_SCALE"),
        discrete([0, 1]) | {f"{P}[2].scaleType": "UNIT_REVERSE_LOG_SCALE"},
    ),
    (
        "grid_search_has_no_doubles",
        f"{P}[0].doubleValueSpec",
        {"studySpec.algorithm": "GRID_SEARCH", f"{P}[0]": WHOLE},
        {"studySpec.algorithm": "GRID_SEARCH"},
    ),
    (
        "conditions_match_the_parent",
        f"{P}[2].conditionalParameterSpecs[0]",
        parent(CHILD),
        parent(CHILD | {"parentDiscreteValues": {"values": [3]}}),
    ),
    (
        "conditions_match_the_parent",
        f"{P}[2].conditionalParameterSpecs[0]",
        parent({"parentIntValues": {"values": ["9"]}, "parameterSpec": CHILD["parameterSpec"]}, of=WHOLE),
        parent({"parentIntValues": {"values": ["10"]}, "parameterSpec": CHILD["parameterSpec"]}, of=WHOLE),
    ),
    (
        "same_named_children_exclude_each_other",
        f"{P}[2].conditionalParameterSpecs[1]",
        parent(CHILD, CHILD | {"parentDiscreteValues": {"values": [2]}}),
        parent(CHILD, CHILD),
    ),
]
FRACTIONS = "inputDataConfig.fractionSplit"
MODEL = "modelToUpload"
PIPELINES: list[Case] = [
    ("pipeline_names_its_task", "trainingTaskDefinition", {}, {"trainingTaskDefinition": ABSENT}),
    ("pipeline_names_its_task", "trainingTaskInputs", {}, {"trainingTaskInputs": ABSENT}),
    ("model_id_is_valid", "modelId", {"modelId": "_" + "m" * 62}, {"modelId": "m" * 64}),
    ("model_id_is_valid", "modelId", {"modelId": "m-1"}, {"modelId": "1-m"}),
    ("data_is_split_in_one_way", "inputDataConfig", {}, {"inputDataConfig.predefinedSplit": {"key": "k"}}),
    ("data_is_split_in_one_way", "inputDataConfig.datasetId", {}, {"inputDataConfig.datasetId": ABSENT}),
    (
        "exported_data_is_in_cloud_storage",
        "inputDataConfig.gcsDestination.outputUriPrefix",
        {"inputDataConfig.gcsDestination": {"outputUriPrefix": "gs://abc"}},
        {"inputDataConfig.gcsDestination": {"outputUriPrefix": "gs://ab/x"}},
    ),
    ("split_fractions_are_fractions", FRACTIONS, {}, {f"{FRACTIONS}.testFraction": 0.2}),
    (
        "uploaded_model_is_named",
        f"{MODEL}.displayName",
        {f"{MODEL}.displayName": "m" * 128},
        {f"{MODEL}.displayName": "m" * 129},
    ),
    ("uploaded_model_comes_from_somewhere", f"{MODEL}.containerSpec.imageUri", {}, {f"{MODEL}.containerSpec": ABSENT}),
    (
        "uploaded_model_comes_from_somewhere",
        "trainingTaskInputs.baseOutputDirectory.outputUriPrefix",
        {"trainingTaskInputs.baseOutputDirectory": ABSENT, f"{MODEL}.artifactUri": "gs://bucket/m"},
        {"trainingTaskInputs.baseOutputDirectory": ABSENT},
    ),
    (
        "probes_check_in_one_way",
        f"{MODEL}.containerSpec.healthProbe",
        {f"{MODEL}.containerSpec.healthProbe": {"exec": {}}},
        {f"{MODEL}.containerSpec.healthProbe": {"exec": {}, "httpGet": {}}},
    ),
]
