"""Read jobs from curl and PowerShell commands: the posted body, and project and region in the URL."""

import itertools
import re

from jobs.importer.files import Files
from jobs.importer.nodes import Draft, Node, Notes, max_jobs
from jobs.importer.readers.documents import identify, looks_like, refuse_document
from jobs.importer.syntax.json_text import read_json
from jobs.importer.syntax.shell import Command, Shell, note_repetition
from jobs.importer.syntax.shell_words import Word
from jobs.spec import COLLECTIONS
from jobs.texts import translatable as _

KIND = {collection: kind for kind, collection in COLLECTIONS.items()}
ADDRESS = re.compile(rf"projects/([^/]+)/locations/([^/]+)/({'|'.join(KIND)})\b(?![/:])")
DATA = frozenset({"-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json", "-Body", "-InFile"})
SENDERS = frozenset({"curl", "Invoke-WebRequest", "Invoke-RestMethod"})
HERE_STRING = re.compile(
    r"(?:\$(\w+)[ \t]*=[ \t]*)?@['\"]\n(.*?\n)['\"]@(?:[ \t]*\|[ \t]*Out-File[ \t]+(?:-FilePath[ \t]+)?(\S+))?",
    re.DOTALL,
)


def read_curl(text: str, notes: Notes, files: Files) -> list[Draft]:
    """Return the jobs that the curl commands of a text create; `files` are those that they may refer to."""
    shell = _shell(text)
    shell.variables.update(files.variables)
    drafts: list[Draft] = []
    for command in shell.commands():
        sends = any(word.text.lstrip("!%$ ") in SENDERS for word in command.words)
        address = next((m for word in command.words if (m := ADDRESS.search(word.text))), None)
        data = _data(command)
        if not sends or (address is None and data is None):
            continue
        own = Notes()
        note_repetition(command, own)
        body = _body(command, data, shell, files, own)
        document = next(iter(read_json(body.text, own, body.line)), None) if body is not None else None
        project, region, collection = address.groups() if address else ("", "", "")
        draft = _draft(document, collection, own) if document is not None else None
        if draft is not None:
            form = f"a curl command that posts {draft.form}"
            drafts.append(draft._replace(form=form, project=project, region=region, notes=own))
            continue
        if document is not None:
            refuse_document(document, _("Give a command that creates a job."), own)
        notes.findings.extend(own.findings)
    return drafts[: max_jobs(text)]


def _shell(text: str) -> Shell:
    """Return the shell for a text; PowerShell's here-strings become its variables and files."""
    end = max(text.rfind("\n'@"), text.rfind('\n"@'))  # there is none after the last end
    held_in = f"{text[:end]}{text[end:].partition(chr(10) * 2)[0]}" if end > 0 else ""
    shell = Shell(HERE_STRING.sub(lambda held: "\n" * held[0].count("\n"), held_in) + text[len(held_in) :])
    for held in itertools.islice(HERE_STRING.finditer(held_in), max_jobs(text)):
        line = text.count("\n", 0, held.start(2)) + 1
        shell.variables[held[1] or ""], shell.first_lines[held[2]] = held[2], line
        shell.documents[(held[3] or "").removeprefix("./")] = Word(held[2], line)
    return shell


def _draft(node: Node, collection: str, notes: Notes) -> Draft | None:
    """Return the body as the resource that the URL names, unless its fields belong to another one."""
    is_plain = isinstance(node.value, dict) and looks_like(node) in ("", "job", "tuning", "pipeline")
    if collection and is_plain:
        return Draft(KIND[collection], node, f"one of the {collection}")
    return identify(node, notes)


def _data(command: Command) -> Word | None:
    """Return the word with the body, or `@` and the name of its file."""
    for word, following in itertools.zip_longest(command.words, command.words[1:]):
        name, equals, value = word.text.partition("=")
        if word.text in DATA and following is not None:
            return Word(f"@{following.text}", following.line) if word.text == "-InFile" else following
        if (equals and name in DATA) or (word.text.startswith("-d") and len(word.text) > 2):
            return Word(value if equals and name in DATA else word.text[2:], word.line)
    return None


def _body(command: Command, data: Word | None, shell: Shell, files: Files, notes: Notes) -> Word | None:
    if data is None:
        notes.error("no_body", command.words[0].line, _("The curl command has no request body."), _("Give it with -d."))
        return None
    if not data.text.startswith("@"):
        held = shell.documents.get("")
        return Word(data.text, held.line) if held is not None and data.text == held.text else data
    name = Word(data.text[1:], data.line)
    found = shell.file(name, command.document, files, notes, _("Give that file."))
    return found and Word(found.text, found.line or data.line)
