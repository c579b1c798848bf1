"""What Google billed beside what Trainboard counted. A lead imports a Cloud Billing export to see the differences."""

import io
from typing import Any

from django import forms
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.access import Request
from dashboard.access.audit_middleware import record_export
from dashboard.access.loaders import team_for
from dashboard.pages.parts.csv_file import csv_lines
from dashboard.queries.billing import get_billed, iterate_billed
from jobs.billing import QUERY, BadExport, import_billing
from jobs.clock import database_now
from jobs.errors import NotPermitted
from jobs.models import Team

HEAD = (
    "month", "currency", "job", "job_id", "service", "billed", "credits", "tax", "ours_usd", "difference_usd", "rows",
)  # fmt: skip


class ExportForm(forms.Form):
    """Form to upload an export file."""

    export = forms.FileField(label=_("CSV of the export"), max_length=200)


@require_http_methods(["GET", "HEAD", "POST"])
def billing(request: Request, team_pk: int) -> HttpResponse:
    """Show the latest comparison of a team. On POST, read an export file and compare it."""
    team = team_for(request, team_pk, "set_policy")
    form = ExportForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if request.method == "POST" and form.is_valid():
        try:
            _import(request, team, form.cleaned_data["export"])
        except (BadExport, NotPermitted) as refusal:
            form.add_error("export", str(refusal))
        else:
            return redirect("billing", team.pk)
    context = {"team": team, "form": form, "billed": get_billed(team), "query": QUERY, "now": database_now()}
    return render(request, "billing.html", context, status=422 if form.errors else 200)


def _import(request: Request, team: Team, upload: Any) -> None:
    """Read the upload from disk: Django keeps large uploads in temporary files."""
    lines = io.TextIOWrapper(upload, encoding="utf-8-sig", newline="")
    try:
        import_billing(team, lines, name=str(upload.name), by=request.user, now=database_now())
    finally:
        lines.detach()


@require_safe
def billing_csv(request: Request, team_pk: int) -> StreamingHttpResponse:
    """Return the whole comparison as CSV, with one row for each job or service, month and currency."""
    team = team_for(request, team_pk, "set_policy")
    billed = get_billed(team)
    if billed is None:
        raise Http404("nothing was imported")
    rows = (
        (f"{each.month:%Y-%m}", each.currency, each.job.display_name if each.job else "", each.label, each.service,
         each.cost, each.credits, each.tax, each.ours_usd, each.difference_usd, each.rows)
        for each in iterate_billed(billed.row)
    )  # fmt: skip
    record_export(request, "billing.csv", team)
    headers = {"Content-Disposition": 'attachment; filename="billing.csv"'}
    return StreamingHttpResponse(csv_lines(HEAD, rows), content_type="text/csv; charset=utf-8", headers=headers)
