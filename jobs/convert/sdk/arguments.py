"""Arguments of the SDK's classes: taking them one by one, so that none is lost, and what several classes share.

Source: google-cloud-aiplatform 2.7.0, utils/worker_spec_utils.py and jobs.py, read 2026-11-21.
"""

from jobs.convert.texts.nodes import Node, Notes, node_of
from jobs.spec import quoted
from jobs.spec.shape import nearest

SILENT = frozenset(
    "credentials sync create_request_timeout api_endpoint enable_autolog __kind__ retry metadata".split()
)
PACKAGE = "${PACKAGE_URI}"
PREBUILT = ("docker.pkg.dev/vertex-ai/", "gcr.io/cloud-aiplatform/")


class Arguments:
    """The named arguments of a call; None and what was taken are gone."""

    def __init__(self, node: Node | None) -> None:
        entries = node.value if node is not None and isinstance(node.value, dict) else {}
        self.entries: dict[str, Node] = {name: item for name, item in entries.items() if item.value is not None}
        self.known: set[str] = set()
        self.line = node.line if node is not None else 1

    def take(self, *names: str) -> Node | None:
        """Return the first of these arguments that was given, and remember all of the names as known."""
        self.known.update(names)
        return next((self.entries.pop(name) for name in names if name in self.entries), None)

    def place(self, name: str) -> str:
        """Take a project or location."""
        node = self.take(name)
        return node.text() if node is not None else ""

    def rest(self) -> dict[str, Node]:
        """Return what was not taken."""
        return dict(self.entries)


def take(given: Arguments, fields: dict[str, str]) -> dict[str, Node]:
    """Return `{field: value}` of the arguments that were given; the SDK sends no empty text and no False."""
    found: dict[str, Node] = {}
    for name, field in fields.items():
        node = given.take(name)
        if node is not None and node.value not in (False, ""):
            found[field] = node
    return found


def encryption(given: Arguments) -> dict[str, Node]:
    """Return the encryption spec, where a key is given."""
    key = given.take("encryption_spec_key_name", "training_encryption_spec_key_name")
    return {} if key is None else {"encryptionSpec": node_of({"kmsKeyName": key}, key.line)}


def unknown(given: Arguments, notes: Notes, call: str) -> None:
    """Refuse arguments that nobody took."""
    for name, node in given.rest().items():
        if name in SILENT:
            continue
        near = nearest(name, given.known)
        remedy = f"Did you mean `{near}`?" if near else "It is not carried."
        notes.refuse("unknown_argument", node.line, f"{call} of the SDK has no argument {quoted(name)}.", remedy)


def duration(node: Node) -> Node:
    """Return whole seconds as the API writes them; anything else is left to be judged."""
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return Node(f"{node.value}s", node.line)
    return node


def env_of(node: Node) -> Node:
    """Return `{name: value}` as the list of variables that the API takes."""
    if not isinstance(node.value, dict):
        return node
    return Node([node_of({"name": key, "value": item}, item.line) for key, item in node.value.items()], node.line)


def local_package(given: Arguments, image: Node, notes: Notes) -> dict[str, Node]:
    """Return the task that the SDK makes of a local script; the package it would upload stays a hole."""
    script = given.take("script_path")
    line = script.line if script is not None else image.line
    given.take("requirements")
    message = "The SDK packs the local script and uploads it to the staging bucket; Trainboard cannot see your disk."
    remedy = "Upload the package to Cloud Storage and give its gs:// address, or build an image."
    notes.advise("local_code", line, message, remedy)
    args, env = given.take("args"), given.take("environment_variables")
    module = "aiplatform_custom_trainer_script.task"
    task: dict[str, Node] = {}
    if any(part in image.text() for part in PREBUILT) or image.text().startswith("${"):
        task = {"executorImageUri": image, "pythonModule": Node(module, line)}
        task["packageUris"] = node_of([PACKAGE], line)
        task |= {"args": args} if args is not None else {}
    else:
        words = (
            " ".join(item.text() for item in args.value) if args is not None and isinstance(args.value, list) else ""
        )
        run = f"pip3 install -q --user {PACKAGE} && python3 -m {module}{' ' if words else ''}{words}"
        task = {"imageUri": image, "command": node_of(["sh", "-c", run], line)}
    return task | ({"env": env_of(env)} if env is not None else {})


def pools_of_replicas(given: Arguments, task: dict[str, Node], line: int, notes: Notes) -> Node:
    """Return the pools of `replica_count` machines: one chief, the rest workers, then reduction servers."""
    machine = _machine(given, line, notes)
    disk = {
        "bootDiskType": given.take("boot_disk_type") or Node("pd-ssd", line),
        "bootDiskSizeGb": given.take("boot_disk_size_gb") or Node(100, line),
    }
    field = "pythonPackageSpec" if "executorImageUri" in task else "containerSpec"
    count = given.take("replica_count") or Node(1, line)
    shape = {"machineSpec": Node(machine, line), "diskSpec": Node(disk, line), field: Node(task, line)}
    chief = Node({**shape, "replicaCount": Node(1, count.line)}, line)
    pools = [chief]
    workers = Node(count.value - 1, count.line) if isinstance(count.value, int) else count
    if not (isinstance(workers.value, int) and workers.value <= 0):
        pools.append(Node({**shape, "replicaCount": workers}, line))
    servers = given.take("reduction_server_replica_count")
    kind, image = given.take("reduction_server_machine_type"), given.take("reduction_server_container_uri")
    if servers is not None and servers.value:
        pools += [Node({}, line)] * (2 - len(pools))
        entries = {"machineSpec": {"machineType": kind or "n1-highcpu-16"}, "replicaCount": servers}
        pools.append(node_of({**entries, "containerSpec": {"imageUri": image or "${IMAGE}"}}, servers.line))
    return Node(pools, line)


def _machine(given: Arguments, line: int, notes: Notes) -> dict[str, Node]:
    """Return the machine as the SDK sends it: accelerators only with both type and count."""
    machine = {"machineType": given.take("machine_type") or Node("n1-standard-4", line)}
    kind, count = given.take("accelerator_type"), given.take("accelerator_count")
    kind = None if kind is not None and kind.value in ("", "ACCELERATOR_TYPE_UNSPECIFIED") else kind
    count = None if count is not None and count.value == 0 else count
    if kind is not None and count is not None:
        machine |= {"acceleratorType": kind, "acceleratorCount": count}
    elif (half := kind or count) is not None:
        message = "The SDK attaches accelerators only where both type and count are given; this job gets none."
        notes.advise("no_accelerator", half.line, message, "Give accelerator_type and accelerator_count, or neither.")
    topology = given.take("tpu_topology")
    if topology is not None:
        machine["tpuTopology"] = topology
    wanted = take(given, {"reservation_affinity_type": "reservationAffinityType"})
    named = take(given, {"reservation_affinity_key": "key", "reservation_affinity_values": "values"})
    if named and (not wanted or wanted["reservationAffinityType"].text() in ("NO_RESERVATION", "ANY_RESERVATION")):
        message = "The SDK sends key and values of a reservation only with the type SPECIFIC_RESERVATION."
        left_out = next(iter(named.values())).line
        notes.advise("no_reservation_named", left_out, message, "Give that type, or neither key nor values.")
        named = {}
    if wanted:
        machine["reservationAffinity"] = Node(wanted | named, line)
    return machine
