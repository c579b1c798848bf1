"""Read any text as a job with findings: detect the format, read it, normalize it, and check it against the spec.

Reading never raises, and is bounded in size, depth and number of values.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from jobs.importer.containers.embedded import embedded_parts
from jobs.importer.containers.markdown import IN_BLOCK, INDENTED, Part, fenced_blocks, objects_in_prose
from jobs.importer.containers.notebook import read_notebook
from jobs.importer.containers.variables import of_files, with_variables
from jobs.importer.detect import decode, detect_format, explain, is_document, names_a_job, without_magic
from jobs.importer.files import Files
from jobs.importer.nodes import MAX_JOB_VALUES, READ, SOURCE, SUPPORTED, Draft, Notes, exceeded_limit, plain
from jobs.importer.normalize.fields import Normalizer, add_defaults
from jobs.importer.normalize.strategy import CHEAPER, find_lost_request
from jobs.importer.python.parsing import is_program
from jobs.importer.readers.curl import read_curl
from jobs.importer.readers.documents import identify, read_documents
from jobs.importer.readers.gcloud import read_gcloud, read_gcloud_yaml
from jobs.importer.readers.sdk_program import read_program
from jobs.importer.result import Reading, choose, job_names
from jobs.spec import KINDS, Finding, Severity, Submission, has_errors, quoted, read, rest_body
from jobs.spec.findings import as_confirmed
from jobs.spec.submission import reserved_region
from jobs.spec.unknown import unknown_findings
from jobs.texts import translatable as _

IN_PYTHON = re.compile(r"\b(?:None|True|False)\b|\w\(|\bf[\"']|\*\*\w")
"""Syntax of Python literals, which JSON contains in strings only."""

OPEN = re.compile(r"[$<{\[]|^(?:YOUR|MY)[_-]|^your-", re.IGNORECASE)
"""A project that is a placeholder."""


class Source(NamedTuple):
    """A text, its format, the shell commands of a notebook, and whether the whole text is a Python program."""

    text: str
    format: str
    shell: str = ""
    is_program: bool = False


class Candidates(NamedTuple):
    """The jobs of a text, their format, and the texts that they come from."""

    format: str
    drafts: list[Draft]
    texts: list[str]


def read_text(
    text: str | bytes,
    *,
    name: str = "",
    project: str = "",
    region: str = "",
    files: Mapping[str, str] = MappingProxyType({}),
    job: str = "",
) -> Reading:
    """Return the job in a text of any supported format.

    `name` is the display name for forms without one, such as gcloud's config files. `project` and `region` are used if
    the text names none. `files` are the texts of files that it may refer to. `job` is the number or name of the wanted
    job, if the text has several.
    """
    notes = Notes()
    decoded = decode(text, notes)
    if decoded is None:
        return Reading("", "", "", None, {}, tuple(notes.result()))
    replaced, variables = with_variables(decoded)
    beside = Files(files, variables=of_files(files) | variables)
    source = _unwrap(replaced)
    started = len(notes.findings)
    candidates = _extract(source, notes, beside)
    draft = choose(candidates.drafts, job, notes)
    if draft is None:
        if not candidates.drafts:
            explain(source.text, started, notes)
        reading = Reading(candidates.format, "", "", None, {}, tuple(notes.result()))
    else:
        reading = _normalized(candidates.format, draft, notes, name, project, region)
        reading = _refuse_lost_strategy(reading, candidates)
    jobs, used, missing = job_names(candidates.drafts), frozenset(beside.used), frozenset(beside.missing)
    return replace(reading, jobs=jobs, used_files=used, missing_files=missing)


def _unwrap(text: str) -> Source:
    if (notebook := read_notebook(text)) is not None:
        return Source(notebook.python, "python", notebook.shell, is_program=True)
    text = without_magic(text)
    format_key = detect_format(text)
    is_json = False
    if format_key == "rest" and IN_PYTHON.search(text):  # JSON, or a Python literal that begins like it
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(text)
            is_json = True
    may_be_python = format_key == "python" or (format_key == "rest" and IN_PYTHON.search(text) and not is_json)
    is_python = bool(may_be_python) and is_program(text)
    return Source(text, "python" if is_python else format_key, is_program=is_python)


def _extract(source: Source, notes: Notes, files: Files) -> Candidates:
    """Return the jobs of the text itself, or if there are none, of its parts."""
    text, format_key, started = source.text, source.format, len(notes.findings)
    own, parts, body = Candidates(format_key, [], [text, source.shell]), [], None
    if not source.is_program:
        shown = objects_in_prose(text) if format_key in ("python", "gcloud-yaml", "curl") else []
        parts = fenced_blocks(text) or (shown if format_key != "curl" else [])
        body = shown[0].text if format_key == "curl" and len(shown) == 1 else None
    drafts = [] if parts else read_format(format_key, text, notes, replace(files, otherwise=body))
    if drafts:
        return own._replace(drafts=drafts)
    is_broken = notes.has("unreadable_json", "unreadable_yaml", "unreadable_python")
    is_broken = is_broken or bool(parts) or format_key in ("gcloud", "curl")
    is_followed = not (notes.is_full or notes.has("too_much"))
    inner = embedded_parts(format_key, text, source.shell, is_broken=is_broken, is_followed=is_followed)
    candidates = _extract_from_parts(own, chain(parts, inner), notes, started, files)
    if not candidates.drafts and parts and len(notes.findings) == started:
        return candidates._replace(drafts=read_format(format_key, text, notes, files))
    return candidates


def _extract_from_parts(
    candidates: Candidates, parts: Iterable[Part], notes: Notes, started: int, files: Files
) -> Candidates:
    """Return the jobs of the first part that contains any, and of further blocks of a page after it.

    The notes of that part replace those of the text. If no part contains a job, those of the first block of a page do,
    since it was probably meant.
    """
    meant: Notes | None = None
    first: Part | None = None
    for part in parts:
        if first is not None and (part.where != first.where or part.where not in (IN_BLOCK, INDENTED)):
            break
        own = Notes()
        drafts = _read_part(part, own, files)
        if first is not None and (part.config is not None or part.format != first.format):
            candidates.texts.append(part.text)  # it is shown again, or in another language
            continue
        candidates.drafts.extend(draft._replace(form=draft.form + part.where) for draft in drafts)
        if drafts and first is None:
            texts = [part.text] if part.where in (IN_BLOCK, INDENTED) else candidates.texts
            first, candidates = part, Candidates(part.format or candidates.format, candidates.drafts, texts)
            notes.findings[started:], notes.left_out = own.findings, own.left_out
        is_meant = own.has("unclosed_quote") or (part.where == IN_BLOCK and names_a_job(part.text))
        meant = meant or (own if is_meant and has_errors(own.findings) else None)
    if meant is not None and first is None:
        notes.findings[started:] = meant.findings
    return candidates


def _read_part(part: Part, notes: Notes, files: Files) -> list[Draft]:
    if part.node is not None:
        draft = identify(part.node, notes)
        return [draft] if draft is not None else []
    drafts = read_format(part.format, part.text, notes, replace(files, otherwise=part.config))
    inner = embedded_parts(part.format, part.text, "", is_broken=False) if is_document(part.format) else ()
    for each in () if drafts else inner:  # such as a workflow in a block of a page
        own = Notes()
        if found := _read_part(each, own, files):
            notes.findings = own.findings
            return [draft._replace(form=draft.form + each.where) for draft in found]
    return drafts


def read_format(format_key: str, text: str, notes: Notes, files: Files) -> list[Draft]:
    """Return the jobs of a text in one format; adds an error if there are none."""
    if format_key in ("gcloud", "curl"):
        drafts = (read_gcloud if format_key == "gcloud" else read_curl)(text, notes, files)
    elif format_key == "python":
        drafts = read_program(text, notes, files.variables)
    else:
        is_json = format_key == "rest"
        drafts = read_documents(text, notes, is_json=True) if is_json else read_gcloud_yaml(text, notes)
    if not drafts and not has_errors(notes.findings):
        notes.error("no_job", 1, _("No job was found in this text."), SUPPORTED)
    return drafts


def _normalized(format_key: str, draft: Draft, notes: Notes, name: str, project: str, region: str) -> Reading:
    """Return a draft normalized for the API and checked against the spec."""
    if message := exceeded_limit(draft.body, MAX_JOB_VALUES):
        notes.error("too_much", draft.body.line, message, _("Give one job."))
        return Reading(format_key, draft.form, draft.kind, None, {}, tuple(notes.result()))
    normalizer = Normalizer(notes)
    tree = normalizer.message(KINDS[draft.kind], draft.body)
    tree = add_defaults(tree, draft, format_key, name, notes)
    job, findings = read(draft.kind, plain(tree))
    placeholders = normalizer.placeholders
    findings += [as_confirmed(each, ()) for each in unknown_findings(job)] if job is not None else []
    reading = Reading(format_key, draft.form, draft.kind, None, {}, (), placeholders, draft.unseen, tree=tree)
    found = [*notes.result(), *findings]
    if job is not None and OPEN.search(draft.project):
        message = _("The project %(project)s is a placeholder.", project=quoted(draft.project))
        remedy, line = _("Choose the project."), draft.body.line
        found.append(Finding("open_project", Severity.NOTE, "", message, remedy, SOURCE, READ, line))
    reading = replace(reading, findings=tuple(reading.located(each) for each in found))
    if job is None:
        return reading
    submission = Submission(draft.kind, draft.project or project, draft.region, job)
    submission = replace(submission, region=draft.region or reserved_region(submission) or region)
    return replace(reading, submission=submission, body=rest_body(job))


def _refuse_lost_strategy(reading: Reading, candidates: Candidates) -> Reading:
    """Report an error for a job that would run as Standard although its text requests Spot or Flex-start."""
    submission = reading.submission
    if submission is None or submission.job_spec.scheduling.strategy in CHEAPER:
        return reading
    bodies = [draft.body for draft in candidates.drafts if not exceeded_limit(draft.body)]
    is_python = reading.format == "python"
    lines = (find_lost_request(text, is_python=is_python, bodies=bodies) for text in candidates.texts)
    if not (line := next((line for line in lines if line), 0)):
        return reading
    message = _("Spot or Flex-start is requested here in a way that cannot be read; the job would run as Standard.")
    remedy = _("Give it as scheduling.strategy of the job, or take it out.")
    lost = Finding("strategy_not_read", Severity.ERROR, "", message, remedy, SOURCE, READ, line)
    return replace(reading, findings=(*reading.findings, lost))
