"""The schedules of a team: list, create from a template or a job, edit, pause, resume, run and delete."""

from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Request, can
from dashboard.access.form_start import Start, start_for
from dashboard.access.loaders import may_change_schedule, schedule_for, schedules_of
from dashboard.drawing.figures import dated
from dashboard.forms.schedule_form import ScheduleForm
from dashboard.queries.jobs import list_runs
from jobs import cron, tasks
from jobs.bounds import clean
from jobs.clock import database_now
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Schedule
from jobs.requests import schedules as verbs
from jobs.requests.fallback_attempts import get_plan
from jobs.requests.schedule_runs import run_now
from jobs.states import JobState
from jobs.strategies import strategy_of
from jobs.translations import translated

PAGE_SIZE = 50
PREVIEWED = 5
DEFAULT_RUN_TIME = timedelta(hours=1)
NOT_HERE = gettext_lazy("Open a template or a job and choose “Run on a schedule”.")
ACTIONS = {
    "pause": gettext_lazy("Pause"),
    "resume": gettext_lazy("Resume"),
    "run": gettext_lazy("Run now"),
    "delete": gettext_lazy("Delete"),
}
MAX_KEY_LENGTH = 36


@require_safe
def schedules(request: Request) -> HttpResponse:
    """List the schedules of the user's teams."""
    page = Paginator(schedules_of(request), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "schedules.html", {"now": database_now(), "page": page, "rows": list(page.object_list)})


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: Request) -> HttpResponse:
    """Show the form for a schedule of a template or a job. On POST, save it or preview its times."""
    start, now = start_for(request), database_now()
    if start is None:
        messages.info(request, NOT_HERE)
        return redirect("schedules")
    if not can(request.user, "request", start.team):
        raise PermissionDenied(_("Your role in this team lets you look at jobs; an engineer may schedule them."))
    form = ScheduleForm(request.POST or None, initial={"name": start.submission.display_name[:80]})
    if request.method == "POST" and form.is_valid() and request.POST.get("do") != "preview":
        try:
            row = _create(request, start, form, now)
        except verbs.NotUsable as refusal:
            form.add_error(refusal.field, str(refusal))
        else:
            messages.success(request, _("%(name)s is scheduled.") % {"name": row.name})
            return redirect("schedule", row.pk)
    return _form_page(request, form, now, {"start": start, "strategy": strategy_of(start.submission)})


def _create(request: Request, start: Start, form: ScheduleForm, now: datetime) -> Schedule:
    return verbs.create_schedule(
        form.times,
        submission=start.submission,
        team=start.team,
        by=request.user,
        expected=start.expected or DEFAULT_RUN_TIME,
        now=now,
        cap_usd=start.cap_usd,
        plan=None if start.cloned_from is None else get_plan(start.cloned_from),
    )


def _form_page(request: Request, form: ScheduleForm, now: datetime, context: dict[str, Any]) -> HttpResponse:
    """Show the form with the next times of the typed schedule."""
    times = form.times if form.is_bound and not form.errors else None
    problem = cron.problem_of(times.cron, times.time_zone, now) if times is not None else ""
    if times is not None and problem:
        form.add_error("time_zone" if "time zone" in problem else "cron", problem)
    upcoming = _upcoming(times.cron, times.time_zone, now, times.last_day) if times and not problem else []
    shown = {"form": form, "upcoming": upcoming}
    return render(request, "schedule_edit.html", context | shown, status=422 if form.errors else 200)


def _upcoming(expression: str, zone: str, now: datetime, last_day: date | None = None) -> list[str]:
    """Return the next times as text in the given time zone."""
    found = islice(cron.moments(expression, zone, now), PREVIEWED)
    local = (moment.astimezone(ZoneInfo(zone)) for moment in found)
    return [
        f"{dated(each, 'D d M Y')}, {each:%H:%M %Z}" for each in local if last_day is None or each.date() <= last_day
    ]


@require_safe
def schedule(request: Request, pk: UUID) -> HttpResponse:
    """Show a schedule, its next run and the results of its runs."""
    row, now = schedule_for(request, pk), database_now()
    context = {
        "row": row,
        "now": now,
        "upcoming": _upcoming(row.cron, row.time_zone, now, row.last_day) if row.is_enabled else [],
        "runs": list_runs(row),
        "may_change": may_change_schedule(request, row),
    }
    return render(request, "schedule.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: Request, pk: UUID) -> HttpResponse:
    """Edit the name and times of a schedule. On POST, save them or preview the times."""
    row, now = schedule_for(request, pk, to_change=True), database_now()
    initial = {name: getattr(row, name) for name in ScheduleForm.base_fields}
    form = ScheduleForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid() and request.POST.get("do") != "preview":
        try:
            verbs.change_schedule(row, form.cleaned_data, by=request.user, now=now)
        except verbs.NotUsable as refusal:
            form.add_error(refusal.field, str(refusal))
        else:
            messages.success(request, _("Saved %(name)s.") % {"name": form.times.name})
            return redirect("schedule", row.pk)
    return _form_page(request, form, now, {"row": row})


@require_http_methods(["GET", "HEAD", "POST"])
def act(request: Request, pk: UUID, action: str) -> HttpResponse:
    """Pause, resume, run or delete a schedule. A GET asks for confirmation."""
    row = schedule_for(request, pk, to_change=True)
    if action not in ACTIONS:
        raise Http404("no such action")
    if request.method != "POST":
        context = {"row": row, "action": action, "verb": ACTIONS[action], "key": uuid4()}
        return render(request, "schedule_act.html", context)
    try:
        _act(request, row, action)
    except NotAllowed as refusal:
        messages.error(request, _("It was not requested. %(errors)s") % {"errors": translated(refusal.errors)})
        return redirect("schedule", row.pk)
    except (verbs.NotUsable, NotPermitted) as refusal:
        messages.warning(request, str(refusal))
        return redirect("schedule", row.pk)
    done = {
        "pause": _("Paused %(name)s."),
        "resume": _("Resumed %(name)s."),
        "run": _("Requested the job of %(name)s."),
        "delete": _("Deleted %(name)s."),
    }[action]
    messages.success(request, done % {"name": row.name})
    return redirect("schedules") if action == "delete" else redirect("schedule", row.pk)


def _act(request: Request, row: Schedule, action: str) -> None:
    if action == "pause":
        verbs.pause_schedule(row, by=request.user, now=database_now())
    elif action == "resume":
        verbs.resume_schedule(row, by=request.user, now=database_now())
    elif action == "run":
        # The request key of the page makes a second click find the job of the first.
        key = f"run-{clean(request.POST.get('key', ''))[:MAX_KEY_LENGTH] or uuid4()}"
        job = run_now(row, by=request.user, now=database_now(), request_key=key)
        if job.state == JobState.APPROVED:
            tasks.enqueue_job(job.pk)
    else:
        verbs.delete_schedule(row, by=request.user)
