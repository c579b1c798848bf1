"""The audit log: who changed which setting, when, and the values before and after; as a page and as CSV."""

from typing import Any

from auditlog.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from dashboard.access import Request, teams_where
from dashboard.access.audit_middleware import record_export
from dashboard.access.loaders import parse_key
from dashboard.forms.audit_form import AuditForm
from dashboard.pages.parts.audit_names import setting_name, setting_value
from dashboard.pages.parts.csv_file import csv_lines
from dashboard.queries.audit_log import ACTIONS, Filters, changes_of, iterate_entries, list_entries
from jobs.clock import database_now
from jobs.models import Team

SHOWN = {0: _("created"), 1: _("changed"), 2: _("deleted")}
SIGN_INS = {
    "with a password": _("with a password"),
    "by a link from manage.py": _("by a link from manage.py"),
    "signed out": _("signed out"),
    "failed": _("failed"),
    "too many failures: refused for a while from this address": _(
        "too many failures: refused for a while from this address"
    ),
}
"""Stored outcomes of sign-ins. A sign-in at a provider is stored with the provider's name."""
HEAD = ("time", "who", "address", "what", "object", "action", "field", "before", "after")


@require_safe
def audit(request: Request) -> HttpResponse:
    """Show a page of the log: of the whole site for admins, of one team for its leads."""
    team, teams = _chosen(request)
    form = AuditForm(request.GET)
    filters = _filters(form)
    before = parse_key(request.GET["before"]) if request.GET.get("before") else None
    page = list_entries(None if team is None else team.pk, filters, before=before)
    context = {
        "page": page,
        "rows": [_row(entry) for entry in page.entries],
        "team": team,
        "teams": teams,
        "form": form,
        "filters": filters,
        "now": database_now(),
    }
    return render(request, "audit_log.html", context)


@require_safe
def audit_csv(request: Request) -> StreamingHttpResponse:
    """Return the newest entries that match the filters as CSV, with one line for each changed field."""
    team = _chosen(request)[0]
    entries = iterate_entries(None if team is None else team.pk, _filters(AuditForm(request.GET)))
    rows = (row for entry in entries for row in _rows(entry))
    record_export(request, "audit-log.csv", team or request.user)
    response = StreamingHttpResponse(csv_lines(HEAD, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="audit-log.csv"'
    return response


def _row(entry: Any) -> tuple[Any, list[tuple[str, str, str]], str, Any, Any]:
    """Return an entry as the page lists it: changes, kind of setting, action, and the outcome of a sign-in."""
    changes, kind = changes_of(entry), setting_name(entry.content_type.name)
    if entry.action != LogEntry.Action.ACCESS or not changes:
        model = entry.content_type.model_class()
        named = [
            (setting_name(field), setting_value(model, field, before), setting_value(model, field, after))
            for field, before, after in changes
        ]
        return entry, named, kind, SHOWN.get(entry.action, ""), ""
    stored = changes[0][2]
    return entry, changes, kind, "", SIGN_INS.get(stored, stored)


def _rows(entry: Any) -> list[tuple[object, ...]]:
    who = entry.actor.get_username() if entry.actor else ""
    head = (entry.timestamp, who, entry.remote_addr, entry.content_type.name, entry.object_repr)
    action = ACTIONS.get(entry.action, "")
    return [(*head, action, field.replace("_", " "), *values) for field, *values in changes_of(entry)]


def _filters(form: AuditForm) -> Filters:
    form.is_valid()
    values = form.cleaned_data
    return Filters(values.get("q", ""), values.get("kind", ""), values.get("who", ""))


def _chosen(request: Request) -> tuple[Team | None, list[Team]]:
    """Return the selected team, or None for all, and the teams to choose from. Only an admin may select all.

    Raise Http404 for a team that the user may not manage, and PermissionDenied for a user who leads no team.
    """
    teams = teams_where(request.user, "manage")
    if text := request.GET.get("team"):
        key = parse_key(text)
        if (team := next((each for each in teams if each.pk == key), None)) is None:
            raise Http404("no such team")
        return team, teams
    if request.user.is_superuser:
        return None, teams
    if not teams:
        raise PermissionDenied(_("The audit log is for leads of teams and admins of the site."))
    return teams[0], teams
