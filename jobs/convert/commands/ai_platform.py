"""Jobs of the former AI Platform Training: `gcloud ai-platform jobs submit training` and its TrainingInput.

Converted where a custom job says exactly the same, else declined with the equivalent. Source: AI Platform's reference,
"projects.jobs" and "Machine types", not looked up again: the service is switched off.
"""

from jobs.convert.commands.gcloud_flags import Given, parts
from jobs.convert.texts.nodes import Draft, Node, Notes, folded, node_of
from jobs.spec import quoted

TIERS = {
    "CUSTOM": (),
    "BASIC": (("n1-standard-4", 1),),
    "STANDARD_1": (("n1-highcpu-8", 1), ("n1-highcpu-8", 4), ("n1-standard-4", 3)),
    "PREMIUM_1": (("n1-highcpu-16", 1), ("n1-highcpu-16", 19), ("n1-highmem-8", 11)),
}
MACHINES = {"standard": "n1-standard-4", "large_model": "n1-highmem-8", "complex_model_s": "n1-highcpu-8"}
MACHINES |= {"complex_model_m": "n1-highcpu-16", "complex_model_l": "n1-highcpu-32"}
GPUS = {"gpu": "NVIDIA_TESLA_K80", "p100": "NVIDIA_TESLA_P100", "v100": "NVIDIA_TESLA_V100"}
ROLES = ("master", "worker", "parameterserver", "evaluator")
CARRIED = {"network": "network", "serviceaccount": "serviceAccount", "enablewebaccess": "enableWebAccess"}
KNOWN = frozenset(
    """scaletier region packageuris pythonmodule args jobdir runtimeversion pythonversion scheduling encryptionconfig
    hyperparameters usechiefintfconfig stagingbucket streamlogs config labels jobid packages modulename packagepath
    kmskey maxrunningtime""".split()
) | {*CARRIED, *(f"{role}{part}" for role in ROLES for part in ("type", "config", "count"))}
IGNORED = frozenset({"stagingbucket", "streamlogs", "config", "project", "quiet", "verbosity", "async", "packagepath"})
FLAGS = {"modulename": "pythonmodule", "packages": "packageuris"}
PACKAGE, EXECUTOR = "${PACKAGE_URI}", "${EXECUTOR_IMAGE_URI}"


def _entries(node: Node) -> dict[str, Node]:
    held = node.value if isinstance(node.value, dict) else {}
    return {folded(name): item for name, item in held.items() if item.value is not None}


def training_flags(given: Given, name: str, config: Draft | None, line: int) -> Node:
    """Return the job that the flags of the command describe, over what its config file holds."""
    held = config.body if config is not None else Node({}, line)
    entries = _entries(held.get("trainingInput", "training_input") or held)
    for flag, words in given.items():
        word, key = words[-1], folded(flag).replace("machinetype", "type").replace("--", "args")
        role = next((role for role in ROLES if key in (f"{role}imageuri", f"{role}accelerator")), "")
        if key in IGNORED:
            continue
        if flag == "--":
            entries["args"] = Node([Node(each.text, each.line) for each in words], word.line)
        elif role:
            pairs = {name: value for _, item in parts(word.text) for name, _, value in [item.partition("=")]}
            pairs |= {"type": pairs["type"].upper().replace("-", "_")} if "type" in pairs else {}
            made = node_of({"imageUri": word.text} if key.endswith("uri") else {"acceleratorConfig": pairs}, word.line)
            before = entries.get(f"{role}config", made).value
            entries[f"{role}config"] = Node((before if isinstance(before, dict) else {}) | made.value, word.line)
        elif key in ("packages", "labels"):
            items = [item for _, item in parts(word.text)]
            pairs = {name: value for name, _, value in (item.partition("=") for item in items)}
            entries[FLAGS.get(key, key)] = node_of(items if key == "packages" else pairs, word.line)
        else:
            entries[FLAGS.get(key, key)] = Node(word.text.upper() if key == "scaletier" else word.text, word.line)
    return Node({"jobId": Node(name, line), "trainingInput": Node(entries, line)}, line)


