"""Any text to a job and findings: recognises the format, reads it, tidies it, and checks it as `jobs.spec` does.

Never raises, whatever the text; bounded in size, depth and number of values.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain

from jobs.convert.commands.curl_command import read_curl
from jobs.convert.commands.gcloud_command import read_gcloud
from jobs.convert.sdk.custom_jobs import custom_job
from jobs.convert.sdk.parsing import is_whole
from jobs.convert.sdk.reading import read_python
from jobs.convert.texts.asked import CHEAPER, lost_request
from jobs.convert.texts.assumptions import assumed, told_by
from jobs.convert.texts.choosing import choose, named
from jobs.convert.texts.decode import decode
from jobs.convert.texts.foreign import explain
from jobs.convert.texts.forms import identify, listed_jobs, looks_like, refusal
from jobs.convert.texts.inside import inside
from jobs.convert.texts.json_text import read_json
from jobs.convert.texts.nodes import READ, SOURCE, Draft, Node, Notes, excess, folded, most_jobs, plain
from jobs.convert.texts.notebook import notebook
from jobs.convert.texts.pages import IN_BLOCK, INDENTED, Part, blocks, names_a_job, objects_in_prose
from jobs.convert.texts.read import Reading
from jobs.convert.texts.recognise import command_in_comment, comment_line, recognise, unfenced
from jobs.convert.texts.tidy import Tidier
from jobs.convert.texts.yaml_text import read_yaml
from jobs.spec import KINDS, Finding, Severity, Submission, read, refuses, rest_body
from jobs.spec.submission import reserved_region

Files = Callable[[str], str | None]
IN_PYTHON = re.compile(r"\b(?:None|True|False)\b|\w\(|\bf[\"']|\*\*\w")
"""What a Python literal holds and no JSON does."""


def read_text(
    text: str | bytes,
    *,
    name: str = "",
    project: str = "",
    region: str = "",
    files: Files = lambda _: None,
    job: str = "",
) -> Reading:
    """Read a job from a text in any of the formats.

    `name` is the display name for forms that have none, such as gcloud's config files; `project` and `region` count
    where the text names none; `files` gives the text of a file that a command names, or None; `job` is the number or
    the name of the job that is meant, where the text has several.
    """
    notes = Notes()
    decoded = decode(text, notes)
    if decoded is None:
        return Reading("", "", "", None, {}, tuple(notes.result()))
    decoded, shell, found, whole = _unwrapped(decoded, notes)
    shown = [] if whole or found not in ("python", "gcloud-yaml", "curl") else objects_in_prose(decoded)
    parts = [] if whole else blocks(decoded) or (shown if found != "curl" else [])
    beside = files if found != "curl" or len(shown) != 1 else lambda name: files(name) or shown[0].text
    started, texts = len(notes.findings), [decoded, shell]
    drafts, heading = ([], None) if parts else _drafts(found, decoded, notes, beside)
    if not drafts:
        unread = any(note.code.startswith("unreadable") for note in notes.findings)
        inner = inside(found, decoded, shell, broken=bool(parts) or unread or found in ("gcloud", "curl"))
        found, drafts, texts = _drafts_inside(found, chain(parts, inner), notes, started, files, texts)
        if not drafts and parts and len(notes.findings) == started:
            drafts, heading = _drafts(found, decoded, notes, files)
    draft = choose(drafts, job, notes)
    if draft is None:
        if not drafts:
            explain(decoded, started, notes)
        return Reading(found, "", "", None, {}, tuple(notes.result()), jobs=named(drafts))
    if heading is not None and draft is drafts[0]:
        draft = _with_heading(draft, heading, notes)
    bodies = [each.body for each in drafts if not excess(each.body)]
    return replace(_asked(_finish(found, draft, notes, name, project, region), texts, bodies), jobs=named(drafts))


def _unwrapped(text: str, notes: Notes) -> tuple[str, str, str, bool]:
    """Return a text, a notebook's as its Python and its commands, its format, and whether it is one program."""
    cells = notebook(text)
    if cells is not None and cells.broken:
        message = "The notebook's file is no JSON here; what of its cells can be read is read."
        notes.advise("broken_notebook", cells.broken, message, "Save it anew from a notebook editor.")
    if cells is not None:
        return cells.python, cells.shell, "python", True
    found = recognise(text := unfenced(text))
    is_python = found == "python" or (found == "rest" and IN_PYTHON.search(text) is not None)
    whole = is_python and is_whole(text)
    return text, "", "python" if whole else found, whole


def _asked(reading: Reading, texts: list[str], bodies: list[Node]) -> Reading:
    """Refuse a job that would run as Standard though its text asks for Spot or Flex-start somewhere."""
    submission = reading.submission
    if submission is None or submission.job_spec.scheduling.strategy in CHEAPER:
        return reading
    lines = (lost_request(text, is_python=reading.format == "python", bodies=bodies) for text in texts)
    if not (line := next((line for line in lines if line), 0)):
        return reading
    message = "Spot or Flex-start is asked for here, in a way that is not read; the job would run as Standard."
    remedy = "Give it as scheduling.strategy of the job, or take it out."
    lost = Finding("strategy_not_read", Severity.REFUSE, "", message, remedy, SOURCE, READ, line)
    return replace(reading, findings=(*reading.findings, lost))


