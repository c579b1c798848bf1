"""curl commands, and PowerShell's, to jobs: the body of the request that they post, and where its address says."""

import itertools
import re
from collections.abc import Callable

from jobs.convert.commands.shell_commands import Command, Shell
from jobs.convert.commands.shell_words import Word
from jobs.convert.texts.forms import looks_like, refusal
from jobs.convert.texts.json_text import read_json
from jobs.convert.texts.nodes import Draft, Node, Notes, most_jobs
from jobs.spec import quoted

ADDRESS = re.compile(
    r"projects/([^/]+)/locations/([^/]+)/(customJobs|hyperparameterTuningJobs|trainingPipelines)\b(?![/:])"
)
COLLECTIONS = {
    "customJobs": "custom_job",
    "hyperparameterTuningJobs": "hyperparameter_tuning_job",
    "trainingPipelines": "training_pipeline",
}
DATA = frozenset({"-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json", "-Body", "-InFile"})
SENDERS = frozenset({"curl", "Invoke-WebRequest", "Invoke-RestMethod"})
HERE_STRING = re.compile(
    r"(?:\$(\w+)[ \t]*=[ \t]*)?@['\"]\n(.*?\n)['\"]@(?:[ \t]*\|[ \t]*Out-File[ \t]+(?:-FilePath[ \t]+)?(\S+))?",
    re.DOTALL,
)
Identify = Callable[[Node, Notes], Draft | None]


def read_curl(text: str, notes: Notes, identify: Identify, files: Callable[[str], str | None]) -> list[Draft]:
    """Return the jobs that the curl commands of a text create."""
    # PowerShell's here-strings become variables and files; behind the last end there is none
    end = max(text.rfind("\n'@"), text.rfind('\n"@'))
    held_in = f"{text[:end]}{text[end:].partition(chr(10) * 2)[0]}" if end > 0 else ""
    shell = Shell(HERE_STRING.sub(lambda held: "\n" * held[0].count("\n"), held_in) + text[len(held_in) :])
    for held in itertools.islice(HERE_STRING.finditer(held_in), most_jobs(text)):
        line = text.count("\n", 0, held.start(2)) + 1
        shell.variables[held[1] or ""], shell.begun[held[2]] = held[2], line
        shell.documents[(held[3] or "").removeprefix("./")] = Word(held[2], line)
    found: list[Draft] = []
    for command in shell.commands():
        place = next((n for n, word in enumerate(command.words) if word.text.lstrip("!%$ ") in SENDERS), None)
        address = next((m for word in command.words if (m := ADDRESS.search(word.text))), None)
        if place is None or (address is None and _data(command) is None):
            continue
        own = Notes()
        body = _body(command, shell.documents, files, own)
        documents = read_json(body.text, own, body.line) if body is not None else []
        draft = _draft(documents[0], address[3] if address else "", own, identify) if documents else None
        if draft is not None:
            project, region = (address[1], address[2]) if address else ("", "")
            form = f"a curl command that posts {draft.form}"
            found.append(draft._replace(form=form, project=project, region=region, notes=own))
            continue
        if documents:
            own.refuse("no_job", documents[0].line, refusal(documents[0]), "Give a command that creates a job.")
        notes.findings.extend(own.findings)
    return found[: most_jobs(text)]


def _draft(node: Node, collection: str, notes: Notes, identify: Identify) -> Draft | None:
    """Return the body as what the address says it is, unless it is plainly something else."""
    form = looks_like(node)
    if collection and isinstance(node.value, dict) and form in ("", "job", "tuning", "pipeline"):
        return Draft(COLLECTIONS[collection], node, f"one of the {collection}")
    return identify(node, notes)


def _data(command: Command) -> Word | None:
    for word, following in zip(command.words, [*command.words[1:], None], strict=True):
        if word.text in DATA and following is not None:
            return Word(f"@{following.text}", following.line) if word.text == "-InFile" else following
        name, equals, value = word.text.partition("=")
        if equals and name in DATA:
            return Word(value, word.line)
        if word.text.startswith("-d") and len(word.text) > 2:
            return Word(word.text[2:], word.line)
    return None


def _body(
    command: Command, documents: dict[str, Word], files: Callable[[str], str | None], notes: Notes
) -> Word | None:
    data = _data(command)
    if data is None:
        notes.refuse("no_body", command.words[0].line, "The curl command sends no body.", "Give it with -d.")
        return None
    if not data.text.startswith("@"):
        return Word(data.text, documents[""].line) if "" in documents and data.text == documents[""].text else data
    name = data.text[1:]
    if name in ("-", "/dev/stdin") and command.document is not None:
        return command.document
    if name.removeprefix("./") in documents:
        return documents[name.removeprefix("./")]
    text = files(name)
    if text is not None:
        return Word(text, data.line)
    message = f"The job itself is in the file {quoted(name)}, which is not part of this text."
    notes.refuse("config_elsewhere", data.line, message, "Give that file.")
    return None