def job_of_training(node: Node, notes: Notes) -> Draft | None:
    """Return the custom or tuning job that says what a TrainingInput says; None where none does, which is refused."""
    whole = node.get("trainingInput", "training_input") or node
    given, line = _entries(whole), whole.line
    place = given.get("region")
    for name in given.keys() - KNOWN:
        notes.refuse("not_carried", given[name].line, f"{quoted(name)} of AI Platform has no equal in a custom job.")
    if whole.value and not isinstance(whole.value, dict):
        notes.refuse("wrong_type", line, "A TrainingInput is an object with fields.", "Give its fields.")
        return None
    tier = given["scaletier"].text() if "scaletier" in given else "BASIC"
    if tier not in TIERS:
        message = f"The scale tier {quoted(tier)} of AI Platform has no exact equal in Vertex AI."
        remedy = "Give a custom job with a worker pool: machineType n1-standard-4, acceleratorType NVIDIA_TESLA_T4, "
        notes.refuse("no_equal", given["scaletier"].line, message, f"{remedy}acceleratorCount 1, replicaCount 1.")
        return None
    pools = [_pool(role, place, given, tier, notes, line) for place, role in enumerate(ROLES)]
    while pools and not pools[-1].value:
        pools.pop()
    spec = {"workerPoolSpecs": Node(pools, line)} | {
        field: given[name] for name, field in CARRIED.items() if name in given
    }
    limit = given["scheduling"].get("maxRunningTime", "max_running_time") if "scheduling" in given else None
    if (limit := limit or given.get("maxrunningtime")) is not None:
        spec["scheduling"] = node_of({"timeout": limit}, limit.line)
    body: dict[str, Node] = {name: item for name in ("labels",) if (item := node.get(name) or given.get(name))}
    if (named := node.get("jobId", "job_id")) is not None:
        body["displayName"] = named
    key = given["encryptionConfig".lower()].get("kmsKeyName") if "encryptionconfig" in given else given.get("kmskey")
    if key is not None:
        body["encryptionSpec"] = node_of({"kmsKeyName": key}, key.line)
    message = "A job of the former AI Platform Training is read as the custom job that says the same."
    notes.advise("former_product", line, message, "Look at its image and at what its program expects.")
    form, region = "a job of AI Platform Training", place.text() if place is not None else ""
    if "hyperparameters" in given:
        body |= _study(given["hyperparameters"], notes) | {"trialJobSpec": Node(spec, line)}
        return Draft("hyperparameter_tuning_job", Node(body, line), form, "", region)
    return Draft("custom_job", Node(body | {"jobSpec": Node(spec, line)}, line), form, "", region)


def _pool(role: str, place: int, given: dict[str, Node], tier: str, notes: Notes, line: int) -> Node:
    """Return the worker pool of a role; an empty one where the job has none."""
    fixed = TIERS[tier][place] if place < len(TIERS[tier]) else None
    kind, config = given.get(f"{role}type"), given.get(f"{role}config", Node({}, line))
    count = Node(1, line) if place == 0 else given.get(f"{role}count")
    if tier != "CUSTOM" and kind is not None:
        message = f"{role} has a machine type, which AI Platform takes with the scale tier CUSTOM only."
        notes.refuse("no_equal", kind.line, message, "Give scaleTier CUSTOM, or no machine types.")
    if fixed is not None:
        kind, count = Node(fixed[0], line), Node(fixed[1], line)
    if kind is None and count is None:
        return Node({}, line)
    name = kind.text() if kind is not None else ""
    if (gpu := GPUS.get(name.rpartition("_")[2])) or name == "cloud_tpu" or not name:
        message = f"The machine type {quoted(name)} of AI Platform has no exact equal in Vertex AI."
        remedy = f"Give machineType n1-standard-8 with acceleratorType {gpu or 'and count, or a TPU machine'}."
        notes.refuse("no_equal", (kind or config).line, message, remedy)
    machine = {"machineType": Node(MACHINES.get(name, name), line)}
    held = config.get("acceleratorConfig", "accelerator_config")
    if held is not None:
        machine |= {f"accelerator{part}": item for part in ("Type", "Count") if (item := held.get(part.lower()))}
    pool = {"machineSpec": Node(machine, line), "replicaCount": count or Node(1, line)}
    if (disk := config.get("diskConfig", "disk_config")) is not None:
        pool["diskSpec"] = disk
    return Node(pool | _task(config, given, notes, line, is_first=place == 0), line)


