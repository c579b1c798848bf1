"""The flags of gcloud's two create commands, how their lists are split, and where `--config` comes from.

Source: gcloud's reference, `ai custom-jobs create`, `ai hp-tuning-jobs create`, `topic escaping`, read 2026-11-21.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from jobs.convert.commands.shell_words import Word
from jobs.convert.texts.nodes import Draft, Node, Notes
from jobs.spec import quoted
from jobs.spec.shape import nearest

Given = dict[str, list[Word]]
JOB_FLAGS = {"display-name": "displayName"}
MAPS = {"labels": "labels"}
SPEC_FLAGS = {
    "service-account": "serviceAccount",
    "network": "network",
    "persistent-resource-id": "persistentResourceId",
}
SWITCHES = {"enable-web-access": "enableWebAccess", "enable-dashboard-access": "enableDashboardAccess"}
TUNING_FLAGS = {"max-trial-count": "maxTrialCount", "parallel-trial-count": "parallelTrialCount"}
LISTS = frozenset({"args", "command", "python-package-uris", "--", "worker-pool-spec"})
OWN = (*JOB_FLAGS, *MAPS, *SPEC_FLAGS, *SWITCHES, *TUNING_FLAGS, *LISTS, "config", "region", "project", "algorithm")
WIDE = (
    frozenset({"quiet", "stream-logs", "log-http", "user-output-enabled", "no-user-output-enabled", "async", "help"}),
    frozenset(
        """account access-token-file billing-project configuration flags-file flatten format impersonate-service-account
        trace-token verbosity kms-key kms-keyring kms-location kms-project config""".split()
    ),
)
"""Flags that say nothing about the job: those without a value, and those with one. Keys and config are read apart."""
DELIMITED = re.compile(r"\^([^^]+)\^")


def nearest_flag(name: str) -> str:
    """Return "Did you mean" for a wrong flag, or an empty string."""
    near = nearest(name, [flag for flag in OWN if flag != "--"])
    return f"Did you mean `--{near}`?" if near else ""


def parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the items of a list, each with its place: split at commas, or at the mark in `^mark^a:b`."""
    found = DELIMITED.match(text)
    mark, place = (found[1], found.end()) if found else (",", 0)
    if not text[place:]:
        return
    for item in text[place:].split(mark):
        kept = item.strip() if mark == "," else item
        yield place + (len(item) - len(item.lstrip())), kept
        place += len(item) + len(mark)


def config_of(
    given: Given,
    document: Word | None,
    documents: Mapping[str, Word],
    files: Callable[[str], str | None],
    read_config: Callable[[str, int, Notes], Draft | None],
    notes: Notes,
) -> Draft | None:
    """Return what `--config` holds: a here-document of the text, or a file beside it; else say that it is unseen."""
    words = given.get("config")
    if not words and document is None:
        return None
    word = words[-1] if words else Word("-", 1)
    if document is not None and (not words or word.text in ("/dev/stdin", "-", "")):
        return read_config(document.text, document.line, notes)
    written = documents.get(word.text.removeprefix("./"))
    if written is not None:
        return read_config(written.text, written.line, notes)
    text = files(word.text)
    if text is None:
        piped = word.text in ("-", "/dev/stdin")
        where = "comes from another command" if piped else f"is in the file {quoted(word.text)}"
        message = f"The job itself {where}, which is not part of this text."
        remedy = "Give that file; the name, region and flags are read from the command."
        notes.refuse("config_elsewhere", word.line, message, remedy)
        return None
    scratch = Notes()
    draft = read_config(text, 1, scratch)
    for finding in scratch.result():
        message = f"In {quoted(word.text)}, line {finding.line}: {finding.message}"
        note = notes.refuse if finding.severity == "refuse" else notes.advise
        note(finding.code, word.line, message, finding.remedy, finding.field)
    return None if draft is None else draft._replace(body=_on_line(draft.body, word.line))


def _on_line(node: Node, line: int) -> Node:
    if isinstance(node.value, dict):
        return Node({name: _on_line(item, line) for name, item in node.value.items()}, line)
    if isinstance(node.value, list):
        return Node([_on_line(item, line) for item in node.value], line)
    return Node(node.value, line, node.raw)


def kms_key(given: Given) -> Word | None:
    """Return the full name of the key that --kms-key and its parts give."""
    key = given.get("kms-key", [None])[-1]
    if key is None or not {"kms-keyring", "kms-location", "kms-project"} & set(given):
        return key
    ring, location, project = (
        given[name][-1].text if name in given else "${" + name + "}"
        for name in ("kms-keyring", "kms-location", "kms-project")
    )
    return Word(f"projects/{project}/locations/{location}/keyRings/{ring}/cryptoKeys/{key.text}", key.line)


def pairs(word: Word, notes: Notes) -> Iterator[tuple[str, Node]]:
    """Yield the names and values of `a=b,c=d`."""
    for place, item in parts(word.text):
        name, equals, value = item.partition("=")
        line = word.line_at(place)
        if equals:
            yield name, Node(value, line)
        elif item.strip():
            notes.refuse("no_pair", line, f"{quoted(item)} is no name=value.", "Write name=value,name=value.")
