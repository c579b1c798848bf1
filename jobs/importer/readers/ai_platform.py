"""Convert jobs of AI Platform Training, which Google has shut down, to jobs of Vertex AI.

A `TrainingInput` has its machines by role; Vertex AI has them by position. Source: AI Platform Training's REST
reference, "TrainingInput" and "HyperparameterSpec"; Google's "Migrate custom training to Vertex AI"; "Machine types".
"""

from jobs.importer.nodes import Draft, Node, Notes, node_of, paths, set_at
from jobs.importer.syntax.shell_words import Word
from jobs.spec import quoted
from jobs.texts import translatable as _

ROLES = ("master", "worker", "parameterServer", "evaluator")
"""The roles, in the order of Vertex AI's worker pools."""
TIERS = {
    "BASIC": ("n1-standard-4", "", 0, "", 0),
    "STANDARD_1": ("n1-highcpu-8", "n1-highcpu-8", 4, "n1-standard-4", 3),
    "PREMIUM_1": ("n1-highcpu-16", "n1-highcpu-16", 19, "n1-highmem-8", 11),
    "BASIC_GPU": ("standard_gpu", "", 0, "", 0),
}
"""Machine of the master, machine and number of workers, machine and number of parameter servers."""
MACHINES = {
    "standard": "n1-standard-4",
    "large_model": "n1-highmem-8",
    "complex_model_s": "n1-highcpu-8",
    "complex_model_m": "n1-highcpu-16",
    "complex_model_l": "n1-highcpu-32",
    "standard_gpu": "n1-standard-8 NVIDIA_TESLA_K80 1",
    "complex_model_m_gpu": "n1-standard-16 NVIDIA_TESLA_K80 4",
    "complex_model_l_gpu": "n1-standard-32 NVIDIA_TESLA_K80 8",
    "standard_p100": "n1-standard-8 NVIDIA_TESLA_P100 1",
    "complex_model_m_p100": "n1-standard-16 NVIDIA_TESLA_P100 4",
    "standard_v100": "n1-standard-8 NVIDIA_TESLA_V100 1",
    "large_model_v100": "n1-highmem-8 NVIDIA_TESLA_V100 1",
    "complex_model_m_v100": "n1-standard-16 NVIDIA_TESLA_V100 4",
    "complex_model_l_v100": "n1-standard-32 NVIDIA_TESLA_V100 8",
}
SPEC = {"network": "network", "serviceAccount": "serviceAccount", "enableWebAccess": "enableWebAccess"}
STUDY = {
    "maxTrials": "maxTrialCount",
    "maxParallelTrials": "parallelTrialCount",
    "maxFailedTrials": "maxFailedTrialCount",
}
RANGES = {"DOUBLE": "doubleValueSpec", "INTEGER": "integerValueSpec"}
VALUES = {"CATEGORICAL": "categoricalValueSpec", "DISCRETE": "discreteValueSpec"}
CARRIED = {
    *SPEC,
    "scaleTier",
    "region",
    "jobDir",
    "hyperparameters",
    "packageUris",
    "pythonModule",
    "args",
    "scheduling",
}
CARRIED |= {"runtimeVersion", "pythonVersion", "encryptionConfig"}
CARRIED |= {f"{role}{part}" for role in ROLES for part in ("Type", "Count", "Config")}
SHUT_DOWN = _("This is a job of AI Platform Training, which Google has shut down; it is converted to a Vertex AI job.")

DASHED = {"master": "master", "worker": "worker", "parameter-server": "parameterServer"}
FLAGS = paths("scale-tier region job-dir runtime-version python-version network service-account enable-web-access")
FLAGS |= {"module-name": "pythonModule", "kms-key": "encryptionConfig.kmsKeyName"}
for _flag, _role in DASHED.items():
    FLAGS |= {f"{_flag}-machine-type": f"{_role}Type", f"{_flag}-image-uri": f"{_role}Config.imageUri"}
    FLAGS |= {f"{_flag}-accelerator": f"{_role}Config.acceleratorConfig", f"{_flag}-count": f"{_role}Count"}
"""Flags of `gcloud ai-platform jobs submit training`, with their paths in a TrainingInput."""
LOCAL = frozenset(
    {"package-path", "staging-bucket", "use-chief-in-tf-config", "config", "project", "labels", "packages"}
)


