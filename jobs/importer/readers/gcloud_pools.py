"""The worker pools of a gcloud command: `--worker-pool-spec`, and `--args`, `--command` and packages for all pools.

Source: gcloud's reference, "gcloud ai custom-jobs create", read 2026-11-21.
"""

import re

from jobs.bounds import parse_digits
from jobs.importer.nodes import Node, Notes, node_of, paths, set_at
from jobs.importer.readers.gcloud_flags import Flags, split_list
from jobs.importer.syntax.shell_words import Word
from jobs.spec import quoted
from jobs.spec.shape import nearest
from jobs.texts import translatable as _

FIELDS = paths("replica-count")
FIELDS |= paths("machine-type accelerator-type accelerator-count tpu-topology", "machineSpec.")
FIELDS |= paths("boot-disk-type", "diskSpec.") | {"boot-disk-size": "diskSpec.bootDiskSizeGb"}
FIELDS |= paths("reservation-affinity-type key values", "machineSpec.reservationAffinity.")
"""Keys of --worker-pool-spec, with their paths in a worker pool."""
LOCAL = ("local-package-path", "script", "requirements", "extra-packages", "extra-dirs")
LISTS = {"command": "command", "args": "args", "python-package-uris": "packageUris"}
KEYS = (*FIELDS, "container-image-uri", "executor-image-uri", "output-image-uri", "python-module", *LOCAL)
PLACEHOLDER = re.compile(r"\$?\{[^{}]*\}|\$\w+|<[^<>]*>|\{\{[^{}]*\}\}")
ENUMS = ("accelerator-type", "reservation-affinity-type")
"""Keys whose values gcloud also accepts in lowercase with hyphens."""
COUNTS = ("replica-count", "accelerator-count", "boot-disk-size")
MEANT = dict.fromkeys(("custom-image-uri", "image-uri", "image", "container-uri"), "container-image-uri")
MEANT |= {"gpu-type": "accelerator-type", "gpu-count": "accelerator-count", "count": "replica-count"}
"""Invented keys for which the nearest spelling is not the right key."""


def pools_of_flags(given: Flags, notes: Notes) -> Node | None:
    """Return the list of worker pools, or None if the command has none."""
    specs = given.get("worker-pool-spec", [])
    if not specs and "python-package-uris" in given:
        message = _("--python-package-uris applies to pools of --worker-pool-spec only; it is left out.")
        note = notes.note if "config" in given else notes.error
        line = given["python-package-uris"][0].line
        note("not_carried", line, message, _("Put packageUris into the config file."))
    pools: list[Node] = []
    built = ""
    for spec in specs:
        entries = _entries(spec, notes)
        if not pools and "local-package-path" in entries:
            built = entries.get("output-image-uri", Node("${BUILT_IMAGE}", 1)).value
        pools.append(_pool(entries, spec, given, built, notes) if entries else Node({}, spec.line))
    return Node(pools, specs[0].line) if specs else None


def with_flags(pools: Node, given: Flags) -> Node:
    """Return the pools of a config file with the arguments and command that flags set for all pools."""
    if isinstance(pools.value, list):
        return Node([with_flags(pool, given) for pool in pools.value], pools.line)
    changed = dict(pools.entries)
    for task, names in (("containerSpec", ("command", "args")), ("pythonPackageSpec", ("args",))):
        key = pools.key(task)
        if key is not None and isinstance(changed[key].value, dict):
            changed[key] = Node(changed[key].value | _lists(given, *names), changed[key].line)
    return Node(changed, pools.line) if isinstance(pools.value, dict) else pools


def _entries(spec: Word, notes: Notes) -> dict[str, Node]:
    """Return the names and values of one --worker-pool-spec, with the names that gcloud knows."""
    entries: dict[str, Node] = {}
    last, text = "", spec.text.strip()
    for place, item in split_list(text[1:-1] if re.fullmatch(r"\{.*=.*\}", text, re.DOTALL) else text):
        name, equals, value = item.partition("=")
        line = spec.line_at(place)
        if not equals and last == "values" and item:
            entries[last] = Node(f"{entries[last].value},{item}", entries[last].line)
        elif not equals and PLACEHOLDER.fullmatch(item):
            message = _("%(item)s is a placeholder; the pool is read without it.", item=quoted(item))
            notes.note("placeholder", line, message, _("Replace it with the real pairs before you submit."))
        elif not equals and item:
            message = _("%(item)s in --worker-pool-spec is not name=value.", item=quoted(item))
            notes.error("no_pair", line, message, _("Separate the pairs with commas, without spaces."))
        elif equals:
            last = _add_pair(entries, name.strip(), value.strip().strip("'\""), line, notes) or last
    return entries


