"""The import page: text that describes a job becomes findings by line, a REST body, and a draft for the form."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, NamedTuple

from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from dashboard.access import Request
from dashboard.access.bounded_work import IMPORTS, bounded_work
from dashboard.drawing.source import Line, listing
from dashboard.forms.compose.job_form import FORMAT_WORDS
from dashboard.forms.import_form import TOO_LARGE, ImportForm
from dashboard.forms.uploads import Files, FirstBytes, Given, as_lines, joined, read_all
from dashboard.pages.parts.team_choice import requesting_teams, team_choices
from jobs import importer, requests, strategies
from jobs.assessment import Assessment, assess
from jobs.clock import database_now
from jobs.exporter import FORMATS
from jobs.importer import Reading
from jobs.models import Team
from jobs.requests import imported_drafts
from jobs.requests.placing import OTHER_PROJECT, Place, place
from jobs.spec import Finding, Severity, Submission

MAX_OPEN_VALUES = 40
"""Placeholders that the page offers to fill in; all of them are findings."""
FILL = "fill:"
"""Prefix of the names of the fields that fill in placeholders, before the path of each."""
OPEN = frozenset({"placeholder", "open_project", "project_assumed", "region_assumed", "config_elsewhere"})
"""Codes of findings about values that the text leaves open."""
UNNAMED = _("without a name")
NAME = "imported-job"
"""Display name of a pasted job that has none. A file gives its own name."""


class Group(NamedTuple):
    """Findings of one kind under a heading."""

    title: str
    findings: list[Finding]


class OpenValue(NamedTuple):
    """A placeholder that a person may fill in: its field, its text, and where it stands in the text."""

    path: str
    text: str
    line: int | None

    @property
    def name(self) -> str:
        """Name of the field of the page."""
        return f"{FILL}{self.path}"


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of reading a text: its lines, findings by line and in groups, policy outcome and body."""

    reading: Reading
    format_label: str
    submission: Submission | None
    assessment: Assessment | None
    groups: list[Group]
    open_values: list[OpenValue]
    filled: dict[str, str]
    lines: list[Line]
    counts: dict[str, int]
    strategy: str = ""

    picks: tuple[tuple[str, str], ...] = ()
    """Every job in the text as (value of `pick`, label)."""
    picked: str = ""


@csrf_exempt  # the inner view is protected; this one limits the size of the body first
@require_http_methods(["GET", "HEAD", "POST"])
def import_job(request: Request) -> HttpResponse:
    """Show the form. On POST, show what was read. A body that is too large is refused before it is read."""
    request.upload_handlers = [FirstBytes(request)]
    try:
        return _import(request)
    except RequestDataTooBig:
        form = ImportForm(teams=team_choices(requesting_teams(request)))
        return render(request, "import.html", {"form": form, "problem": TOO_LARGE}, status=413)


@csrf_protect
def _import(request: Request) -> HttpResponse:
    teams = requesting_teams(request)
    context: dict[str, Any]
    if request.method != "POST":
        return render(request, "import.html", {"form": ImportForm(teams=team_choices(teams))})
    form = ImportForm(request.POST, request.FILES, teams=team_choices(teams))
    form.is_valid()
    if problem := next((str(form.errors[name][0]) for name in ("file", "text") if name in form.errors), ""):
        context = {"form": _again(form, teams, ""), "problem": problem}
        return render(request, "import.html", context, status=413 if problem == str(TOO_LARGE) else 422)
    team = next((each for each in teams if str(each.pk) == form.cleaned_data.get("team")), teams[0])
    given = form.given()
    with bounded_work(IMPORTS, request.user):
        found = _read(given, team, form, request.POST)
    context = {"form": _again(form, teams, joined(given)), "team": team, "found": found, "now": database_now()}
    if found.submission is not None:
        context |= _kept(request, found, team, form)
    return render(request, "import.html", context, status=200 if found.submission is not None else 422)


def _again(form: ImportForm, teams: list[Team], text: str) -> ImportForm:
    """Return the form with `text` in place of what was pasted or uploaded, to read it again."""
    entered = {name: form.data.get(name, "") for name in ("run_time", "team")}
    again = ImportForm({**entered, "text": text}, teams=team_choices(teams))
    again.is_valid()
    return again


def _one(each: Given, files: Files, job: str = "") -> Reading:
    return importer.read_text(each.content, name=PurePath(each.name).stem or NAME, files=files, job=job)


