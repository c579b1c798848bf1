"""Read jobs from gcloud commands and config files: `gcloud ai custom-jobs create` and `hp-tuning-jobs create`.

Source: gcloud's reference, "gcloud ai custom-jobs create" and "gcloud ai hp-tuning-jobs create", read 2026-11-21. A
flag takes precedence over the same field of the config file; counts that are not given are 1.
"""

import re
import shlex
from typing import Any, NamedTuple

from jobs.bounds import parse_digits
from jobs.importer.detect import BODY, COMMENT, CREATE
from jobs.importer.files import Files
from jobs.importer.nodes import Draft, Node, Notes, camel, folded, max_jobs, node_of, set_at
from jobs.importer.readers import ai_platform
from jobs.importer.readers import gcloud_flags as flags
from jobs.importer.readers.documents import read_documents
from jobs.importer.readers.gcloud_flags import (
    Flags,
    check_lists,
    key_name,
    load_config,
    on_line,
    read_flags,
    split_pairs,
)
from jobs.importer.readers.gcloud_pools import pools_of_flags, with_flags
from jobs.importer.syntax.shell import Command, Shell, note_repetition, refuse_unclosed
from jobs.importer.syntax.shell_words import Word
from jobs.importer.syntax.yaml_text import read_yaml
from jobs.spec import CustomJobSpec, HyperparameterTuningJob, quoted
from jobs.spec.shape import find_parents, nearest
from jobs.texts import translatable as _

KIND = {"custom-jobs": "custom_job", "hp-tuning-jobs": "hyperparameter_tuning_job"}
FORMER, SUBMIT = ("ai-platform", "ml-engine"), ["jobs", "submit", "training"]
"""The command of AI Platform Training, which came before Vertex AI."""
ALGORITHMS = {"grid-search": "GRID_SEARCH", "random-search": "RANDOM_SEARCH", "algorithm-unspecified": ""}
UNSEEN = {
    "custom_job": ("jobSpec.workerPoolSpecs", "jobSpec.scheduling", "jobSpec.baseOutputDirectory"),
    "hyperparameter_tuning_job": ("studySpec", "trialJobSpec", "maxTrialCount", "parallelTrialCount"),
}
"""Fields in a config file that is not part of the text, or that could not be read."""
MAX_WORDS = 500
SET = re.compile(r"\bgcloud config set (?:core/|ai/)?(project|region) (\S+)")
"""A command that sets the default of a later command: gcloud's properties core/project and ai/region."""
START = re.compile(r"(?:[@+-]*|\S*/)gcloud(?:\.cmd)?")


class Call(NamedTuple):
    """A gcloud command that creates a job: its kind, the words after `create`, its line, the whole command."""

    kind: str
    words: list[Word]
    line: int
    command: Command


def read_gcloud(text: str, notes: Notes, files: Files, config: Draft | None = None) -> list[Draft]:
    """Return the jobs that the gcloud commands of a text create.

    `files` are those that they may refer to, `config` is the job of their config file if it is read already.
    """
    shell = Shell(text)
    shell.variables.update(files.variables)
    calls, defaults = [], {"project": "", "region": ""}
    for command in shell.commands():
        if (setting := SET.search(" ".join(word.text for word in command.words[:5]))) is not None:
            defaults[setting[1]] = setting[2]
        elif (call := _call(command)) is not None:
            calls.append(call)
    if not calls:
        refuse_unclosed(shell, notes)
    calls = [call for call in calls if call.words] or calls  # without arguments it is prose, unless there is no other
    drafts: list[Draft] = []
    for call in calls[: max_jobs(text)]:
        own = Notes()
        note_repetition(call.command, own)
        is_former = call.kind in FORMER
        draft = _former_job(call, shell, files, own) if is_former else _job(call, shell, files, own, config)
        project, region = (getattr(draft, name) or default for name, default in defaults.items())
        drafts.append(draft._replace(notes=own, project=project, region=region))
    return drafts