def of_command(name: list[Word], given: dict[str, list[Word]], document: Node, line: int, notes: Notes) -> Draft:
    """Return the job of a command with the flags `given`; they go before the same fields of its config file."""
    inner = Node(dict((document.get("trainingInput") or document).entries), line)
    for flag, words in given.items():
        word = words[-1]
        value: Node = Node(word.text, word.line)
        if flag.endswith("-accelerator"):
            pairs = dict(part.partition("=")[::2] for part in word.text.split(","))
            pairs["type"] = pairs.get("type", "").upper().replace("-", "_")
            value = node_of(pairs, word.line)
        if flag in FLAGS:
            set_at(inner, [*FLAGS[flag].split(".")], value)
        elif flag == "packages":
            inner.value["packageUris"] = node_of(word.text.split(","), word.line)
        elif flag == "--":
            inner.value["args"] = Node([Node(each.text, each.line) for each in words], word.line)
        elif flag == "package-path":
            message = _("gcloud packs the code on your disk; Trainboard cannot see it.")
            notes.note("local_code", word.line, message, _("Upload the package, and give its gs:// address."))
        elif flag not in LOCAL:
            message = _("--%(flag)s has no equal in Vertex AI; it is left out.", flag=quoted(flag)[1:-1])
            notes.note("not_carried", word.line, message)
    labels = dict(part.partition("=")[::2] for word in given.get("labels", []) for part in word.text.split(","))
    outer = {"trainingInput": inner, "labels": node_of(labels, line)} if labels else {"trainingInput": inner}
    outer |= {"jobId": Node(word.text, word.line) for word in name}
    project = given["project"][-1].text if "project" in given else ""
    draft = converted(Node(outer, line), notes)
    return draft._replace(project=project, form=f"{draft.form}, from a gcloud command")


def is_training_input(node: Node) -> bool:
    """Return whether a document is a job of AI Platform Training."""
    return node.get("trainingInput") is not None or (
        node.get("scaleTier") is not None and node.get("workerPoolSpecs", "jobSpec") is None
    )


def converted(node: Node, notes: Notes) -> Draft:
    """Return the job of a document with a `trainingInput`, or of a bare one."""
    given = node.get("trainingInput") or node
    notes.note("converted", given.line, SHUT_DOWN, _("Check its machines and its image."))
    for name, item in given.entries.items():
        if not any(given.key(known) == name for known in CARRIED):
            message = _("%(name)s has no equal in Vertex AI; it is left out.", name=quoted(name))
            notes.note("not_carried", item.line, message)
    spec = Node({"workerPoolSpecs": Node(_pools(given, notes), given.line)}, given.line)
    spec.value |= {name: item for old, name in SPEC.items() if (item := given.get(old)) is not None}
    if (folder := given.get("jobDir")) is not None:
        spec.value["baseOutputDirectory"] = Node({"outputUriPrefix": folder}, folder.line)
    longest = (given.get("scheduling") or Node({}, 0)).get("maxRunningTime")
    if longest is not None:
        spec.value["scheduling"] = Node({"timeout": longest}, longest.line)
    outer = {"displayName": item for item in [node.get("jobId")] if item is not None}
    outer |= {"labels": item for item in [node.get("labels")] if item is not None}
    outer |= {"encryptionSpec": item for item in [given.get("encryptionConfig")] if item is not None}
    region = given.get("region")
    place = region.text() if region is not None else ""
    study = given.get("hyperparameters")
    if study is None:
        body = Node({**outer, "jobSpec": spec}, node.line)
        return Draft("custom_job", body, "a job of AI Platform Training", region=place)
    counts = {new: study.get(old) or Node(1, study.line) for old, new in STUDY.items() if new != "maxFailedTrialCount"}
    if (failed := study.get("maxFailedTrials")) is not None:
        counts["maxFailedTrialCount"] = failed
    body = Node({**outer, "studySpec": _study(study, notes), **counts, "trialJobSpec": spec}, node.line)
    return Draft("hyperparameter_tuning_job", body, "a tuning job of AI Platform Training", region=place)


def _pools(given: Node, notes: Notes) -> list[Node]:
    tier = given.get("scaleTier")
    name = tier.text().upper() if tier is not None else "BASIC"
    master, worker, workers, server, servers = TIERS.get(name, ("", "", 0, "", 0))
    if master:
        line = tier.line if tier is not None else given.line
        notes.note("scale_tier", line, _("The scale tier %(name)s is read as its machines.", name=quoted(name)))
    elif name != "CUSTOM" and tier is not None:
        message = _("Vertex AI has no equal of the scale tier %(name)s.", name=quoted(name))
        notes.error("scale_tier", tier.line, message, _("Choose a machine type."))
    standard = {"master": (master, 1), "worker": (worker, workers), "parameterServer": (server, servers)}
    pools = [_pool(given, role, *standard.get(role, ("", 0)), notes) for role in ROLES]
    while pools and not pools[-1].entries:
        pools.pop()
    return pools


