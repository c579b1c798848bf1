"""The worker pools of a gcloud command: `--worker-pool-spec`, and for all pools `--args`, `--command` and packages.

Source: gcloud's reference, "gcloud ai custom-jobs create", read 2026-11-21.
"""

import re
from typing import Any

from jobs.convert.commands.gcloud_flags import Given, parts
from jobs.convert.commands.shell_words import Word
from jobs.convert.texts.nodes import Node, Notes, node_of
from jobs.spec import quoted
from jobs.spec.shape import nearest

MACHINE = {
    "machine-type": "machineType",
    "accelerator-type": "acceleratorType",
    "accelerator-count": "acceleratorCount",
    "tpu-topology": "tpuTopology",
}
DISK = {"boot-disk-type": "bootDiskType", "boot-disk-size": "bootDiskSizeGb"}
AFFINITY = {"reservation-affinity-type": "reservationAffinityType", "key": "key", "values": "values"}
TASK = ("container-image-uri", "executor-image-uri", "output-image-uri", "python-module")
LOCAL = ("local-package-path", "script", "requirements", "extra-packages", "extra-dirs")
KEYS = ("replica-count", *MACHINE, *DISK, *AFFINITY, *TASK, *LOCAL)
BUILT_IMAGE = "${BUILT_IMAGE}"
WHOLLY_OPEN = re.compile(r"\$?\{[^{}]*\}|\$\w+|<[^<>]*>|\{\{[^{}]*\}\}")
CHOICES = ("accelerator-type", "reservation-affinity-type")
"""Enums that gcloud takes in small letters with hyphens, too."""
MEANT = dict.fromkeys(("custom-image-uri", "image-uri", "image", "container-uri"), "container-image-uri")
MEANT |= {"gpu-type": "accelerator-type", "gpu-count": "accelerator-count", "count": "replica-count"}
"""Keys that people make up, where the nearest word is not the one meant."""
COUNTS = ("replica-count", "accelerator-count", "boot-disk-size")
Entries = dict[str, Node]


def pools_of(given: Given, notes: Notes) -> Node | None:
    """Return the list of worker pools, or None when the command gives none."""
    specs = given.get("worker-pool-spec")
    if not specs:
        if "python-package-uris" in given:
            message = "--python-package-uris applies to pools of --worker-pool-spec only; it is not carried."
            line = given["python-package-uris"][0].line
            note = notes.advise if "config" in given else notes.refuse
            note("not_carried", line, message, "Put packageUris into the config file.")
        return None
    pools = []
    built = ""
    for index, spec in enumerate(specs):
        entries = _entries(spec, notes)
        if index == 0 and "local-package-path" in entries:
            built = entries["output-image-uri"].value if "output-image-uri" in entries else BUILT_IMAGE
        pools.append(_pool(entries, spec, given, built, notes) if entries else Node({}, spec.line))
    return Node(pools, specs[0].line)


def with_flags(pools: Node, given: Given) -> Node:
    """Return the pools of a config file with the arguments and the command that the flags give to all of them."""
    if isinstance(pools.value, list):
        return Node([with_flags(pool, given) for pool in pools.value], pools.line)
    if not isinstance(pools.value, dict):
        return pools
    changed = dict(pools.value)
    for task in ("containerSpec", "container_spec", "pythonPackageSpec", "python_package_spec"):
        if task in changed and isinstance(changed[task].value, dict):
            names = ("command", "args") if task.startswith("container") else ("args",)
            changed[task] = Node(changed[task].value | _lists(given, names), changed[task].line)
    return Node(changed, pools.line)


def _entries(spec: Word, notes: Notes) -> Entries:
    found: Entries = {}
    last = ""
    text = spec.text.strip()
    for place, item in parts(text[1:-1] if text.startswith("{") and text.endswith("}") and "=" in text else text):
        name, equals, value = item.partition("=")
        line, name = spec.line_at(place), name.strip()
        if not equals:
            if last == "values" and item:
                found[last] = Node(f"{found[last].value},{item}", found[last].line)
            elif WHOLLY_OPEN.fullmatch(item):
                message = f"{quoted(item)} is a placeholder; the pool is read without what it stands for."
                notes.advise("hole", line, message, "Put the real pairs there before submitting.")
            elif item:
                remedy = "Separate the pairs by commas, without blanks, in one word."
                notes.refuse("no_pair", line, f"{quoted(item)} in --worker-pool-spec is no name=value.", remedy)
            continue
        known = name if name in KEYS else MEANT.get(name) or nearest(name, KEYS)
        if name not in KEYS:
            remedy = f"Did you mean `{known}`?" if known else f"Use one of {', '.join(KEYS)}."
            notes.refuse("unknown_key", line, f"--worker-pool-spec has no key {quoted(name)}.", remedy)
        if known in found:
            notes.refuse("given_twice", line, f"{known} is given twice in one --worker-pool-spec.", "Keep one of them.")
        elif known:
            found[known] = Node(_value(known, value.strip().strip("'\"")), line)
            last = known
    return found


