"""The question whether a running job still works. Messages link to it; only what is posted answers it."""

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from dashboard.access import Request, job_for, role_in
from dashboard.pages.parts.cancelling import may_cancel
from dashboard.pages.parts.forbidding import forbidding
from jobs import timeline
from jobs.bounds import parse_digits
from jobs.clock import database_now, display_now
from jobs.models import Job
from jobs.requests.declared_fine import FINE_FOR, HOUR, MAX_FINE_FOR, MAX_FINE_IN_ALL, declare_fine, may_declare_fine

OFFERED_HOURS = (1, 6, 12, 24)
HOURS_OF_LEADS = (72, 168, 336)
"""Offered besides to leads, for a job that is not their own."""


@require_http_methods(["GET", "HEAD", "POST"])
def still_working(request: Request, pk: UUID) -> HttpResponse:
    """Show the question with its evidence. On POST, declare the job fine for the chosen hours."""
    job = job_for(request, pk, joined=("health",))
    if request.method == "POST":
        return _answer(request, job)
    now, is_own = display_now(), job.owner_id == request.user.pk
    context = {
        "job": job,
        "now": now,
        "warning": timeline.warning_of(job, now),
        "may_answer": may_declare_fine(job, by=request.user, role=role_in(request.user, job.team)),
        "may_cancel": may_cancel(request, job),
        "choices": OFFERED_HOURS if is_own else OFFERED_HOURS + HOURS_OF_LEADS,
        "most_hours": MAX_FINE_FOR // HOUR,
        "hours_in_all": MAX_FINE_IN_ALL // HOUR,
    }
    return render(request, "still_working.html", context)


def _answer(request: Request, job: Job) -> HttpResponse:
    hours = parse_digits(request.POST.get("hours", str(FINE_FOR // HOUR)), 4) or 0
    try:
        with forbidding():
            is_declared = declare_fine(job, by=request.user, now=database_now(), length=timedelta(hours=hours))
    except ValueError as refusal:
        messages.error(request, str(refusal))
        return redirect("job-fine", job.pk)
    if is_declared:
        words = ngettext(
            "Nothing is reported about %(name)s for %(hours)s hour.",
            "Nothing is reported about %(name)s for %(hours)s hours.",
            hours,
        )
        messages.success(request, words % {"name": job.display_name, "hours": hours})
    else:
        messages.warning(request, _("%(name)s does not run, or is being cancelled.") % {"name": job.display_name})
    return redirect("job", job.pk)
