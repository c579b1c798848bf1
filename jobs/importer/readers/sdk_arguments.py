"""Arguments of the SDK's classes, popped one by one so that none is lost, and the parts that several classes share.

Source: google-cloud-aiplatform 2.7.0, utils/worker_spec_utils.py and jobs.py, read 2026-11-21.
"""

import re
from collections.abc import Mapping

from jobs.bounds import parse_digits
from jobs.importer.nodes import Node, Notes, env_of, node_of, paths, set_at
from jobs.spec import quoted
from jobs.spec.shape import nearest
from jobs.texts import translatable as _

SILENT = frozenset(
    "credentials sync create_request_timeout api_endpoint enable_autolog __kind__ retry metadata".split()
)
PACKAGE, MODULE = "${PACKAGE_URI}", "aiplatform_custom_trainer_script.task"
PREBUILT = ("docker.pkg.dev/vertex-ai/", "gcr.io/cloud-aiplatform/")


KEY = dict.fromkeys(("encryption_spec_key_name", "training_encryption_spec_key_name"), "encryptionSpec.kmsKeyName")
JOB = paths("display_name labels") | KEY
"""Arguments of every kind of job, with their paths in its message."""
ENV = {"environment_variables": "env"}


def seconds(node: Node) -> Node:
    """Return an integer number of seconds as a duration; any other value unchanged."""
    return Node(f"{node.value}s", node.line) if type(node.value) is int else node


def ports_of(node: Node) -> Node:
    """Return a list of numbers as the list of ports that the API takes; any other value unchanged."""
    return (
        node_of([{"containerPort": port} for port in node.value], node.line) if isinstance(node.value, list) else node
    )


CONVERSIONS = {
    "timeout": seconds,
    "max_wait_duration": seconds,
    "environment_variables": env_of,
    "model_serving_container_environment_variables": env_of,
    "model_serving_container_ports": ports_of,
}
"""Arguments whose values the API expects in another form."""


class Arguments:
    """The keyword arguments of a call, without those that are None or were popped."""

    def __init__(self, node: Node | None) -> None:
        entries = node.entries if node is not None else {}
        self.rest = {name: item for name, item in entries.items() if item.value is not None}
        self.known: set[str] = set()
        self.line = node.line if node is not None else 1

    def pop(self, *names: str) -> Node | None:
        """Return the first of these arguments that was given, and record all the names as known."""
        self.known.update(names)
        return next((self.rest.pop(name) for name in names if name in self.rest), None)

    def move(self, *names: str, to: "Arguments") -> None:
        """Move arguments of the constructor to those of the call that runs the job, which are read together."""
        to.rest |= {name: node for name in names if (node := self.pop(name)) is not None}

    def pop_text(self, name: str) -> str:
        """Return a project or location as text."""
        node = self.pop(name)
        return node.text() if node is not None else ""

    def pop_fields(self, paths: Mapping[str, str]) -> dict[str, Node]:
        """Return the fields of a message that arguments set, by `{argument: its path in the message}`.

        The SDK does not send empty text, zero and False, except a wait of zero, which means no limit.
        """
        message = Node({}, self.line)
        for name, path in paths.items():
            node = self.pop(name)
            if node is not None and (node.value not in (0, False, "") or name == "max_wait_duration"):
                set_at(message, [*path.split(".")], CONVERSIONS.get(name, lambda same: same)(node))
        return message.entries

    def refuse_rest(self, notes: Notes, call: str) -> None:
        """Add an error for every argument that was not popped."""
        for name, node in self.rest.items():
            if name not in SILENT:
                near = "" if notes.is_full else nearest(name, self.known)
                remedy = _("Did you mean `%(near)s`?", near=near) if near else _("It is not carried.")
                message = _("%(call)s of the SDK has no argument %(name)s.", call=call, name=quoted(name))
                notes.error("unknown_argument", node.line, message, remedy)


