"""gcloud commands to jobs: `gcloud ai custom-jobs create` and `hp-tuning-jobs create`, with the file of `--config`.

Source: gcloud's reference, "gcloud ai custom-jobs create" and "gcloud ai hp-tuning-jobs create", read 2026-11-21. A
flag wins over the same field of the config file; counts that are not given are 1.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from jobs.convert.commands.ai_platform import job_of_training, training_flags
from jobs.convert.commands.gcloud_flags import (
    JOB_FLAGS,
    LISTS,
    MAPS,
    SPEC_FLAGS,
    SWITCHES,
    TUNING_FLAGS,
    WIDE,
    Given,
    config_of,
    kms_key,
    nearest_flag,
    pairs,
)
from jobs.convert.commands.gcloud_pools import pools_of, with_flags
from jobs.convert.commands.shell_commands import Command, Shell, tell_unclosed
from jobs.convert.commands.shell_words import Word
from jobs.convert.texts.nodes import Draft, Node, Notes, folded, most_jobs, node_of
from jobs.spec import CustomJobSpec, quoted
from jobs.spec.shape import fields

Files = Callable[[str], str | None]
Config = Callable[[str, int, Notes], Draft | None]
KIND = {"custom-jobs": "custom_job", "hp-tuning-jobs": "hyperparameter_tuning_job"}
ALGORITHMS = {"grid-search": "GRID_SEARCH", "random-search": "RANDOM_SEARCH", "algorithm-unspecified": None}
POOLS = ("workerPoolSpecs", "worker_pool_specs")
UNSEEN = {
    "custom_job": ("jobSpec.workerPoolSpecs", "jobSpec.scheduling", "jobSpec.baseOutputDirectory"),
    "hyperparameter_tuning_job": ("studySpec", "trialJobSpec", "maxTrialCount", "parallelTrialCount"),
}
"""What a config file holds that is not part of the text, or that could not be read."""
UNSEEN_CODES = ("config_elsewhere", "unreadable_yaml", "unreadable_json")
DASH = re.compile(r"(?=-{0,2}[\u2010-\u2015])[\u2010-\u2015-]{1,3}(?=[a-z])")
START = re.compile(r"(?:[@+-]*|\S*/)gcloud(?:\.cmd)?")


class Call(NamedTuple):
    """A gcloud command that creates a job: its kind, the words after `create`, its line, its here-document."""

    kind: str
    words: list[Word]
    line: int
    document: Word | None


def read_gcloud(text: str, notes: Notes, read_config: Config, files: Files) -> list[Draft]:
    """Return the jobs that the gcloud commands of a text create.

    `files` gives the text of a file beside it, `read_config` reads a config file's text (text, first line, notes).
    """
    shell = Shell(text)
    calls = [call for command in shell.commands() if (call := _call(command)) is not None]
    if not calls:
        tell_unclosed(shell, notes)
        return []
    calls = [call for call in calls if call.words] or calls  # a bare name of the command is a sentence about it
    found: list[Draft] = []
    for call in calls[: most_jobs(text)]:
        own, name = Notes(), ""
        if call.kind == "training":
            name = call.words.pop(0).text if call.words and not call.words[0].text.startswith("-") else ""
        given = flags_of(call.words, own)
        config = config_of(given, call.document, shell.documents, files, read_config, own)
        former = training_flags(given, name, config, call.line) if call.kind == "training" else None
        draft = job_of_training(former, own) if former is not None else _draft(call, given, config, own)
        if draft is None:
            notes.findings.extend(own.findings)
        elif former is not None:
            project = given["project"][-1].text if "project" in given else ""
            draft = draft._replace(form=f"a gcloud command for {draft.form}", project=project)
        found += [draft._replace(notes=own)] if draft is not None else []
    return found


def _call(command: Command) -> Call | None:
    words = [word.text.lstrip("!%$ ") for word in command.words]
    start = next((place for place, word in enumerate(words) if START.fullmatch(word)), None)
    if start is None:
        return None
    plain = [(place, word) for place, word in enumerate(words[start + 1 :], start + 1) if not word.startswith("-")]
    names = [word for _, word in plain if word not in ("alpha", "beta")]
    if names[:1] in (["ai-platform"], ["ml-engine"]) and names[1:4] == ["jobs", "submit", "training"]:
        last = next(place for place, word in plain if word == "training")
        return Call("training", command.words[last + 1 :], command.words[start].line, command.document)
    if len(names) < 3 or names[0] != "ai" or names[1] not in KIND or names[2] != "create":
        return None
    create = next(place for place, word in plain if word == "create")
    given = [word for word in command.words[start + 1 : create] if word.text.startswith("-")]
    given += command.words[create + 1 :]
    if given and not any(word.text.startswith("-") or DASH.match(word.text) for word in given):
        return None  # a sentence that speaks of the command
    return Call(KIND[names[1]], given, command.words[start].line, command.document)


def flags_of(words: list[Word], notes: Notes) -> Given:
    """Return `{flag: [its values]}` of a command's words; `--` takes the rest as arguments of the program."""
    given: Given = {}
    waiting = list(reversed(words))
    while waiting:
        word = _with_hyphens(waiting.pop(), notes)
        if word.text == "--":
            rest = list(reversed(waiting))
            if rest:
                notes.advise("words_after_dashes", word.line, "What follows -- is read as arguments of the program.")
                given.setdefault("--", []).extend(rest)
            break
        if not word.text.startswith("--"):
            if word.text.strip():
                notes.advise("stray_word", word.line, f"{quoted(word.text)} belongs to no flag and is not carried.")
            continue
        name, equals, value = word.text[2:].partition("=")
        name = name.replace("_", "-")
        shift = len(word.text) - len(value)
        if equals:
            given.setdefault(name, []).append(Word(value, word.line, [place - shift for place in word.breaks]))
        elif name in SWITCHES or name.removeprefix("no-") in SWITCHES or name in WIDE[0]:
            given.setdefault(name, []).append(Word("", word.line))
        elif waiting and not (waiting[-1].text.startswith("--") and name not in LISTS):
            given.setdefault(name, []).append(waiting.pop())
        else:
            notes.refuse("flag_without_value", word.line, f"The flag --{quoted(name)[1:-1]} has no value.")
    return given


