"""The flags of gcloud's two create commands, the syntax of their lists, and the source of `--config`.

Source: gcloud's reference, `ai custom-jobs create`, `ai hp-tuning-jobs create`, `topic escaping`, read 2026-11-21.
"""

import re
from collections.abc import Iterator

from jobs.importer.files import Files
from jobs.importer.nodes import Draft, Node, Notes, paths
from jobs.importer.readers.documents import read_config
from jobs.importer.syntax.shell import Shell
from jobs.importer.syntax.shell_words import Word
from jobs.spec import quoted
from jobs.texts import translatable as _

Flags = dict[str, list[Word]]
SWITCHES = ("enable-web-access", "enable-dashboard-access")
COUNTS = ("max-trial-count", "parallel-trial-count")
SPEC_FLAGS = f"service-account network persistent-resource-id {' '.join(SWITCHES)}"
FIELDS = {
    "custom_job": paths("display-name labels") | paths(SPEC_FLAGS, "jobSpec."),
    "hyperparameter_tuning_job": paths(f"display-name labels {' '.join(COUNTS)}")
    | paths("algorithm", "studySpec.")
    | paths(SPEC_FLAGS, "trialJobSpec."),
}
"""Flags that set one field, with its path in the job of each kind."""
LISTS = frozenset({"args", "command", "python-package-uris", "--", "worker-pool-spec"})
OWN = (*FIELDS["custom_job"], *FIELDS["hyperparameter_tuning_job"], *LISTS, "config", "region", "project")
WITHOUT_VALUE = frozenset("quiet stream-logs log-http user-output-enabled no-user-output-enabled async help".split())
WITH_VALUE = frozenset(
    """account access-token-file billing-project configuration flags-file flatten format impersonate-service-account
    trace-token verbosity kms-key kms-keyring kms-location kms-project config project region""".split()
)
"""Flags that do not set fields of the job; config, key, project and region are read elsewhere."""
VARIABLES = frozenset({"env", "envs", "env-vars", "set-env-vars", "environment-variables"})
OF_POOLS = {
    name: name
    for name in (
        "machine-type replica-count accelerator-type accelerator-count container-image-uri executor-image-uri"
        " boot-disk-type boot-disk-size local-package-path python-module script"
    ).split()
} | {"image-uri": "container-image-uri", "container-uri": "container-image-uri"}
"""What people write as flags, and the keys of --worker-pool-spec that they mean."""
GIVE_FILE = _("Give that file; the name, region and flags are read from the command.")
KEY_PARTS = ("kms-keyring", "kms-location", "kms-project")
DELIMITED = re.compile(r"\^([^^]+)\^")
BRACKETED = re.compile(r"\s*\[.*\]\s*", re.DOTALL)
SEVERAL = re.compile(r"-\S*\s(?:.*\s)?-", re.DOTALL)
"""Several options in one word, such as `--epochs 10 --lr 0.1`."""
CUT = re.compile(r"--?[\w-]+=[^,]+,(?!-)[^,\s=]+")
"""An option with a value, and a word after the comma that is none: `--layers=64,32`."""
DASH = re.compile(r"(?=-{0,2}[\u2010-\u2015])[\u2010-\u2015-]{1,3}(?=[a-z])")


def read_flags(words: list[Word], notes: Notes) -> Flags:
    """Return `{flag: [its values]}` for a command's words; words after `--` are arguments of the program."""
    given: Flags = {}
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if dash := DASH.match(word.text):  # web pages and editors make one of two hyphens; gcloud does not take it
            message = _(
                "%(text)s begins with a dash where gcloud takes two hyphens; it is read as a flag.",
                text=quoted(word.text),
            )
            notes.error("odd_dash", word.line, message, _("Write --."))
            word = word.part(dash.end(), "--")
        if word.text == "--":
            if waiting:
                notes.note("words_after_dashes", word.line, _("What follows -- is read as arguments of the program."))
                given.setdefault("--", []).extend(reversed(waiting))
            break
        if not word.text.startswith("--"):
            if word.text.strip():
                message = _("%(text)s belongs to no flag; gcloud refuses it.", text=quoted(word.text))
                notes.error("stray_word", word.line, message, _("Remove it, or write the flag that it belongs to."))
            continue
        name, equals, value = word.text[2:].partition("=")
        name = name.replace("_", "-")
        follows = waiting and (name in LISTS or not waiting[-1].text.startswith("--"))
        if equals:
            given.setdefault(name, []).append(word.part(len(word.text) - len(value)))
        elif (
            name.removeprefix("no-") in SWITCHES
            or name in WITHOUT_VALUE
            or (not follows and name not in {*OWN, *WITH_VALUE})
        ):
            given.setdefault(name, []).append(Word("", word.line))  # an unknown one is refused as such
        elif follows:
            given.setdefault(name, []).append(waiting.pop())
        else:
            message = _("The flag --%(name)s has no value.", name=quoted(name)[1:-1])
            notes.error("flag_without_value", word.line, message)
    return given