def _chosen(given: list[Given], pick: str) -> tuple[Given, Reading, tuple[tuple[str, str], ...], str]:
    """Return the selected text, the reading of the selected job, all choices, and the key of the selected one."""
    found = read_all(given, _one)
    picks = {
        f"{place}.{number}": " ".join(
            (each.name, _("line %(line)s:") % {"line": job.line}, job.name or str(UNNAMED))
        ).strip()
        for place, (each, reading) in enumerate(found, 1)
        for number, job in enumerate(reading.jobs, 1)
    }
    first = next(iter(picks), "1.1")
    picked = pick if pick in picks else first
    place, number = picked.split(".")
    each, reading = found[int(place) - 1]
    if number != "1":
        meant = read_all(given, lambda one, files: _one(one, files, number if one is each else ""))
        reading = next(other for one, other in meant if one is each)
    return each, reading, tuple(picks.items()), picked


def _read(several: list[Given], team: Team, form: ImportForm, posted: Mapping[str, Any]) -> Imported:
    """Read the text, fill in the posted placeholders, assess the job, and place every finding at its line."""
    (_name, given), reading, picks, picked = _chosen(several, form.cleaned_data.get("pick", ""))
    filled = {name.removeprefix(FILL): str(value) for name, value in posted.items() if name.startswith(FILL) and value}
    filled = {path: value for path, value in filled.items() if reading.placeholders.get(path) not in (None, value)}
    reading = reading.filled(filled)
    assessment, submission = None, None
    findings = list(reading.findings)
    if reading.submission is not None:
        placed, notes = place(reading.submission, team, Place())
        submission = replace(placed, confirmed=frozenset())
        context = requests.load_context(team, submission)
        assessment = assess(submission, context, expected=form.cleaned_data.get("run_time"))
        findings = [*notes, *_place_rules(reading, assessment.findings)]
    findings = list(dict.fromkeys(findings))
    return Imported(
        reading=reading,
        format_label=_format_label(reading),
        submission=submission,
        assessment=assessment,
        groups=_grouped(findings),
        open_values=[
            OpenValue(path, words, reading.line_of(path))
            for path, words in list(reading.placeholders.items())[:MAX_OPEN_VALUES]
        ],
        filled=filled if reading.submission is not None else {},
        lines=listing(as_lines(given), findings) if reading.format else [],
        counts={str(severity): sum(each.severity is severity for each in findings) for severity in Severity},
        strategy=strategies.strategy_of(submission).label if submission else "",
        picks=picks,
        picked=picked,
    )


def _grouped(findings: Sequence[Finding]) -> list[Group]:
    """Return the findings that decide first: what is wrong, what is open, what needs an approval, and the rest.

    Of the rest, what the text itself caused comes before what the rules find in most jobs.
    """
    groups = [Group(str(title), []) for title in (_("Wrong"), _("Open"), _("Needs approval"), _("Worth knowing"))]
    for finding in sorted(findings, key=lambda each: each.source != importer.SOURCE):
        if finding.code in OPEN or finding.code.startswith("placeholders_are_filled"):
            groups[1].findings.append(finding)
        else:
            groups[{Severity.ERROR: 0, Severity.APPROVAL: 2, Severity.NOTE: 3}[finding.severity]].findings.append(
                finding
            )
    return [group for group in groups if group.findings]


def _place_rules(reading: Reading, rules: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the reading and of the rules at their lines. A finding about the whole has no line."""
    whole = {finding.code for finding in rules if not finding.field}
    return [
        replace(finding, line=None) if finding.code in whole and not finding.field else finding
        for finding in reading.with_rules(rules, confirmed=())
    ]


def _kept(request: Request, found: Imported, team: Team, form: ImportForm) -> dict[str, Any]:
    """Save a draft for the compose form. Return it with the body as text, or why it could not be saved.

    A project that the team may not use is kept, so that the form refuses it too instead of taking the default one.
    """
    submission, named = found.submission, found.reading.submission
    assert submission is not None
    assert named is not None
    if any(finding.code == OTHER_PROJECT for group in found.groups for finding in group.findings):
        submission = replace(submission, project=named.project)
    try:
        draft = imported_drafts.save_draft(
            submission=submission,
            left_out=found.reading.left_out,
            team=team,
            by=request.user,
            now=database_now(),
            expected=form.cleaned_data.get("run_time"),
        )
    except imported_drafts.NotKept as refusal:
        return {"not_kept": str(refusal)}
    return {"draft": draft, "body_text": json.dumps(draft.spec, indent=2, ensure_ascii=False)}


def _format_label(reading: Reading) -> str:
    """Return the name of the text's format, or "" if nothing in the text belongs to a job."""
    if all(each.code == "no_job" for each in reading.findings):
        return ""
    return str(FORMAT_WORDS.get(reading.format, FORMATS[reading.format].label)) if reading.format in FORMATS else ""
