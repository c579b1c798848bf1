"""The compose page: a form becomes a spec, which is assessed while the user types and then requested."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Request, jobs_of
from dashboard.access.bounded_work import ASSESSMENTS, IMPORTS, bounded_work
from dashboard.access.form_owner import sign_form
from dashboard.access.loaders import MAX_KEY_LENGTH, typed_draft_for
from dashboard.forms.compose.form import Compose
from dashboard.forms.compose.job_form import new_key
from dashboard.forms.compose.rows import change_rows
from dashboard.forms.compose.text import fill_from_text, is_edited, without_text
from dashboard.pages.parts.assessed_form import AssessedForm, assess_form, placing_of
from dashboard.pages.parts.beginning import beginning
from dashboard.pages.parts.kept_form import EDITED_ELSEWHERE, save_typed, sign_in_first
from dashboard.pages.parts.reservable import find_dates
from dashboard.pages.parts.team_choice import requesting_teams, team_choices
from dashboard.pages.parts.where import compare_regions
from jobs import requests, tasks
from jobs.clock import database_now
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Draft, Job, Team
from jobs.requests import form_drafts
from jobs.spec import Finding, Severity
from jobs.spec.sweep import vary
from jobs.states import JobState


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def compose(request: HttpRequest) -> HttpResponse:
    """Show the form and handle what is posted. Without a session, keep the posted form and redirect to the sign-in."""
    return _compose(cast(Request, request)) if request.user.is_authenticated else sign_in_first(request)


def _compose(request: Request) -> HttpResponse:
    """Show the form. On POST, request the job, add or remove a row, or show the form again with its findings."""
    teams = requesting_teams(request)
    if request.method != "POST":
        if form_key := request.GET.get("form"):
            return _resume(request, teams, form_key)
        start = beginning(request, teams)
        assessed = _assess(request, teams, initial=start.initial, is_new=start.is_empty)
        assessed.form.whole += start.conflicts
        assessed.form.mark(start.fields, str(_("The failed job's diagnosis names this field.")))
        unfinished = form_drafts.list_forms(request.user) if start.is_empty else []
        shown = {"start_words": start.words, "cause": start.cause, "unfinished": unfinished, "now": timezone.now()}
        shown["last_folder"] = "" if "continue" in request.GET else start.folder
        return _show(request, assessed, shown)
    do = request.POST.get("do") or "submit"
    if do == "read" or (do == "submit" and is_edited(request.POST)):
        return _read_text(request, teams, is_final=do == "submit")
    if do in ("save", "copy"):
        return _save_and_resume(request, teams, as_copy=do == "copy")
    data, focus = change_rows(without_text(request.POST) if do == "rewrite" else request.POST, do)
    assessed = _assess(request, teams, data=data, is_final=do in ("submit", "validate"), was_posted=True)
    if do == "submit" and assessed.may_be_requested:
        return _request(request, assessed)
    assessed.form.focus(focus)
    return _show(request, assessed, _results(request, assessed, do), status=422 if do == "submit" else 200)


def _show(
    request: Request, assessed: AssessedForm, shown: Mapping[str, Any] | None = None, *, status: int = 200
) -> HttpResponse:
    """Render the page with the assessed form and the extra context `shown`."""
    token = sign_form(request.user, str(assessed.form.job["request_key"].value()))
    return render(request, "compose.html", {**assessed.context, **(shown or {}), "form_owner": token}, status=status)


def _results(request: Request, assessed: AssessedForm, do: str) -> dict[str, Any]:
    """Return what a button asks for: that the form was validated, the regions, or the dates of reservations."""
    now = timezone.now()
    if do == "where" or do.startswith("region_"):
        return {"where": compare_regions(assessed, now=now)}
    if do == "calendar":
        return {"calendar": find_dates(assessed.submission, request.POST.get("calendar_days", ""), now=now)}
    return {"is_validated": do == "validate"}


def _read_text(request: Request, teams: list[Team], *, is_final: bool) -> HttpResponse:
    """Show the form filled from the text of the request, or the text unchanged with the reason if it cannot be read.

    If the user submits a text that the form has not been filled from yet, show the filled form first, unless the text
    describes the same job as the form.
    """
    before = _assess(request, teams, data=request.POST)
    with bounded_work(IMPORTS, request.user):
        filled = fill_from_text(
            request.POST,
            before.submission,
            place=placing_of(before.form, before.team, before.context["project"], timezone.now()),
            project=before.context["project"],
            expected=before.form.expected,
        )
    form = Compose(teams=team_choices(teams), data=filled.data or request.POST, is_final=is_final, was_posted=True)
    form.is_from_text, form.text_findings = filled.data is not None, filled.findings
    with bounded_work(ASSESSMENTS, request.user):
        assessed = assess_form(form, teams, by=request.user, now=timezone.now())
    is_same = filled.data is not None and assessed.submission == before.submission
    if is_final and is_same and before.may_be_requested:
        return _request(request, before)
    if is_final:
        form.whole.append(_of_text(is_read=filled.data is not None))
    return _show(request, assessed, status=422 if is_final else 200)


def _of_text(*, is_read: bool) -> Finding:
    """Return the error for a submitted text that the form had not been filled from."""
    if is_read:
        words, remedy = _("The text of the request was edited; the form follows it now."), _("Submit it again.")
        return Finding("text_read", Severity.ERROR, "", str(words), str(remedy))
    words, remedy = _("The text of the request was edited and cannot be read."), _("See the message below.")
    return Finding("text_unread", Severity.ERROR, "", str(words), str(remedy))


def _request(request: Request, assessed: AssessedForm) -> HttpResponse:
    form = assessed.form
    assert assessed.submission is not None
    assert form.expected is not None
    form_key = form.job.cleaned_data["request_key"]
    key = requests.given_key(form_key)
    cloned_from = form.job.cleaned_data.get("cloned_from")
    # The key comes from a hidden field, so it may name any job. Use it only if the user may see that job.
    origin = jobs_of(request.user).filter(pk=cloned_from).first() if cloned_from else None
    plan = form.fallback.plan
    asked = requests.RequestOptions(
        assessed.team, request.user, form.expected, database_now(), origin, form.cap_usd, plan=plan
    )
    try:
        jobs = requests.request_jobs(vary(assessed.submission, form.sweep.arguments), asked, request_key=key)
    except NotAllowed as refusal:  # a limit changed since the assessment, or one job of a sweep is refused
        form.add_findings(refusal.findings)
        return _show(request, assessed, status=422)
    except NotPermitted as refusal:  # the user lost the role since the form was opened
        form.whole.append(Finding("not_permitted", Severity.ERROR, "", str(refusal)))
        return _show(request, assessed, status=422)
    form_drafts.delete_form(form_key, by=request.user)
    for job in jobs:
        tasks.enqueue_job(job.pk)
    return _lead_to(request, jobs)


def _lead_to(request: Request, jobs: Sequence[Job]) -> HttpResponse:
    """Add a message about what happens next, and redirect to the job, or to the board after a sweep."""
    waits = jobs[0].state == JobState.AWAITING_APPROVAL
    names = {"name": jobs[0].display_name, "last": jobs[-1].display_name, "count": len(jobs)}
    if len(jobs) == 1:
        words = _("%(name)s waits for an approval.") if waits else _("%(name)s is on its way.")
        messages.success(request, words % names)
        return redirect("job", jobs[0].pk)
    if waits:
        words = _("%(count)s jobs wait for one approval: %(name)s to %(last)s.")
    else:
        words = _("%(count)s jobs are on their way: %(name)s to %(last)s.")
    messages.success(request, words % names)
    return redirect("board")


def _resume(request: Request, teams: list[Team], form_key: str) -> HttpResponse:
    """Show a form as it was typed, or redirect to its job if it was requested since."""
    mine = jobs_of(request.user).filter(owner=request.user)
    if job := mine.filter(request_key__in=requests.keys_of_form(form_key)).first():
        messages.info(request, _("%(name)s was requested with this form.") % {"name": job.display_name})
        return redirect("job", job.pk)
    draft = typed_draft_for(request, form_key)
    data = (draft.fields or {}) | {"draft_version": str(draft.version)}
    assessed = _assess(request, teams, data=data)
    return _show(request, assessed, {"draft": draft})


def _save_and_resume(request: Request, teams: list[Team], *, as_copy: bool) -> HttpResponse:
    """Save the form as a draft without JavaScript. `as_copy` saves a second draft beside one edited elsewhere."""
    data = request.POST.dict() | ({"request_key": new_key(), "draft_version": ""} if as_copy else {})
    draft, problem = save_typed(request.user, teams, data)
    if draft is not None:
        return redirect(f"{reverse('compose')}?form={quote(draft.form_key)}")
    assessed = _assess(request, teams, data=data)
    return _show(request, assessed, _draft_words(None, problem), status=409)


@require_POST
def save_draft(request: Request) -> HttpResponse:
    """Save what is typed so far, or discard a draft. The browser's address then names the draft."""
    teams = requesting_teams(request)
    if discarded := request.POST.get("discard"):
        form_drafts.delete_form(discarded[:MAX_KEY_LENGTH], by=request.user)
        messages.success(request, _("The draft was discarded."))
        return redirect("compose")
    draft, problem = save_typed(request.user, teams, request.POST.dict())
    answer = HttpResponse(render_to_string("compose/draft.html", _draft_words(draft, problem) | {"swap": True}))
    if draft is not None:
        answer["HX-Replace-Url"] = f"{reverse('compose')}?form={quote(draft.form_key)}"
    return answer


def _draft_words(draft: Draft | None, problem: str) -> dict[str, Any]:
    """Return the context of the line about the draft."""
    return {"draft": draft, "draft_problem": problem, "may_copy": problem == str(EDITED_ELSEWHERE)}


@require_POST
def check(request: Request) -> HttpResponse:
    """Assess what is typed so far and return only the parts that show the result. Saves nothing."""
    teams = requesting_teams(request)
    assessed = _assess(request, teams, data=request.POST)
    return HttpResponse(render_to_string("compose/updates.html", assessed.context))  # none of it depends on the request


def _assess(request: Request, teams: list[Team], **options: Any) -> AssessedForm:
    """Return the form made by `Compose` with `options`, assessed for the user."""
    with bounded_work(ASSESSMENTS, request.user):
        form = Compose(teams=team_choices(teams), **options)
        return assess_form(form, teams, by=request.user, now=timezone.now())