def read_gcloud_yaml(text: str, notes: Notes) -> list[Draft]:
    """Return the jobs of a YAML text; the command in a comment at the top completes the first one."""
    drafts = read_documents(text, notes, is_json=False)
    body = BODY.search(text)
    heading = text[: body.start()] if body is not None else text
    command = re.sub(r"^[ \t]*#+ ?", "", heading, flags=re.MULTILINE)
    is_command = CREATE.search(command) is not None
    comment = COMMENT.search(text, len(heading) if is_command else 0)
    if drafts and comment is not None:
        notes.note("comments", text.count("\n", 0, comment.start()) + 1, _("Comments are not kept."))
    if drafts and is_command:
        drafts[0] = with_command(drafts[0], command)
    return drafts


def with_command(draft: Draft, text: str) -> Draft:
    """Return the job of a config file with what the first command of a text sets for it, if it creates such a job."""
    made = next(iter(read_gcloud(text, Notes(), Files({}), draft)), None)
    if made is None or made.kind != draft.kind or not isinstance(draft.body.value, dict):
        return draft
    if made[3:5] == draft[3:5] and made.body.value.keys() <= draft.body.value.keys():
        return draft  # a sentence about the command, or a part of it
    notes = Notes()
    message = _("The command that creates the job is read too: it sets what a config file cannot.")
    notes.note("command_beside", made.body.line, message)
    notes.extend(draft.notes)
    return made._replace(form=draft.form, body=Node(made.body.value, draft.body.line), notes=notes)


def command_of(node: Node) -> str:
    """Return the command in a list of words, as steps of Cloud Build and subprocess take it; "" if it is none."""
    words = [item.text() for item in node.value if item.is_scalar] if len(node.value) <= MAX_WORDS else []
    if "create" not in words or not set(KIND) & set(words):
        return ""
    return shlex.join(words[words.index("gcloud") :] if "gcloud" in words else ["gcloud", *words])


def _call(command: Command) -> Call | None:
    words = [word.text.lstrip("!%$ ") for word in command.words]
    start = next((place for place, word in enumerate(words) if START.fullmatch(word)), None)
    if start is None:
        return None
    named = [(place, word) for place, word in enumerate(words[start + 1 :], start + 1) if not word.startswith("-")]
    names = [word for _, word in named if word not in ("alpha", "beta")]
    line = command.words[start].line
    if names[:1] and names[0] in FORMER and names[1:4] == SUBMIT:
        submit = next(place for place, word in named if word == "training")
        return Call(names[0], command.words[submit + 1 :], line, command)
    if len(names) < 3 or names[0] != "ai" or names[1] not in KIND or names[2] != "create":
        return None
    create = next(place for place, word in named if word == "create")
    given = [word for word in command.words[start + 1 : create] if word.text.startswith("-")]
    given += command.words[create + 1 :]
    if given and not any(word.text.startswith("-") or flags.DASH.match(word.text) for word in given):
        return None  # a sentence that mentions the command
    return Call(KIND[names[1]], given, line, command)


def _job(call: Call, shell: Shell, files: Files, notes: Notes, config: Draft | None) -> Draft:
    """Return the job of a command: the content of its config file, changed by its flags."""
    given = read_flags(call.words, notes)
    check_lists(given, notes)
    config = config or load_config(given, call.command.document, shell, files, notes)
    if config is not None and config.kind != call.kind:
        message = _("The config file describes another kind of job than the command creates.")
        notes.error("other_kind", call.line, message)
        config = None
    is_tuning = call.kind != "custom_job"
    is_unseen = notes.has("config_elsewhere", "unreadable_yaml", "unreadable_json")
    body = Node(dict(config.body.value) if config is not None else {}, call.line)
    if key := body.key("trialJobSpec") or body.key("jobSpec") or ("" if is_tuning else "jobSpec"):
        held = body.value.get(key, Node({}, call.line))
        body.value[key] = Node(dict(held.entries), held.line)
    for name, words in given.items():
        if not _set_field(name, words, body, call.kind, notes):
            message = _("gcloud has no flag --%(name)s for this.", name=quoted(name)[1:-1])
            notes.error("unknown_flag", words[-1].line, message, "" if notes.is_full else _remedy(name, call.kind))
    if not is_tuning:
        body.value[key] = body.value.pop(key)  # after the name and the labels, as in files
        _set_pools(body.value[key], given, notes, is_unseen=is_unseen)
    if kms := key_name(given):
        body.value["encryptionSpec"] = node_of({"kmsKeyName": kms.text}, kms.line)
    for name in map(camel, flags.COUNTS) if is_tuning and not is_unseen else ():
        if body.get(name) is None:
            notes.note("count_assumed", call.line, _("%(name)s is not given; gcloud takes 1.", name=name), "", name)
            body.value[name] = Node(1, call.line)
    form = f"a gcloud command{f', with {config.form} as its config' if config is not None else ''}"
    project, region = (given[n][-1].text if n in given else getattr(config, n, "") for n in ("project", "region"))
    return Draft(call.kind, body, form, project, region, UNSEEN[call.kind] if is_unseen else ())