def _task(config: Node, given: dict[str, Node], notes: Notes, line: int, *, is_first: bool) -> dict[str, Node]:
    """Return what runs: the image, of the master where a role has none of its own, or the package."""
    held = given.get("masterconfig", Node({}, line))
    image = config.get("imageUri", "image_uri") or held.get("imageUri", "image_uri")
    said = config.get("containerArgs") or held.get("containerArgs") or given.get("args") or Node([], line)
    args = list(said.value) if isinstance(said.value, list) else [said]
    if (folder := given.get("jobdir")) is not None:
        args += [Node("--job-dir", folder.line), folder]
    common = {"args": Node(args, line)} if args else {}
    if image is not None:
        command = config.get("containerCommand") or held.get("containerCommand")
        task = {"imageUri": image} | ({"command": command} if command is not None else {}) | common
        return {"containerSpec": Node(task, line)}
    if is_first:
        message = "The runtime version of AI Platform is no image of Vertex AI; the image is a placeholder."
        notes.advise("runtime_version", given.get("runtimeversion", config).line, message, "Give a prebuilt image.")
    uris = given.get("packageuris") or node_of([PACKAGE], line)
    task = {"executorImageUri": Node(EXECUTOR, line), "packageUris": uris} | common
    return {
        "pythonPackageSpec": Node(
            task | ({"pythonModule": given["pythonmodule"]} if "pythonmodule" in given else {}), line
        )
    }


def _study(node: Node, notes: Notes) -> dict[str, Node]:
    """Return the study and the trial counts that the hyperparameters of AI Platform describe."""
    given = {folded(name): item for name, item in node.value.items()} if isinstance(node.value, dict) else {}
    for name in given.keys() & {"enabletrialearlystopping", "resumepreviousjobid"}:
        notes.refuse(
            "not_carried", given[name].line, f"{quoted(name)} has no exact equal in Vertex AI.", "Take it out."
        )
    metric = {"metricId": given.get("hyperparametermetrictag", "training/hptuning/metric")}
    metrics = [metric | {"goal": given.get("goal", "GOAL_TYPE_UNSPECIFIED")}]
    params = given["params"].value if "params" in given and isinstance(given["params"].value, list) else []
    study = {"metrics": metrics, "parameters": [_parameter(each) for each in params]}
    if "algorithm" in given and given["algorithm"].text() != "ALGORITHM_UNSPECIFIED":
        study["algorithm"] = given["algorithm"]
    counts = {"maxTrialCount": given.get("maxtrials", 1), "parallelTrialCount": given.get("maxparalleltrials", 1)}
    counts |= {"maxFailedTrialCount": given["maxfailedtrials"]} if "maxfailedtrials" in given else {}
    found: dict[str, Node] = node_of({"studySpec": study, **counts}, node.line).value
    return found


def _parameter(node: Node) -> Node:
    kind = (node.get("type") or Node("", node.line)).text().lower()
    names = ("minValue", "maxValue") if kind in ("double", "integer") else (f"{kind}Values",)
    values = {name if len(names) == 2 else "values": item for name in names if (item := node.get(name)) is not None}
    found = {"parameterId": node.get("parameterName") or "", f"{kind}ValueSpec": values}
    scale = node.get("scaleType")
    return node_of(found | ({"scaleType": scale} if scale is not None and scale.text() != "NONE" else {}), node.line)
