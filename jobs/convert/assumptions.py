"""What a job that people wrote leaves open: its name, how many replicas, how many trials. Said, not hidden."""

from jobs.convert.nodes import Node, Notes, folded
from jobs.spec import quoted

LONGEST_NAME = 128
SPECS = ("jobspec", "trialjobspec", "trainingtaskinputs")


def assumed(form: str, kind: str, tree: Node, name: str, notes: Notes) -> Node:
    """Return the tree with the name that the caller gives and the trial counts that gcloud takes, where it has none.

    `form` says how the job was written; only what gcloud's config files leave out is put in.
    """
    if not isinstance(tree.value, dict):
        return tree
    _count_replicas(tree, notes)
    if form not in ("gcloud-yaml", "bare"):
        return tree
    if kind == "hyperparameter_tuning_job":
        tree = _count_trials(tree, notes)
    return _named(tree, name, notes)


def _named(tree: Node, name: str, notes: Notes) -> Node:
    if not name or _has(tree, "displayname"):
        return tree
    message = f"The file gives no display name, which gcloud takes as a flag; {quoted(name)} is taken."
    notes.advise("name_assumed", None, message, "Give displayName beside jobSpec.", "displayName")
    return Node({"displayName": Node(name[:LONGEST_NAME], tree.line), **tree.value}, tree.line)


def _count_trials(tree: Node, notes: Notes) -> Node:
    entries = dict(tree.value)
    for field in ("maxTrialCount", "parallelTrialCount"):
        if not _has(tree, field.lower()):
            message = f"{field} is not given; gcloud takes 1 unless a flag says more."
            notes.advise("count_assumed", None, message, f"Give {field}.", field)
            entries[field] = Node(1, tree.line)
    return Node(entries, tree.line)


def _count_replicas(tree: Node, notes: Notes) -> None:
    """Say where a pool has no replica count; it is left open, which the API and gcloud read as one."""
    for outer in _within(tree, SPECS):
        for spec in (outer, *_within(outer, SPECS)):
            for pools in _within(spec, ("workerpoolspecs",)):
                for pool in pools.value if isinstance(pools.value, list) else ():
                    if pool.value and isinstance(pool.value, dict) and not _has(pool, "replicacount"):
                        notes.advise("replicas_assumed", pool.line, "replicaCount is not given, which means one.")


def _within(node: Node, names: tuple[str, ...]) -> list[Node]:
    entries = node.value.items() if isinstance(node.value, dict) else ()
    return [item for name, item in entries if folded(name) in names]


def _has(node: Node, name: str) -> bool:
    return any(folded(key) == name for key in node.value)