def split_list(text: str) -> Iterator[tuple[int, str]]:
    """Yield the items of a list with their positions, split at commas, or at the mark in `^mark^a:b`."""
    delimited = DELIMITED.match(text)
    mark, place = (delimited[1], delimited.end()) if delimited else (",", 0)
    for item in text[place:].split(mark) if text[place:] else []:
        yield place + (len(item) - len(item.lstrip())), item.strip() if mark == "," else item
        place += len(item) + len(mark)


def check_lists(given: Flags, notes: Notes) -> None:
    """Add findings for lists that gcloud does not split as their writer probably means."""
    for name, word in ((flag, word) for flag in ("args", "command") for word in given.get(flag, ())):
        items = [item for _place, item in split_list(word.text)] if not DELIMITED.match(word.text) else []
        cut = next((at for at in range(1, len(items)) if CUT.fullmatch(f"{items[at - 1]},{items[at]}")), 0)
        if BRACKETED.fullmatch(word.text) or any(is_cut(item) for item in items):
            message = _("gcloud splits --%(flag)s at every comma, also in brackets and quotes.", flag=name)
            remedy = _(
                "Write the words with commas between them and no brackets: --%(flag)s=A,B. If a word has commas,"
                " use another separator: --%(flag)s='^;^A;B'.",
                flag=name,
            )
            notes.error("list_in_brackets", word.line, message, remedy)
        elif several := next(filter(SEVERAL.match, items), ""):
            message = _("%(text)s is one word for the program, with spaces in it.", text=quoted(several))
            notes.note(
                "spaces_in_word", word.line, message, _("Write commas between words: --%(flag)s=A,B.", flag=name)
            )
        elif cut:
            message = _(
                "gcloud splits --%(flag)s at every comma: %(word)s is a word of its own for the program.",
                flag=name,
                word=quoted(items[cut]),
            )
            remedy = _("If it belongs to the word before it, use another separator: --%(flag)s='^;^A;B'.", flag=name)
            notes.note("split_at_comma", word.line, message, remedy)


def is_cut(item: str) -> bool:
    """Return whether an item of a list has only one of two brackets or quotes."""
    return item.count('"') % 2 == 1 or any(item.count(opening) != item.count(end) for opening, end in ("[]", "{}"))


def split_pairs(word: Word, notes: Notes) -> Iterator[tuple[str, Node]]:
    """Yield the names and values of `a=b,c=d`."""
    for place, item in split_list(word.text):
        name, equals, value = item.partition("=")
        if equals:
            yield name, Node(value, word.line_at(place))
        elif item.strip():
            message = _("%(item)s is not name=value.", item=quoted(item))
            notes.error("no_pair", word.line_at(place), message, _("Write name=value,name=value."))


def load_config(given: Flags, document: Word | None, shell: Shell, files: Files, notes: Notes) -> Draft | None:
    """Return the job of `--config`, from a here-document or a file; adds an error if it is missing."""
    words = given.get("config")
    if not words and document is None:
        return None
    word, own = words[-1] if words else Word("-", 1), Notes()
    if (found := shell.file(word, document, files, notes, GIVE_FILE)) is None:
        return None
    if found.line:
        return read_config(found.text, found.line, notes)
    draft = read_config(found.text, 1, own)
    for finding in own.result():
        message = _(
            "In %(text)s, line %(line)s: %(message)s",
            text=quoted(word.text),
            line=finding.line,
            message=finding.message,
        )
        note = notes.error if finding.severity == "error" else notes.note
        note(finding.code, word.line, message, finding.remedy, finding.field)
    return None if draft is None else draft._replace(body=on_line(draft.body, word.line))


def on_line(node: Node, line: int) -> Node:
    """Return a value with all its parts on one line."""
    if isinstance(node.value, dict):
        return Node({name: on_line(item, line) for name, item in node.value.items()}, line)
    if isinstance(node.value, list):
        return Node([on_line(item, line) for item in node.value], line)
    return Node(node.value, line, node.raw)


def key_name(given: Flags) -> Word | None:
    """Return the full name of the key in --kms-key and its parts."""
    key = given.get("kms-key", [None])[-1]
    if key is None or not given.keys() & set(KEY_PARTS):
        return key
    ring, location, project = (given[name][-1].text if name in given else f"${{{name}}}" for name in KEY_PARTS)
    return Word(f"projects/{project}/locations/{location}/keyRings/{ring}/cryptoKeys/{key.text}", key.line)