def _value(name: str, value: str) -> str:
    small = name in CHOICES and re.fullmatch(r"[a-z][a-z0-9_-]*", value)
    return value.upper().replace("-", "_") if small else value


def _pool(entries: Entries, spec: Word, given: Given, built: str, notes: Notes) -> Node:
    pool: dict[str, Any] = {}
    machine = {field: _count(name, entries[name]) for name, field in MACHINE.items() if name in entries}
    if "accelerator-type" in entries and "accelerator-count" not in entries:
        machine["acceleratorCount"] = Node(1, entries["accelerator-type"].line)
    if "accelerator-count" in entries and "accelerator-type" not in entries:
        notes.refuse("no_accelerator", spec.line, "accelerator-count is given without accelerator-type.", "Give both.")
    if "machine-type" not in entries:
        notes.refuse("no_machine", spec.line, "machine-type is missing, which gcloud requires.", "Give machine-type.")
    affinity = {field: entries[name] for name, field in AFFINITY.items() if name in entries}
    if "values" in affinity:
        values = [item for item in affinity["values"].value.replace(";", ",").split(",") if item]
        affinity["values"] = node_of(values, affinity["values"].line)
    if affinity:
        machine["reservationAffinity"] = Node(affinity, spec.line)
    pool["machineSpec"] = Node(machine, spec.line)
    pool["replicaCount"] = _count("replica-count", entries.get("replica-count", Node(1, spec.line)))
    disk = {field: _count(name, entries[name]) for name, field in DISK.items() if name in entries}
    if disk:
        pool["diskSpec"] = Node(disk, spec.line)
    _task(pool, entries, spec, given, built, notes)
    return Node(pool, spec.line)


def _count(name: str, node: Node) -> Node:
    if name in COUNTS and isinstance(node.value, str):
        digits = node.value.removesuffix("GB") if name == "boot-disk-size" else node.value
        if digits.isascii() and digits.isdecimal() and len(digits) < 20:
            return Node(int(digits), node.line, node.value)
    return node


def _task(pool: dict[str, Any], entries: Entries, spec: Word, given: Given, built: str, notes: Notes) -> None:
    if built:
        local = [name for name in LOCAL if name in entries]
        if local:
            message = (
                f"gcloud builds an image of the code on your disk ({', '.join(local)}); Trainboard cannot see that."
            )
            remedy = "Build and push the image, and give its address as containerSpec.imageUri."
            notes.advise("local_code", entries[local[0]].line, message, remedy)
        task: Entries = {"imageUri": Node(built, spec.line)}
        pool["containerSpec"] = _with_lists(task, given, ("command", "args"))
    elif "executor-image-uri" in entries:
        task = {"executorImageUri": entries["executor-image-uri"]}
        if "python-module" in entries:
            task["pythonModule"] = entries["python-module"]
        pool["pythonPackageSpec"] = _with_lists(task, given, ("python-package-uris", "args"))
        if "command" in given:
            message = "--command applies to container images only; with an executor image it is not carried."
            notes.refuse("not_carried", given["command"][0].line, message)
    elif "container-image-uri" in entries or "command" in given:
        task = {"imageUri": entries["container-image-uri"]} if "container-image-uri" in entries else {}
        pool["containerSpec"] = _with_lists(task, given, ("command", "args"))
    other = "executor-image-uri" if "executor-image-uri" in entries else "local-package-path"
    if "container-image-uri" in entries and other in entries:
        message = f"container-image-uri and {other} are given both."
        notes.refuse("two_images", entries["container-image-uri"].line, message, "Give exactly one of them.")
    elif not built and "container-image-uri" not in entries and "executor-image-uri" not in entries:
        notes.refuse("no_image", spec.line, "Neither container-image-uri nor executor-image-uri is given.", "Give one.")


def _with_lists(task: Entries, given: Given, names: tuple[str, ...]) -> Node:
    task = task | _lists(given, names)
    return Node(task, min((node.line for node in task.values()), default=1))


def _lists(given: Given, names: tuple[str, ...]) -> Entries:
    fields = {"command": "command", "args": "args", "python-package-uris": "packageUris"}
    found: Entries = {}
    for name in names:
        items = [Node(item, word.line_at(place)) for word in given.get(name, ()) for place, item in parts(word.text)]
        if name == "args":
            items += [Node(word.text, word.line) for word in given.get("--", ())]
        if items:
            found[fields[name]] = Node(items, items[0].line)
    return found
