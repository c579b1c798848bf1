"""What gcloud's config files leave open: the name of the job and how many trials. Said, not hidden."""

from jobs.convert.texts.nodes import Node, Notes, folded
from jobs.spec import quoted

LONGEST_NAME = 128


def told_by(found: str, form: str) -> str:
    """Say for what is left out whether a tool such as gcloud, or a program around a value, gives it."""
    if "the Python value" in form:
        return "value"
    return "bare" if "a bare" in form else found


def assumed(form: str, kind: str, tree: Node, name: str, notes: Notes) -> Node:
    """Return the tree with the name that the caller gives and the trial counts that gcloud takes, where it has none.

    `form` says how the job was written, see `told_by`; only what gcloud's config files leave out is put in, and the
    name of a value that a program hands to a tool.
    """
    if not isinstance(tree.value, dict) or form not in ("gcloud-yaml", "bare", "value"):
        return tree
    if kind == "hyperparameter_tuning_job" and form != "value":
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


def _has(node: Node, name: str) -> bool:
    return any(folded(key) == name for key in node.value)