def _with_hyphens(word: Word, notes: Notes) -> Word:
    """Read the dash that pages and editors make of two hyphens; gcloud itself does not."""
    found = DASH.match(word.text)
    if found is None:
        return word
    message = f"{quoted(word.text)} begins with a dash where gcloud takes two hyphens; it is read as a flag."
    notes.refuse("odd_dash", word.line, message, "Write --.")
    return Word(f"--{word.text[found.end() :]}", word.line, [place + 2 - found.end() for place in word.breaks])


def _draft(call: Call, given: Given, config: Draft | None, notes: Notes) -> Draft:
    tuning = call.kind == "hyperparameter_tuning_job"
    if config is not None and config.kind != call.kind:
        notes.refuse("other_kind", call.line, "The config file describes another kind of job than the command creates.")
        config = None
    body: dict[str, Node] = dict(config.body.value) if config is not None else {}
    spec_name = next((n for n in ("trialJobSpec", "trial_job_spec", "jobSpec", "job_spec") if n in body), "")
    spec_name = spec_name or ("trialJobSpec" if tuning else "jobSpec")
    inner = body.get(spec_name, Node({}, call.line))
    spec: dict[str, Node] = dict(inner.value) if isinstance(inner.value, dict) else {}
    places = {"project": config.project if config else "", "region": config.region if config else ""}
    unseen = UNSEEN[call.kind] if any(note.code in UNSEEN_CODES for note in notes.findings) else ()
    for name, words in given.items():
        _apply(name, words, body, spec, places, tuning, notes)
    if not tuning and (pools := pools_of(given, notes)) is not None:
        spec.pop("worker_pool_specs", None)
        spec["workerPoolSpecs"] = pools
    elif not tuning and (held := [name for name in POOLS if name in spec]):
        spec[held[0]] = with_flags(spec[held[0]], given)
    elif not tuning:
        _without_pools(given, bool(unseen), notes)
    if key := kms_key(given):
        body["encryptionSpec"] = node_of({"kmsKeyName": key.text}, key.line)
    if spec or spec_name in body or not tuning:
        body[spec_name] = Node(spec, inner.line)
    if tuning and not unseen:
        _count_trials(body, call.line, notes)
    form = f"a gcloud command{f', with {config.form} as its config' if config is not None else ''}"
    return Draft(call.kind, Node(body, call.line), form, places["project"], places["region"], unseen)


