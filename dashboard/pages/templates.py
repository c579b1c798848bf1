"""The templates of a team: list, save from a job, rename, replace and delete."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Request, can, job_for
from dashboard.access.form_start import expected_of
from dashboard.access.loaders import template_for, templates_of
from dashboard.forms.template_form import TemplateForm
from jobs import requests, strategies
from jobs.clock import database_now
from jobs.models import Job, Template
from jobs.requests import templates as verbs
from jobs.spec.secrets import mask_secrets

PAGE_SIZE = 50
DEFAULT_RUN_TIME = timedelta(hours=1)
"""Run time of a template whose job has none, such as a job adopted before it ran."""
MAY_NOT_SAVE = _("Your role in this team lets you look at jobs; an engineer may save them as templates.")


@dataclass(frozen=True, slots=True)
class Row:
    """A template with the key of its strategy and the machines of its spec."""

    template: Template
    strategy: str
    machines: str
    may_change: bool


@require_safe
def templates(request: Request) -> HttpResponse:
    """List the templates of the user's teams."""
    page = Paginator(templates_of(request.user), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [_row(template) for template in page.object_list]
    return render(request, "templates.html", {"now": database_now(), "page": page, "rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
def template(request: Request, pk: int) -> HttpResponse:
    """Show a template. On POST, change its name and note."""
    kept = template_for(request, pk, "request" if request.method == "POST" else "see")
    form = TemplateForm(_posted(request), initial={"name": kept.name, "note": kept.note})
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            verbs.rename(kept, name=data["name"], note=data["note"], by=request.user, now=database_now())
        except verbs.NameNotUsable as refusal:
            form.add_error("name", str(refusal))
        else:
            messages.success(request, _("Saved %(name)s.") % {"name": kept.name})
            return redirect("templates")
    context = {
        "now": database_now(),
        "form": form,
        "row": _row(kept, may_change=can(request.user, "request", kept.team)),
        "spec_text": json.dumps(mask_secrets(kept.spec), indent=2, ensure_ascii=False),
    }
    return render(request, "template.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: Request, pk: int) -> HttpResponse:
    """Show a confirmation. On POST, delete the template."""
    kept = template_for(request, pk, "request")
    if request.method != "POST":
        return render(request, "template_delete.html", {"row": _row(kept, may_change=True)})
    verbs.delete(kept, by=request.user)
    messages.success(request, _("Deleted the template %(name)s.") % {"name": kept.name})
    return redirect("templates")


@require_http_methods(["GET", "HEAD", "POST"])
def save(request: Request, pk: UUID) -> HttpResponse:
    """Save a job's spec as a template of its team. `do=replace` replaces the template with that name."""
    job = job_for(request, pk)
    if not can(request.user, "request", job.team):
        raise PermissionDenied(MAY_NOT_SAVE)
    form = TemplateForm(_posted(request), initial={"name": job.display_name[:80]})
    context: dict[str, Any] = {"job": job, "form": form}
    if request.method == "POST" and form.is_valid():
        try:
            saved = _save(request, job, form.cleaned_data)
        except verbs.NameTaken as taken:
            form.add_error("name", str(taken))
            context["taken"] = taken.template
        except verbs.NameNotUsable as refusal:
            form.add_error("name", str(refusal))
        else:
            messages.success(
                request, _("Saved %(name)s as a template of %(team)s.") % {"name": saved.name, "team": job.team}
            )
            return redirect("templates")
    return render(request, "template_save.html", context, status=422 if form.errors else 200)


def _posted(request: Request) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _save(request: Request, job: Job, data: dict[str, Any]) -> Template:
    """Save the job's spec under the typed name. Raise NameNotUsable."""
    content: dict[str, Any] = {
        "submission": requests.submission_of(job),
        "expected": expected_of(job) or DEFAULT_RUN_TIME,
        "note": data["note"],
        "cap_usd": job.cap_usd,
        "by": request.user,
        "now": database_now(),
    }
    try:
        return verbs.save_template(team=job.team, name=data["name"], **content)
    except verbs.NameTaken as taken:
        if request.POST.get("do") != "replace" or not verbs.replace_template(taken.template, **content):
            raise
        return taken.template


def _row(template: Template, *, may_change: bool = False) -> Row:
    submission = verbs.submission_of(template)
    return Row(template, strategies.strategy_of(submission).key, submission.machines_summary, may_change)