def local_package(given: Arguments, image: Node, notes: Notes) -> dict[str, Node]:
    """Return the task that the SDK creates from a local script; the uploaded package becomes a placeholder."""
    script = given.pop("script_path")
    line = script.line if script is not None else image.line
    given.pop("requirements")
    message = _("The SDK packs the local script and uploads it to the staging bucket; Trainboard cannot see your disk.")
    remedy = _("Upload the package to Cloud Storage and give its gs:// address, or build an image.")
    notes.note("local_code", line, message, remedy)
    args = given.pop("args")
    if any(part in image.text() for part in PREBUILT) or image.text().startswith("${"):
        task = {"executorImageUri": image, "pythonModule": Node(MODULE, line), "packageUris": node_of([PACKAGE], line)}
        task |= {"args": args} if args is not None else {}
    else:
        words = [item.text() for item in args.value] if args is not None and isinstance(args.value, list) else []
        run = " ".join([f"pip3 install -q --user {PACKAGE} && python3 -m {MODULE}", *words])
        task = {"imageUri": image, "command": node_of(["sh", "-c", run], line)}
    return task | given.pop_fields(ENV)


def pools_of_replicas(given: Arguments, task: dict[str, Node], line: int, notes: Notes) -> Node:
    """Return the pools for `replica_count` machines: one chief, workers, then reduction servers."""
    disk = {
        "bootDiskType": given.pop("boot_disk_type") or "pd-ssd",
        "bootDiskSizeGb": given.pop("boot_disk_size_gb") or 100,
    }
    field = "pythonPackageSpec" if "executorImageUri" in task else "containerSpec"
    count = given.pop("replica_count") or Node(1, line)
    shape = node_of({"machineSpec": _machine(given, line, notes), "diskSpec": disk, field: task}, line).value
    pools = [Node({**shape, "replicaCount": Node(1, count.line)}, line)]
    workers = _one_less(count)
    if not (isinstance(workers.value, int) and workers.value <= 0):
        pools.append(Node({**shape, "replicaCount": workers}, line))
    servers = given.pop("reduction_server_replica_count")
    kind, image = given.pop("reduction_server_machine_type"), given.pop("reduction_server_container_uri")
    if servers is not None and servers.value:
        pools += [Node({}, line)] * (2 - len(pools))
        entries = {"machineSpec": {"machineType": kind or "n1-highcpu-16"}, "replicaCount": servers}
        pools.append(node_of({**entries, "containerSpec": {"imageUri": image or "${IMAGE}"}}, servers.line))
    return Node(pools, line)


def _one_less(count: Node) -> Node:
    """Return the number of workers beside the chief. A placeholder becomes one for the difference."""
    if isinstance(count.value, int):
        return Node(count.value - 1, count.line)
    text = count.text()
    number = parse_digits(text)
    return Node(re.sub(r"^\$\{([^{}]+)\}$", r"${\1 - 1}", text) if number is None else number - 1, count.line)


def _machine(given: Arguments, line: int, notes: Notes) -> dict[str, Node]:
    """Return the machine as the SDK sends it: accelerators only with both type and count."""
    machine = {"machineType": given.pop("machine_type") or Node("n1-standard-4", line)}
    kind, count = given.pop("accelerator_type"), given.pop("accelerator_count")
    kind = None if kind is not None and kind.value in ("", "ACCELERATOR_TYPE_UNSPECIFIED") else kind
    count = None if count is not None and count.value == 0 else count
    if kind is not None and count is not None:
        machine |= {"acceleratorType": kind, "acceleratorCount": count}
    elif (half := kind or count) is not None:
        message = _("The SDK attaches accelerators only where both type and count are given; this job gets none.")
        notes.note("no_accelerator", half.line, message, _("Give accelerator_type and accelerator_count, or neither."))
    machine |= given.pop_fields(paths("tpu_topology"))
    affinity = given.pop_fields(paths("reservation_affinity_type"))
    named = given.pop_fields(paths("key values", prefix="reservation_affinity_"))
    kind = affinity.get("reservationAffinityType")
    if named and (kind is None or kind.text() in ("NO_RESERVATION", "ANY_RESERVATION")):
        message = _("The SDK sends key and values of a reservation only with the type SPECIFIC_RESERVATION.")
        left_out = next(iter(named.values())).line
        notes.note("no_reservation_named", left_out, message, _("Give that type, or neither key nor values."))
        named = {}
    return machine | ({"reservationAffinity": Node(affinity | named, line)} if affinity else {})
