"""Convert jobs of AI Platform Training, which Google has shut down, to jobs of Vertex AI.

A `TrainingInput` has its machines by role; Vertex AI has them by position. Source: AI Platform Training's REST
reference, "TrainingInput" and "HyperparameterSpec"; Google's "Migrate custom training to Vertex AI"; "Machine types".
"""

from jobs.importer.nodes import Draft, Node, Notes, node_of, paths, set_at
from jobs.importer.syntax.shell_words import Word
from jobs.spec import quoted
from jobs.texts import translatable as _

ROLES = {"master": "master", "worker": "worker", "parameter-server": "parameterServer", "evaluator": "evaluator"}
"""The roles as flags and as fields, in the order of Vertex AI's worker pools."""
TIERS = {
    "BASIC": {"master": ("n1-standard-4", 1)},
    "BASIC_GPU": {"master": ("standard_gpu", 1)},
    "STANDARD_1": {
        "master": ("n1-highcpu-8", 1),
        "worker": ("n1-highcpu-8", 4),
        "parameterServer": ("n1-standard-4", 3),
    },
    "PREMIUM_1": {
        "master": ("n1-highcpu-16", 1),
        "worker": ("n1-highcpu-16", 19),
        "parameterServer": ("n1-highmem-8", 11),
    },
}
"""Machine and number of each role."""
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
SAME = "network serviceAccount enableWebAccess"
CARRIED = (
    "scaleTier region jobDir hyperparameters packageUris pythonModule args scheduling runtimeVersion pythonVersion"
)
KNOWN = {*SAME.split(), *CARRIED.split(), "encryptionConfig"}
KNOWN |= {f"{role}{part}" for role in ROLES.values() for part in ("Type", "Count", "Config")}
FLAGS = paths("scale-tier region job-dir runtime-version python-version network service-account enable-web-access")
FLAGS |= {"module-name": "pythonModule", "kms-key": "encryptionConfig.kmsKeyName"}
FLAGS |= {
    f"{flag}-{name}": f"{role}{path}"
    for flag, role in ROLES.items()
    for name, path in {
        "machine-type": "Type",
        "count": "Count",
        "image-uri": "Config.imageUri",
        "accelerator": "Config.acceleratorConfig",
    }.items()
}
"""Flags of `gcloud ai-platform jobs submit training`, with their paths in a TrainingInput."""
NOT_OF_THE_JOB = frozenset({"staging-bucket", "use-chief-in-tf-config", "config", "project"})
VALUE_SPECS = {
    "DOUBLE": "doubleValueSpec",
    "INTEGER": "integerValueSpec",
    "CATEGORICAL": "categoricalValueSpec",
    "DISCRETE": "discreteValueSpec",
}


def of_command(name: list[Word], given: dict[str, list[Word]], document: Node, line: int, notes: Notes) -> Draft:
    """Return the job of a command with the flags `given`; they go before the same fields of its config file."""
    inner = Node(dict((document.get("trainingInput") or document).entries), line)
    outer = {"trainingInput": inner}
    if name:
        outer["jobId"] = Node(name[0].text, name[0].line)
    for flag, words in given.items():
        word = words[-1]
        if flag in FLAGS:
            value = Node(word.text, word.line)
            if flag.endswith("-accelerator"):
                pairs = _pairs(word)
                value = node_of(pairs | {"type": pairs.get("type", "").upper().replace("-", "_")}, word.line)
            set_at(inner, [*FLAGS[flag].split(".")], value)
        elif flag == "packages":
            inner.value["packageUris"] = node_of(word.text.split(","), word.line)
        elif flag == "--":
            inner.value["args"] = Node([Node(each.text, each.line) for each in words], word.line)
        elif flag == "labels":
            outer["labels"] = node_of(_pairs(word), word.line)
        elif flag == "package-path":
            message = _("gcloud packs the code on your disk; Trainboard cannot see it.")
            notes.note("local_code", word.line, message, _("Upload the package, and give its gs:// address."))
        elif flag not in NOT_OF_THE_JOB:
            _left_out(f"--{flag}", word.line, notes)
    draft = converted(Node(outer, line), notes)
    project = given["project"][-1].text if "project" in given else ""
    return draft._replace(project=project, form=f"{draft.form}, from a gcloud command")


def is_training_input(node: Node) -> bool:
    """Return whether a document is a job of AI Platform Training."""
    is_bare = node.get("scaleTier") is not None and node.get("workerPoolSpecs", "jobSpec") is None
    return is_bare or node.get("trainingInput") is not None


def converted(node: Node, notes: Notes) -> Draft:
    """Return the job of a document with a `trainingInput`, or of a bare one."""
    given = node.get("trainingInput") or node
    message = _(
        "This is a job of AI Platform Training, which Google has shut down; it is converted to a Vertex AI job."
    )
    notes.note("converted", given.line, message, _("Check its machines and its image."))
    for name, item in given.entries.items():
        if not any(given.key(known) == name for known in KNOWN):
            _left_out(name, item.line, notes)
    spec = {"workerPoolSpecs": Node(_pools(given, notes), given.line)} | _renamed(given, *SAME.split())
    spec |= _below(given, "jobDir", "baseOutputDirectory", "outputUriPrefix")
    spec |= _below(given.get("scheduling"), "maxRunningTime", "scheduling", "timeout")
    outer = _renamed(node, "labels", displayName="jobId") | _renamed(given, encryptionSpec="encryptionConfig")
    study, region = given.get("hyperparameters"), given.get("region")
    place = region.text() if region is not None else ""
    if study is None:
        body = Node({**outer, "jobSpec": Node(spec, given.line)}, node.line)
        return Draft("custom_job", body, "a job of AI Platform Training", region=place)
    outer |= {"maxTrialCount": Node(1, study.line), "parallelTrialCount": Node(1, study.line)}
    outer |= _renamed(
        study,
        maxTrialCount="maxTrials",
        parallelTrialCount="maxParallelTrials",
        maxFailedTrialCount="maxFailedTrials",
    )
    body = Node({**outer, "studySpec": _study(study, notes), "trialJobSpec": Node(spec, given.line)}, node.line)
    return Draft("hyperparameter_tuning_job", body, "a tuning job of AI Platform Training", region=place)