def _pool(given: Node, role: str, machine: str, count: int, notes: Notes) -> Node:
    """Return the worker pool of a role, empty if nothing is given for it."""
    kind, number, config = (given.get(f"{role}{part}") for part in ("Type", "Count", "Config"))
    if role != "master" and number is None and not count:
        return Node({}, given.line)
    config = config or Node({}, given.line)
    line = kind.line if kind is not None else given.line
    words = (kind.text() if kind is not None else machine) or "${MACHINE_TYPE}"
    spec: dict[str, Node] = {}
    for field, value in zip(
        ("machineType", "acceleratorType", "acceleratorCount"), MACHINES.get(words, words).split(), strict=False
    ):
        spec[field] = Node(int(value) if field == "acceleratorCount" else value, line)
    if words in MACHINES and kind is not None:
        message = _("%(old)s is read as %(new)s.", old=quoted(words), new=quoted(MACHINES[words]))
        notes.note("machine_converted", line, message)
    if (accelerator := config.get("acceleratorConfig")) is not None:
        spec |= {"acceleratorType": accelerator.get("type") or Node("${ACCELERATOR_TYPE}", line)}
        spec |= {"acceleratorCount": accelerator.get("count") or Node(1, line)}
    pool = {"machineSpec": Node(spec, line), "replicaCount": number or Node(count, line)}
    if (disk := config.get("diskConfig")) is not None:
        pool["diskSpec"] = disk
    shared = given.get("masterConfig") or Node({}, line)
    image = config.get("imageUri") or shared.get("imageUri")
    words_of = {"command": config.get("containerCommand"), "args": config.get("containerArgs") or given.get("args")}
    if image is not None:
        task = {"imageUri": image} | {name: item for name, item in words_of.items() if item is not None}
        return Node(pool | {"containerSpec": Node(task, image.line)}, line)
    package = {
        "executorImageUri": Node("${EXECUTOR_IMAGE_URI}", line),
        "packageUris": given.get("packageUris") or node_of(["${PACKAGE_URI}"], line),
        "pythonModule": given.get("pythonModule") or Node("${PYTHON_MODULE}", line),
    }
    package |= {name: item for name, item in [("args", given.get("args"))] if item is not None}
    if role == "master":
        message = _("The runtime version is an image in Vertex AI; Trainboard does not know which one is meant.")
        old = given.get("runtimeVersion")
        line = old.line if old is not None else line
        notes.note("runtime_version", line, message, _("Choose a prebuilt container as executorImageUri."))
    return Node(pool | {"pythonPackageSpec": Node(package, line)}, line)


def _study(study: Node, notes: Notes) -> Node:
    """Return the `studySpec` of a HyperparameterSpec."""
    line = study.line
    metric = study.get("hyperparameterMetricTag") or Node("training/hptuning/metric", line)
    goal = study.get("goal") or Node("${GOAL}", line)
    given = study.get("params")
    held = given.value if given is not None and isinstance(given.value, list) else []
    parameters = [Node(_parameter(each), each.line) for each in held]
    spec = {"metrics": node_of([{"metricId": metric, "goal": goal}], metric.line), "parameters": Node(parameters, line)}
    if (algorithm := study.get("algorithm")) is not None and "UNSPECIFIED" not in algorithm.text():
        spec["algorithm"] = algorithm
    for name in ("enableTrialEarlyStopping", "resumePreviousJobId"):
        if (item := study.get(name)) is not None:
            message = _("%(name)s has no equal in Vertex AI; it is left out.", name=quoted(name))
            notes.note("not_carried", item.line, message)
    return Node(spec, line)


def _parameter(given: Node) -> dict[str, Node]:
    kind = given.get("type")
    word = kind.text().upper() if kind is not None else ""
    found = {"parameterId": item for item in [given.get("parameterName")] if item is not None}
    if word in RANGES:
        ends = {name: item for name in ("minValue", "maxValue") if (item := given.get(name)) is not None}
        found[RANGES[word]] = Node(ends, given.line)
    elif word in VALUES:
        values = given.get("categoricalValues" if word == "CATEGORICAL" else "discreteValues") or Node([], given.line)
        found[VALUES[word]] = Node({"values": values}, given.line)
    scale = given.get("scaleType")
    if scale is not None and scale.text().upper() not in ("NONE", "SCALE_TYPE_UNSPECIFIED"):
        found["scaleType"] = scale
    return found