def _add_pair(entries: dict[str, Node], name: str, value: str, line: int, notes: Notes) -> str:
    """Add a value under the nearest key; return that key if the value was added."""
    known = name if name in KEYS else MEANT.get(name) or ("" if notes.is_full else nearest(name, KEYS))
    if name not in KEYS:
        remedy = _("Did you mean `%(near)s`?", near=known) if known else _("Use one of %(keys)s.", keys=", ".join(KEYS))
        notes.error("unknown_key", line, _("--worker-pool-spec has no key %(name)s.", name=quoted(name)), remedy)
    if known in entries:
        message = _("%(name)s is given twice in one --worker-pool-spec.", name=known)
        notes.error("given_twice", line, message, _("Keep one of them."))
        return ""
    count = parse_digits(value.removesuffix("GB") if known == "boot-disk-size" else value) if known in COUNTS else None
    if known in ENUMS and re.fullmatch(r"[a-z][a-z0-9_-]*", value):
        value = value.upper().replace("-", "_")
    if known:
        entries[known] = Node(value, line) if count is None else Node(count, line, value)
    return known


def _pool(entries: dict[str, Node], spec: Word, given: Flags, built: str, notes: Notes) -> Node:
    """Return a worker pool; the default count of an accelerator and of replicas is 1.

    It runs an image, an image that gcloud builds from local code, or a package.
    """
    _check(entries, spec, built, notes)
    if "accelerator-type" in entries:
        entries.setdefault("accelerator-count", Node(1, entries["accelerator-type"].line))
    if (values := entries.get("values")) is not None:
        items = [item for item in values.value.replace(";", ",").split(",") if item]
        entries["values"] = node_of(items, values.line)
    pool = node_of({"machineSpec": {}, "replicaCount": 1}, spec.line)
    for name, path in FIELDS.items():
        if name in entries:
            set_at(pool, [*path.split(".")], entries[name])
    image, executor = entries.get("container-image-uri"), entries.get("executor-image-uri")
    if built or executor is None:
        image = Node(built, spec.line) if built else image
        field, task = "containerSpec", {"imageUri": image} if image is not None else {}
        task |= _lists(given, "command", "args") if task or "command" in given else {}
    else:
        field, task = "pythonPackageSpec", {"executorImageUri": executor}
        task |= {"pythonModule": entries["python-module"]} if "python-module" in entries else {}
        task |= _lists(given, "python-package-uris", "args")
        if "command" in given:
            message = _("--command applies to container images only; with an executor image it is left out.")
            notes.error("not_carried", given["command"][0].line, message)
    if task:
        pool.value[field] = Node(task, min(node.line for node in task.values()))
    return pool


def _check(entries: dict[str, Node], spec: Word, built: str, notes: Notes) -> None:
    """Report what is missing in a worker pool, or given in two ways."""
    if "accelerator-count" in entries and "accelerator-type" not in entries:
        message = _("accelerator-count is given without accelerator-type.")
        notes.error("no_accelerator", spec.line, message, _("Give both."))
    if "machine-type" not in entries:
        message = _("machine-type is missing, which gcloud requires.")
        notes.error("no_machine", spec.line, message, _("Give machine-type."))
    image, other = entries.get("container-image-uri"), "local-package-path"
    other = "executor-image-uri" if "executor-image-uri" in entries else other
    if image is not None and other in entries:
        message = _("Both container-image-uri and %(other)s are given.", other=other)
        notes.error("two_images", image.line, message, _("Give exactly one of them."))
    elif not built and image is None and "executor-image-uri" not in entries:
        message = _("Neither container-image-uri nor executor-image-uri is given.")
        notes.error("no_image", spec.line, message, _("Give one."))
    if built and (local := [name for name in LOCAL if name in entries]):
        message = _(
            "gcloud builds an image of the code on your disk (%(local)s); Trainboard cannot see that.",
            local=", ".join(local),
        )
        remedy = _("Build and push the image, and give its address as containerSpec.imageUri.")
        notes.note("local_code", entries[local[0]].line, message, remedy)


def _lists(given: Flags, *names: str) -> dict[str, Node]:
    """Return the lists of words that flags set for all pools."""
    lists: dict[str, Node] = {}
    for name in names:
        words = given.get(name, [])
        items = [Node(item, word.line_at(place)) for word in words for place, item in split_list(word.text)]
        items += [Node(word.text, word.line) for word in given.get("--", ())] if name == "args" else []
        if items:
            lists[LISTS[name]] = Node(items, items[0].line)
    return lists
