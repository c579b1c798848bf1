"""Any text to a job and findings: recognises the format, reads it, tidies it, and checks it as `jobs.spec` does.

Never raises, whatever the text; bounded in size, depth and number of values.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain

from jobs.convert.commands.curl_command import read_curl
from jobs.convert.commands.gcloud_command import read_gcloud
from jobs.convert.sdk.custom_jobs import custom_job
from jobs.convert.sdk.parsing import is_whole
from jobs.convert.sdk.reading import read_python
from jobs.convert.texts.assumptions import assumed, told_by
from jobs.convert.texts.belonging import at_home
from jobs.convert.texts.decode import decode
from jobs.convert.texts.foreign import explain
from jobs.convert.texts.forms import identify, listed_jobs, refusal
from jobs.convert.texts.inside import inside
from jobs.convert.texts.json_text import read_json
from jobs.convert.texts.nodes import Draft, Node, Notes, excess, folded, plain
from jobs.convert.texts.notebook import notebook
from jobs.convert.texts.pages import IN_BLOCK, Part, blocks, names_a_job
from jobs.convert.texts.read import Reading
from jobs.convert.texts.recognise import command_in_comment, comment_line, recognise, unfenced
from jobs.convert.texts.tidy import Tidier
from jobs.convert.texts.yaml_text import read_yaml
from jobs.spec import KINDS, Submission, read, refuses, rest_body

Files = Callable[[str], str | None]


def read_text(
    text: str | bytes, *, name: str = "", project: str = "", region: str = "", files: Files = lambda _: None
) -> Reading:
    """Read a job from a text in any of the formats.

    `name` is the display name for forms that have none, such as gcloud's config files; `project` and `region` count
    where the text names none; `files` gives the text of a file that a command names, or None.
    """
    notes = Notes()
    decoded = decode(text, notes)
    if decoded is None:
        return Reading("", "", "", None, {}, tuple(notes.result()))
    cells = notebook(decoded)
    if cells is not None and cells.broken:
        message = "The notebook's file is no JSON here; what of its cells can be read is read."
        notes.advise("broken_notebook", cells.broken, message, "Save it anew from a notebook editor.")
    decoded = cells.python if cells is not None else unfenced(decoded)
    found = "python" if cells is not None else recognise(decoded)
    parts = [] if cells is not None or (found == "python" and is_whole(decoded)) else blocks(decoded)
    started = len(notes.findings)
    draft, heading = (None, None) if parts else _draft(found, decoded, notes, files)
    if draft is None:
        shell = cells.shell if cells is not None else ""
        broken = (
            bool(parts)
            or found in ("gcloud", "curl")
            or any(note.code.startswith("unreadable") for note in notes.findings)
        )
        found, draft = _draft_inside(
            found, chain(parts, inside(found, decoded, shell, broken=broken)), notes, started, files
        )
        if draft is None and parts and len(notes.findings) == started:
            draft, heading = _draft(found, decoded, notes, files)
    if draft is None:
        explain(decoded, started, notes)
        return Reading(found, "", "", None, {}, tuple(notes.result()))
    if heading is not None:
        draft = _with_heading(draft, heading, notes)
    return _finish(found, draft, notes, name, project, region)


def _draft_inside(
    found: str, parts: Iterable[Part], notes: Notes, started: int, files: Files
) -> tuple[str, Draft | None]:
    """Return the format and the job of the first part that holds one; its notes take the place of the text's own.

    Where none does, those of the first block of a page do, which was meant to be read.
    """
    kept = None
    for part in parts:
        scratch = Notes()
        config = part.config
        beside = files if config is None else lambda name, config=config: files(name) or config
        draft = (
            _identify(part.node, scratch)
            if part.node is not None
            else _draft(part.format, part.text, scratch, beside)[0]
        )
        if draft is not None:
            notes.findings[started:] = scratch.findings
            notes.left_out = scratch.left_out
            return part.format or found, draft._replace(form=draft.form + part.where)
        hidden = any(note.code == "unclosed_quote" for note in scratch.findings)
        meant = hidden or (part.where == IN_BLOCK and names_a_job(part.text))
        kept = kept or (scratch if meant and refuses(scratch.findings) else None)
    if kept is not None:
        notes.findings[started:] = kept.findings
    return found, None


def _draft(found: str, text: str, notes: Notes, files: Files) -> tuple[Draft | None, Draft | None]:
    """Return the first job of a text, and what the command in the comment at its head says, for YAML."""
    if found == "gcloud":
        return _first(read_gcloud(text, notes, _config, files), notes), None
    if found == "curl":
        return _first(read_curl(text, notes, _identify, files), notes), None
    if found == "python":
        return _first(read_python(text, notes, _identify).drafts, notes), None
    documents = listed_jobs(read_json(text, notes) if found == "rest" else read_yaml(text, notes))
    drafts = [draft for document in documents if (draft := _identify(document, notes)) is not None]
    if documents and not drafts:
        notes.refuse("no_job", documents[0].line, refusal(documents[0]), "Give a CustomJob or one of its siblings.")
    command = command_in_comment(text) if found == "gcloud-yaml" and drafts else ""
    if found == "gcloud-yaml" and drafts and (line := comment_line(text, after_heading=bool(command))):
        notes.advise("comments", line, "Comments are not kept.")
    scratch = Notes()
    headings = read_gcloud(command, scratch, lambda *_: None, lambda _: None) if command else []
    rest = [Draft("further", draft.body, draft.form) for draft in drafts[1:]]
    return _first([*drafts[:1], *rest], notes), headings[0] if headings else None


def _identify(node: Node, notes: Notes) -> Draft | None:
    if words := excess(node):
        notes.refuse("too_much", node.line, words, "Give one job.")
        return None
    return identify(node, notes, custom_job)


def _config(text: str, line: int, notes: Notes) -> Draft | None:
    """Read what gcloud's --config holds."""
    is_json = text.lstrip().startswith("{")
    documents = read_json(text, notes, line) if is_json else read_yaml("\n" * (line - 1) + text, notes)
    draft = _identify(documents[0], notes) if documents else None
    if documents and draft is None and isinstance(documents[0].value, dict) and not excess(documents[0]):
        spec = Node({"jobSpec": documents[0]}, documents[0].line)
        return Draft("custom_job", spec, "what should be a CustomJobSpec")
    return draft


def _first(drafts: list[Draft], notes: Notes) -> Draft | None:
    for further in drafts[1:]:
        message = "Another job begins here; one is read at a time."
        notes.advise("further_job", further.body.line, message, "Give each job on its own.")
    if not drafts and not refuses(notes.findings):
        notes.refuse(
            "no_job", 1, "No job was found in it.", "Give YAML, JSON, a gcloud or curl command, or SDK Python."
        )
    return drafts[0] if drafts and drafts[0].kind in KINDS else None


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
        found, draft.form, draft.kind, None, {}, (), tuple(tidier.holes), draft.unseen, tidier.holes, tree
    )
    told = tuple(reading.located(at_home(finding)) for finding in (*notes.result(), *findings))
    if job is None:
        return replace(reading, findings=told)
    submission = Submission(draft.kind, draft.project or project, draft.region or region, job)
    return replace(reading, submission=submission, body=rest_body(job), findings=told)
