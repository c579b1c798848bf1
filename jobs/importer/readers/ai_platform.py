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
LOW, CPU, HIGH = "n1-standard-4", "n1-highcpu-8", "n1-highcpu-16"
TIERS = {
    "BASIC": {"master": (LOW, 1)},
    "BASIC_GPU": {"master": ("standard_gpu", 1)},
    "STANDARD_1": {"master": (CPU, 1), "worker": (CPU, 4), "parameterServer": (LOW, 3)},
    "PREMIUM_1": {"master": (HIGH, 1), "worker": (HIGH, 19), "parameterServer": ("n1-highmem-8", 11)},
    "CUSTOM": {},
}
"""Machine and number of each role."""
MACHINES = {
    "standard": LOW,
    "large_model": "n1-highmem-8",
    "complex_model_s": CPU,
    "complex_model_m": HIGH,
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
SPEC = {name: name for name in ("network", "serviceAccount", "enableWebAccess")}
SPEC |= {"jobDir": "baseOutputDirectory.outputUriPrefix", "scheduling.maxRunningTime": "scheduling.timeout"}
JOB = {"hyperparameters.maxTrials": "maxTrialCount", "hyperparameters.maxParallelTrials": "parallelTrialCount"}
JOB |= {"hyperparameters.maxFailedTrials": "maxFailedTrialCount", "encryptionConfig": "encryptionSpec"}
METRIC = {"goal": "goal", "hyperparameterMetricTag": "metricId"}
PARAMETER = {"parameterName": "parameterId"}
RANGE = {"minValue": "minValue", "maxValue": "maxValue", "categoricalValues": "values", "discreteValues": "values"}
MACHINE = {"acceleratorConfig.type": "acceleratorType", "acceleratorConfig.count": "acceleratorCount"}
IMAGE = {"containerCommand": "command"}
"""Fields of the old messages, with their paths in the new ones."""
KNOWN = {name.partition(".")[0] for name in (*SPEC, *JOB)}
KNOWN |= set("scaleTier region packageUris pythonModule args runtimeVersion pythonVersion".split())
KNOWN |= {f"{role}{part}" for role in ROLES.values() for part in ("Type", "Count", "Config")}
FLAGS = paths("scale-tier region job-dir runtime-version python-version network service-account enable-web-access")
FLAGS |= {"module-name": "pythonModule", "kms-key": "encryptionConfig.kmsKeyName"}
PARTS = {"machine-type": "Type", "count": "Count", "image-uri": "Config.imageUri"}
PARTS |= {"accelerator": "Config.acceleratorConfig"}
FLAGS |= {f"{flag}-{name}": f"{role}{path}" for flag, role in ROLES.items() for name, path in PARTS.items()}
"""Flags of `gcloud ai-platform jobs submit training`, with their paths in a TrainingInput."""
NOT_OF_THE_JOB = frozenset({"staging-bucket", "use-chief-in-tf-config", "config", "project"})


def of_command(name: list[Word], given: dict[str, list[Word]], document: Node, line: int, notes: Notes) -> Draft:
    """Return the job of a command with the flags `given`; they go before the same fields of its config file."""
    inner = Node(dict((document.get("trainingInput") or document).entries), line)
    outer = {"trainingInput": inner} | ({"jobId": Node(name[0].text, name[0].line)} if name else {})
    for flag, words in given.items():
        word = words[-1]
        pairs = dict(part.partition("=")[::2] for part in word.text.split(",") if part)
        if flag in FLAGS:
            value = Node(word.text, word.line)
            if flag.endswith("-accelerator"):
                value = node_of(pairs | {"type": pairs.get("type", "").upper().replace("-", "_")}, word.line)
            set_at(inner, [*FLAGS[flag].split(".")], value)
        elif flag == "packages":
            inner.value["packageUris"] = node_of(word.text.split(","), word.line)
        elif flag == "--":
            inner.value["args"] = Node([Node(each.text, each.line) for each in words], word.line)
        elif flag == "labels":
            outer["labels"] = node_of(pairs, word.line)
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
    spec = Node({"workerPoolSpecs": Node(_pools(given, notes), given.line)} | _taken(given, SPEC), given.line)
    outer = _taken(node, {"labels": "labels", "jobId": "displayName"}) | _taken(
        given, {"encryptionConfig": JOB["encryptionConfig"]}
    )
    study, region = given.get("hyperparameters"), given.get("region")
    if study is None:
        kind, outer, form = "custom_job", outer | {"jobSpec": spec}, "a job of AI Platform Training"
    else:
        kind, form = "hyperparameter_tuning_job", "a tuning job of AI Platform Training"
        outer |= {"maxTrialCount": Node(1, study.line), "parallelTrialCount": Node(1, study.line)}
        outer |= _taken(given, JOB) | {"studySpec": _study(study, notes), "trialJobSpec": spec}
    return Draft(kind, Node(outer, node.line), form, region=region.text() if region is not None else "")


def _pools(given: Node, notes: Notes) -> list[Node]:
    tier = given.get("scaleTier") or Node("BASIC", given.line)
    name = tier.text().upper()
    if name not in TIERS:
        message = _("Vertex AI has no equal of the scale tier %(name)s.", name=quoted(name))
        notes.error("scale_tier", tier.line, message, _("Choose a machine type."))
    elif name != "CUSTOM":
        notes.note("scale_tier", tier.line, _("The scale tier %(name)s is read as its machines.", name=quoted(name)))
    held = TIERS.get(name, {})
    pools = [_pool(given, role, *held.get(role, ("", role == "master")), notes) for role in ROLES.values()]
    while pools and not pools[-1].entries:
        pools.pop()
    return pools


def _pool(given: Node, role: str, machine: str, count: int, notes: Notes) -> Node:
    """Return the worker pool of a role, empty if nothing is given for it."""
    number = given.get(f"{role}Count") or Node(int(count), given.line)
    if number.value in (0, "0"):
        return Node({}, given.line)
    kind = given.get(f"{role}Type") or Node(machine or "${MACHINE_TYPE}", given.line)
    config, line = given.get(f"{role}Config") or Node({}, kind.line), kind.line
    meant = MACHINES.get(kind.text(), kind.text())
    if meant != kind.text():
        message = _("%(old)s is read as %(new)s.", old=quoted(kind.text()), new=quoted(meant))
        notes.note("machine_converted", line, message)
    names = ("machineType", "acceleratorType", "acceleratorCount")
    spec = node_of(dict(zip(names, meant.split() or [meant], strict=False)), line).value | _taken(config, MACHINE)
    pool = {"machineSpec": Node(spec, line), "replicaCount": number} | _taken(config, {"diskConfig": "diskSpec"})
    args = _taken(given, {"args": "args"}) | _taken(config, {"containerArgs": "args"})
    image = config.get("imageUri") or (given.get("masterConfig") or config).get("imageUri")
    if image is not None:
        task = {"imageUri": image} | _taken(config, IMAGE) | args
        return Node(pool | {"containerSpec": Node(task, image.line)}, line)
    if role == "master":
        message = _("The runtime version is an image in Vertex AI; Trainboard does not know which one is meant.")
        remedy = _("Choose a prebuilt container as executorImageUri.")
        notes.note("runtime_version", (given.get("runtimeVersion") or given).line, message, remedy)
    open_values = {"executorImageUri": "${EXECUTOR_IMAGE_URI}", "packageUris": ["${PACKAGE_URI}"]}
    package = node_of(open_values | {"pythonModule": "${PYTHON_MODULE}"}, line).entries
    package |= _taken(given, {name: name for name in ("packageUris", "pythonModule")})
    return Node(pool | {"pythonPackageSpec": node_of(package | args, line)}, line)


def _study(study: Node, notes: Notes) -> Node:
    """Return the `studySpec` of a HyperparameterSpec."""
    for name in ("enableTrialEarlyStopping", "resumePreviousJobId"):
        if (item := study.get(name)) is not None:
            _left_out(name, item.line, notes)
    metric = {"metricId": "training/hptuning/metric", "goal": "${GOAL}"} | _taken(study, METRIC)
    given, parameters = study.get("params"), []
    for each in given.value if given is not None and isinstance(given.value, list) else []:
        kind, scale = (each.get(name) or Node("", each.line) for name in ("type", "scaleType"))
        parameter: dict[str, object] = dict(_taken(each, PARAMETER))
        if (name := kind.text().upper()) in ("DOUBLE", "INTEGER", "CATEGORICAL", "DISCRETE"):
            parameter[f"{name.lower()}ValueSpec"] = _taken(each, RANGE)
        if scale.text().upper() not in ("", "NONE", "SCALE_TYPE_UNSPECIFIED"):
            parameter["scaleType"] = scale
        parameters.append(node_of(parameter, each.line))
    spec = {"metrics": [metric], "parameters": parameters} | _taken(study, {"algorithm": "algorithm"})
    return node_of(spec, study.line)


def _taken(node: Node, fields: dict[str, str]) -> dict[str, Node]:
    """Return the fields that a message has, by `{its path there: path in the new message}`."""
    made = Node({}, node.line)
    for old, new in fields.items():
        outer, _dot, inner = old.partition(".")
        item = node.get(outer)
        item = item.get(inner) if inner and item is not None else item
        if item is not None:
            set_at(made, [*new.split(".")], item)
    return made.entries


def _left_out(name: str, line: int, notes: Notes) -> None:
    notes.note("not_carried", line, _("%(name)s has no equal in Vertex AI; it is left out.", name=quoted(name)))