def _apply(
    name: str,
    words: list[Word],
    body: dict[str, Node],
    spec: dict[str, Node],
    places: dict[str, str],
    tuning: bool,
    notes: Notes,
) -> None:
    word = words[-1]
    if name in places:
        places[name] = word.text
    elif name in JOB_FLAGS:
        body[JOB_FLAGS[name]] = Node(word.text, word.line)
    elif name in MAPS:
        body[MAPS[name]] = Node({key: node for item in words for key, node in pairs(item, notes)}, word.line)
    elif name in SPEC_FLAGS:
        spec[SPEC_FLAGS[name]] = Node(word.text, word.line)
    elif name.removeprefix("no-") in SWITCHES and name not in WIDE[0]:
        switched = (word.text.lower() not in ("false", "no", "0")) != name.startswith("no-")
        spec[SWITCHES[name.removeprefix("no-")]] = Node(switched, word.line)
    elif tuning and name in TUNING_FLAGS:
        body[TUNING_FLAGS[name]] = Node(int(word.text) if word.text.isdecimal() else word.text, word.line, word.text)
    elif tuning and name == "algorithm":
        _algorithm(word, body)
    elif (tuning or name not in LISTS) and name not in WIDE[0] and name not in WIDE[1]:
        shown = quoted(name)[1:-1]
        remedy = _elsewhere(name) or nearest_flag(name)
        notes.refuse("unknown_flag", word.line, f"gcloud has no flag --{shown} for this.", remedy)


def _elsewhere(name: str) -> str:
    """Say that a field which gcloud has no flag for belongs in the config file."""
    if name in LISTS:
        return "Put it into the config file, below trialJobSpec."
    field = next((field.alias for field in fields(CustomJobSpec) if folded(field.alias) == folded(name)), "")
    return f"Put `{field}` into the config file." if field else ""


def _without_pools(given: Given, unseen: bool, notes: Notes) -> None:
    """Say what becomes of flags that apply to every pool where no pool is known."""
    for name in ("args", "command", "--"):
        if name in given:
            shown = name.strip("-") or "--"
            if unseen:
                note, message = notes.advise, f"--{shown} replaces what the pools of that file say; it is not carried."
            else:
                note, message = notes.refuse, f"--{shown} applies to pools, and there are none; it is not carried."
            note("not_carried", given[name][0].line, message, "Put it into the config file.")


def _algorithm(word: Word, body: dict[str, Node]) -> None:
    study = next((name for name in ("studySpec", "study_spec") if name in body), "studySpec")
    entries = dict(body[study].value) if study in body and isinstance(body[study].value, dict) else {}
    chosen = word.text.lower().replace("_", "-")
    if ALGORITHMS.get(chosen, word.text) is not None:
        entries["algorithm"] = Node(ALGORITHMS.get(chosen, word.text), word.line)
        body[study] = Node(entries, word.line)


def _count_trials(body: dict[str, Node], line: int, notes: Notes) -> None:
    for name, other in (("maxTrialCount", "max_trial_count"), ("parallelTrialCount", "parallel_trial_count")):
        if name not in body and other not in body:
            notes.advise("count_assumed", line, f"{name} is not given; gcloud takes 1.", "", name)
            body[name] = Node(1, line)