def _former_job(call: Call, shell: Shell, files: Files, notes: Notes) -> Draft:
    """Return the job of a command of AI Platform Training, with its config file below the flags."""
    name = call.words[:1] if call.words and not call.words[0].text.startswith("-") else []
    given = read_flags(call.words[len(name) :], notes)
    document = Node({}, call.line)
    for word in given.get("config", []):
        if (found := shell.file(word, call.command.document, files, notes, flags.GIVE_FILE)) is not None:
            held = next(iter(read_yaml(found.text, notes)), document)
            document = held if found.line else on_line(held, word.line)
    return ai_platform.of_command(name, given, document, call.line, notes)


def _set_field(name: str, words: list[Word], body: Node, kind: str, notes: Notes) -> bool:
    """Set the field of a flag; return False if the command does not have this flag."""
    word, base = words[-1], name.removeprefix("no-")
    path = flags.FIELDS[kind].get(base if base in flags.SWITCHES else name)
    if path is None:
        return name in flags.WITHOUT_VALUE | flags.WITH_VALUE or (kind == "custom_job" and name in flags.LISTS)
    value: Any = word.text
    if name == "labels":
        value = {key: node for item in words for key, node in split_pairs(item, notes)}
    elif base in flags.SWITCHES:
        value = (word.text.lower() not in ("false", "no", "0")) == (base == name)
    elif name in flags.COUNTS and (count := parse_digits(word.text)) is not None:
        value = count
    elif name == "algorithm":
        value = ALGORITHMS.get(word.text.lower().replace("_", "-"), word.text)
    if value != "" or name != "algorithm":
        set_at(body, [*path.split(".")], Node(value, word.line, word.text if name in flags.COUNTS else ""))
    return True


def _remedy(name: str, kind: str) -> str:
    """Return the advice for a flag that the command does not have: the right flag or the field of the config file."""
    if name in flags.VARIABLES:
        return _("gcloud takes variables only in a config file: put `env` below the containerSpec of each worker pool.")
    if name in flags.OF_POOLS:
        return _("Put %(name)s into --worker-pool-spec.", name=flags.OF_POOLS[name])
    if name in flags.LISTS:
        return _("Put it into the config file, below trialJobSpec.")
    if folded(name) not in map(folded, flags.OWN):
        root = CustomJobSpec if kind == "custom_job" else HyperparameterTuningJob
        if paths := find_parents(name, root):
            return _("Put `%(field)s` into the config file.", field=paths[0])
    near = nearest(name, [flag for flag in flags.OWN if flag != "--"])
    return _("Did you mean `--%(near)s`?", near=near) if near else ""


def _set_pools(spec: Node, given: Flags, notes: Notes, *, is_unseen: bool) -> None:
    """Set the worker pools from flags, or apply flags for all pools to those of the config file."""
    key, pools = spec.key("workerPoolSpecs"), pools_of_flags(given, notes)
    if pools is not None:
        spec.value.pop("worker_pool_specs", None)
        spec.value["workerPoolSpecs"] = pools
    elif key is not None:
        spec.value[key] = with_flags(spec.value[key], given)
    for name in ("args", "command", "--") if pools is None and key is None else ():
        if name in given:
            flag, note = name.strip("-") or "--", notes.note if is_unseen else notes.error
            message = _("--%(flag)s applies to worker pools, and there are none; it is left out.", flag=flag)
            if is_unseen:
                message = _("--%(flag)s would replace a value of that file; it is left out.", flag=flag)
            note("not_carried", given[name][0].line, message, _("Put it into the config file."))