def _pools(given: Node, notes: Notes) -> list[Node]:
    tier = given.get("scaleTier") or Node("BASIC", given.line)
    name = tier.text().upper()
    if name in TIERS:
        notes.note("scale_tier", tier.line, _("The scale tier %(name)s is read as its machines.", name=quoted(name)))
    elif name != "CUSTOM":
        message = _("Vertex AI has no equal of the scale tier %(name)s.", name=quoted(name))
        notes.error("scale_tier", tier.line, message, _("Choose a machine type."))
    pools = [
        _pool(given, role, *TIERS.get(name, {}).get(role, ("", role == "master")), notes) for role in ROLES.values()
    ]
    while pools and not pools[-1].entries:
        pools.pop()
    return pools


def _pool(given: Node, role: str, machine: str, count: int, notes: Notes) -> Node:
    """Return the worker pool of a role, empty if nothing is given for it."""
    number = given.get(f"{role}Count") or Node(int(count), given.line)
    if number.value in (0, "0"):
        return Node({}, given.line)
    kind = given.get(f"{role}Type") or Node(machine or "${MACHINE_TYPE}", given.line)
    config = given.get(f"{role}Config") or Node({}, kind.line)
    meant = MACHINES.get(kind.text(), kind.text())
    if meant != kind.text():
        message = _("%(old)s is read as %(new)s.", old=quoted(kind.text()), new=quoted(meant))
        notes.note("machine_converted", kind.line, message)
    parts = meant.split() or [meant]
    spec = dict(
        zip(("machineType", "acceleratorType", "acceleratorCount"), map(Node, parts, [kind.line] * 3), strict=False)
    )
    if (accelerator := config.get("acceleratorConfig")) is not None:
        spec |= _renamed(accelerator, acceleratorType="type", acceleratorCount="count")
    pool = {"machineSpec": Node(spec, kind.line), "replicaCount": number} | _renamed(config, diskSpec="diskConfig")
    args = _renamed(given, "args") | _renamed(config, args="containerArgs")
    image = config.get("imageUri") or (given.get("masterConfig") or config).get("imageUri")
    if image is not None:
        task = {"imageUri": image} | _renamed(config, command="containerCommand") | args
        return Node(pool | {"containerSpec": Node(task, image.line)}, kind.line)
    if role == "master":
        message = _("The runtime version is an image in Vertex AI; Trainboard does not know which one is meant.")
        line = (given.get("runtimeVersion") or given).line
        notes.note("runtime_version", line, message, _("Choose a prebuilt container as executorImageUri."))
    open_values = {"executorImageUri": "${EXECUTOR_IMAGE_URI}", "packageUris": ["${PACKAGE_URI}"]}
    package = node_of(open_values | {"pythonModule": "${PYTHON_MODULE}"}, kind.line).entries
    package |= _renamed(given, "packageUris", "pythonModule") | args
    return Node(pool | {"pythonPackageSpec": Node(package, kind.line)}, kind.line)


def _study(study: Node, notes: Notes) -> Node:
    """Return the `studySpec` of a HyperparameterSpec."""
    metric = {"metricId": Node("training/hptuning/metric", study.line), "goal": Node("${GOAL}", study.line)}
    metric |= _renamed(study, "goal", metricId="hyperparameterMetricTag")
    given = study.get("params")
    listed = given.value if given is not None and isinstance(given.value, list) else []
    for name in ("enableTrialEarlyStopping", "resumePreviousJobId"):
        if (item := study.get(name)) is not None:
            _left_out(name, item.line, notes)
    parameters = node_of([_parameter(each) for each in listed], study.line)
    spec = {"metrics": node_of([metric], study.line), "parameters": parameters} | _renamed(study, "algorithm")
    return Node(spec, study.line)


def _parameter(given: Node) -> Node:
    kind, scale = (given.get(name) or Node("", given.line) for name in ("type", "scaleType"))
    values = _renamed(given, "minValue", "maxValue", values="categoricalValues") | _renamed(
        given, values="discreteValues"
    )
    found = _renamed(given, parameterId="parameterName")
    if name := VALUE_SPECS.get(kind.text().upper()):
        found[name] = Node(values, given.line)
    if scale.text().upper() not in ("", "NONE", "SCALE_TYPE_UNSPECIFIED"):
        found["scaleType"] = scale
    return Node(found, given.line)


def _renamed(node: Node, *same: str, **names: str) -> dict[str, Node]:
    """Return the fields that a mapping has, under the same or other names."""
    wanted = {name: name for name in same} | names
    return {name: item for name, old in wanted.items() if (item := node.get(old)) is not None}


def _below(node: Node | None, old: str, outer: str, inner: str) -> dict[str, Node]:
    item = node.get(old) if node is not None else None
    return {outer: Node({inner: item}, item.line)} if item is not None else {}


def _pairs(word: Word) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in word.text.split(",") if part)


def _left_out(name: str, line: int, notes: Notes) -> None:
    notes.note("not_carried", line, _("%(name)s has no equal in Vertex AI; it is left out.", name=quoted(name)))
