"""The table: which field of the form stands where in the REST body. Writing, reading and findings all go by it.

Paths are relative to a part of the body: the resource, its CustomJobSpec, its study and trial counts, a worker pool,
a parameter. `layout` says where the parts lie in a job of each kind.
"""

from dashboard.forms.body.conditions import CONDITION
from dashboard.forms.body.entries import Branch, Entry, Table, Variant, ends, env, flag, length, pairs, whole

DATA = "inputDataConfig"
PARTS = ("training", "validation", "test")
"""What the data of a pipeline is split into."""


def _fractions(at: str, *, keyed: bool = False) -> dict[str, Entry]:
    """Return the entries of a split by fractions; some look at a column, the key."""
    fractions = {f"{part}_fraction": Entry(f"{at}.{part}Fraction") for part in PARTS}
    return fractions | ({"split_key": Entry(f"{at}.key")} if keyed else {})


RESOURCE = Table(
    {
        "name": Entry("displayName"),
        "labels": pairs("labels"),
        "encryption_key": Entry("encryptionSpec.kmsKeyName"),
    }
)
PIPELINE = Table(
    {
        "model_name": Entry("modelToUpload.displayName"),
        "model_image": Entry("modelToUpload.containerSpec.imageUri"),
        "parent_model": Entry("parentModel"),
        "model_id": Entry("modelId"),
        "dataset": Entry("inputDataConfig.datasetId"),
        "dataset_output": Entry("inputDataConfig.gcsDestination.outputUriPrefix"),
        "annotation_schema": Entry("inputDataConfig.annotationSchemaUri"),
    },
    (
        Variant(
            "split",
            {
                "fraction": Branch(f"{DATA}.fractionSplit", _fractions(f"{DATA}.fractionSplit")),
                "timestamp": Branch(f"{DATA}.timestampSplit", _fractions(f"{DATA}.timestampSplit", keyed=True)),
                "stratified": Branch(f"{DATA}.stratifiedSplit", _fractions(f"{DATA}.stratifiedSplit", keyed=True)),
                "predefined": Branch(f"{DATA}.predefinedSplit", {"split_key": Entry(f"{DATA}.predefinedSplit.key")}),
                "filter": Branch(
                    f"{DATA}.filterSplit",
                    {f"{part}_filter": Entry(f"{DATA}.filterSplit.{part}Filter") for part in PARTS},
                ),
            },
        ),
    ),
    above={
        "trainingTaskDefinition": "task",
        "trainingTaskInputs": "task",
        "modelToUpload": "model_name",
        "inputDataConfig": "dataset",
        "inputDataConfig.bigqueryDestination": "dataset_output",
    },
)
SPEC = Table(
    {
        "timeout": length("scheduling.timeout"),
        "max_wait": length("scheduling.maxWaitDuration"),
        "restart_on_worker_restart": flag("scheduling.restartJobOnWorkerRestart"),
        "disable_retries": flag("scheduling.disableRetries"),
        "resource": Entry("persistentResourceId"),
        "output": Entry("baseOutputDirectory.outputUriPrefix"),
        "service_account": Entry("serviceAccount"),
        "network": Entry("network"),
        "reserved_ip_ranges": Entry("reservedIpRanges"),
        "network_attachment": Entry("pscInterfaceConfig.networkAttachment"),
        "dns_peerings": Entry("pscInterfaceConfig.dnsPeeringConfigs"),
        "tensorboard": Entry("tensorboard"),
        "experiment": Entry("experiment"),
        "experiment_run": Entry("experimentRun"),
        "web_access": flag("enableWebAccess"),
        "dashboard_access": flag("enableDashboardAccess"),
    },
    above={"scheduling": "strategy", "pscInterfaceConfig": "network_attachment", "baseOutputDirectory": "output"},
)
POOL = Table(
    {
        "machine_type": Entry("machineSpec.machineType"),
        "accelerator_type": Entry("machineSpec.acceleratorType"),
        "accelerator_count": Entry("machineSpec.acceleratorCount"),
        "tpu_topology": Entry("machineSpec.tpuTopology"),
        "affinity": Entry("machineSpec.reservationAffinity.reservationAffinityType"),
        "reservations": Entry("machineSpec.reservationAffinity.values"),
        "replicas": whole("replicaCount"),
        "disk_type": Entry("diskSpec.bootDiskType"),
        "disk_gb": Entry("diskSpec.bootDiskSizeGb"),
        "nfs_mounts": Entry("nfsMounts"),
        "lustre_mounts": Entry("lustreMounts"),
    },
    (
        Variant(
            "runs",
            {
                "container": Branch(
                    "containerSpec",
                    {
                        "image": Entry("containerSpec.imageUri"),
                        "command": Entry("containerSpec.command"),
                        "args": Entry("containerSpec.args"),
                        "env": env("containerSpec.env"),
                    },
                ),
                "package": Branch(
                    "pythonPackageSpec",
                    {
                        "executor_image": Entry("pythonPackageSpec.executorImageUri"),
                        "package_uris": Entry("pythonPackageSpec.packageUris"),
                        "module": Entry("pythonPackageSpec.pythonModule"),
                        "args": Entry("pythonPackageSpec.args"),
                        "env": env("pythonPackageSpec.env"),
                    },
                ),
            },
        ),
    ),
    above={
        "": "machine_type",
        "machineSpec": "machine_type",
        "machineSpec.reservationAffinity": "affinity",
        "diskSpec": "disk_type",
        "containerSpec": "image",
        "pythonPackageSpec": "executor_image",
    },
)
TUNING = Table(
    {
        "metric_id": Entry("studySpec.metrics.0.metricId"),
        "goal": Entry("studySpec.metrics.0.goal"),
        "algorithm": Entry("studySpec.algorithm"),
        "measurement": Entry("studySpec.measurementSelectionType"),
        "max_trials": Entry("maxTrialCount"),
        "parallel_trials": Entry("parallelTrialCount"),
        "max_failed_trials": Entry("maxFailedTrialCount"),
    },
    (
        Variant(
            "stopping",
            {
                "median": Branch("studySpec.medianAutomatedStoppingSpec", {}),
                "decay_curve": Branch("studySpec.decayCurveStoppingSpec", {}),
                "convex": Branch("studySpec.convexAutomatedStoppingSpec", {}),
            },
        ),
    ),
    above={"studySpec.metrics": "metric_id", "studySpec": "algorithm"},
)
PARAMETER = Table(
    {"parameter_id": Entry("parameterId"), "scale": Entry("scaleType")},
    (
        Variant(
            "kind",
            {
                "double": Branch(
                    "doubleValueSpec",
                    {"low": ends("doubleValueSpec.minValue", float), "high": ends("doubleValueSpec.maxValue", float)},
                ),
                "integer": Branch(
                    "integerValueSpec",
                    {"low": ends("integerValueSpec.minValue", int), "high": ends("integerValueSpec.maxValue", int)},
                ),
                "categorical": Branch("categoricalValueSpec", {"words": Entry("categoricalValueSpec.values")}),
                "discrete": Branch("discreteValueSpec", {"numbers": Entry("discreteValueSpec.values")}),
            },
        ),
    ),
    above={
        "": "parameter_id",
        "doubleValueSpec": "low",
        "integerValueSpec": "low",
        "categoricalValueSpec": "words",
        "discreteValueSpec": "numbers",
        CONDITION: "parent_values",
    },
)