def _drafts_inside(
    found: str, parts: Iterable[Part], notes: Notes, started: int, files: Files, texts: list[str]
) -> tuple[str, list[Draft], list[str]]:
    """Return the format, the jobs of the first part that holds any, and the texts they are from.

    The notes of that part take the place of the text's own; where no part holds a job, those of the first block of a
    page do, which was meant to be read. The jobs of further blocks of a page come after those of the first.
    """
    kept, jobs, first = None, [], None
    for part in parts:
        if first is not None and (part.where != first.where or part.where not in (IN_BLOCK, INDENTED)):
            break
        scratch, config = Notes(), part.config
        beside = files if config is None else lambda name, config=config: files(name) or config
        own = _identify(part.node, scratch) if part.node is not None else None
        drafts = [own] if own is not None else [] if part.node else _drafts(part.format, part.text, scratch, beside)[0]
        if first is not None and (config is not None or part.format != first.format):
            texts = [*texts, part.text]
            continue  # it is shown once more, or in another language
        if drafts:
            jobs += [draft._replace(form=draft.form + part.where) for draft in drafts]
        if drafts and first is None:
            first, found = part, part.format or found
            texts = [part.text] if part.where in (IN_BLOCK, INDENTED) else texts
            notes.findings[started:] = scratch.findings
            notes.left_out = scratch.left_out
        hidden = any(note.code == "unclosed_quote" for note in scratch.findings)
        meant = hidden or (part.where == IN_BLOCK and names_a_job(part.text))
        kept = kept or (scratch if meant and refuses(scratch.findings) else None)
    if kept is not None and first is None:
        notes.findings[started:] = kept.findings
    return found, jobs, texts


def _drafts(found: str, text: str, notes: Notes, files: Files) -> tuple[list[Draft], Draft | None]:
    """Return the jobs of a text, and what the command in the comment at its head says, for YAML."""
    heading = None
    if found == "gcloud":
        drafts = read_gcloud(text, notes, _config, files)
    elif found == "curl":
        drafts = read_curl(text, notes, _identify, files)
    elif found == "python":
        drafts = read_python(text, notes, _identify).drafts
    else:
        drafts, heading = _documents(found, text, notes)
    if not drafts and not refuses(notes.findings):
        remedy = "Give YAML, JSON, a gcloud or curl command, or SDK Python."
        notes.refuse("no_job", 1, "No job was found in it.", remedy)
    return drafts, heading


def _documents(found: str, text: str, notes: Notes) -> tuple[list[Draft], Draft | None]:
    documents = listed_jobs(read_json(text, notes) if found == "rest" else read_yaml(text, notes))
    drafts: list[Draft] = []
    for document in documents[: most_jobs(text)]:
        own = Notes()
        draft = _identify(document, own)
        if draft is not None:
            drafts.append(draft._replace(notes=own))
        else:
            notes.findings.extend(own.findings)
    if documents and not drafts:
        notes.refuse("no_job", documents[0].line, refusal(documents[0]), "Give a CustomJob or one of its siblings.")
    command = command_in_comment(text) if found == "gcloud-yaml" and drafts else ""
    if found == "gcloud-yaml" and drafts and (line := comment_line(text, after_heading=bool(command))):
        notes.advise("comments", line, "Comments are not kept.")
    headings = read_gcloud(command, Notes(), lambda *_: None, lambda _: None) if command else []
    return drafts, headings[0] if headings else None


def _identify(node: Node, notes: Notes) -> Draft | None:
    if words := excess(node):
        notes.refuse("too_much", node.line, words, "Give one job.")
        return None
    return identify(node, notes, custom_job)


def _config(text: str, line: int, notes: Notes) -> Draft | None:
    """Read what gcloud's --config holds."""
    is_json = text.lstrip().startswith("{")
    documents = read_json(text, notes, line) if is_json else read_yaml("\n" * (line - 1) + text, notes)
    if documents and looks_like(documents[0]) == "training" and not excess(documents[0]):
        return Draft("training", documents[0], "a TrainingInput")
    draft = _identify(documents[0], notes) if documents else None
    if documents and draft is None and isinstance(documents[0].value, dict) and not excess(documents[0]):
        spec = Node({"jobSpec": documents[0]}, documents[0].line)
        return Draft("custom_job", spec, "what should be a CustomJobSpec")
    return draft


def _with_heading(draft: Draft, heading: Draft, notes: Notes) -> Draft:
    """Take from the command in a comment what the config file itself cannot hold."""
    if not isinstance(draft.body.value, dict) or heading.kind != draft.kind:
        return draft
    given = {folded(name) for name in draft.body.value}
    names = ("displayName", "labels", "encryptionSpec")
    taken = {key: node for key, node in heading.body.value.items() if key in names and folded(key) not in given}
    if taken or heading.region or heading.project:
        message = "The command in the comment at the head is read, too: it gives what the file itself cannot hold."
        notes.advise("command_in_comment", 1, message)
    project, region = draft.project or heading.project, draft.region or heading.region
    return draft._replace(body=Node({**taken, **draft.body.value}, draft.body.line), project=project, region=region)


def _finish(found: str, draft: Draft, notes: Notes, name: str, project: str, region: str) -> Reading:
    if words := excess(draft.body):
        notes.refuse("too_much", draft.body.line, words, "Give one job.")
        return Reading(found, draft.form, draft.kind, None, {}, tuple(notes.result()))
    tidier = Tidier(notes)
    tree = tidier.message(KINDS[draft.kind], draft.body)
    tree = assumed(told_by(found, draft.form), draft.kind, tree, name, notes)
    job, findings = read(draft.kind, plain(tree))
    reading = Reading(
        found, draft.form, draft.kind, None, {}, (), tuple(tidier.holes), draft.unseen, tidier.holes, tree=tree
    )
    told = tuple(reading.located(finding) for finding in (*notes.result(), *findings))
    if job is None:
        return replace(reading, findings=told)
    submission = Submission(draft.kind, draft.project or project, draft.region, job)
    submission = replace(submission, region=draft.region or reserved_region(submission) or region)
    return replace(reading, submission=submission, body=rest_body(job), findings=told)
