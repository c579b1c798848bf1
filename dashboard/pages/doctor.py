"""Results of the last check of everything that jobs need, made by a worker; for site admins."""

from itertools import groupby

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Request
from jobs import doctor as checks
from jobs.clock import database_now
from jobs.queue.claims import last_run
from jobs.tasks import enqueue_examination

ORDER = {checks.Status.FAIL: 0, checks.Status.WARN: 1, checks.Status.PASS: 2}


@require_safe
def doctor(request: Request) -> HttpResponse:
    """Show the last check, failures first. Raise Http404 unless the user is an admin."""
    _check_admin(request)
    row = last_run(checks.UPKEEP)
    found = [checks.from_json(each) for each in row.result.get("checks", [])] if row else []
    passed = sorted((each for each in found if each.status is checks.Status.PASS), key=lambda c: c.group)
    context = {
        "now": database_now(),
        "row": row,
        "is_due": row is not None and row.due_at is not None and row.due_at <= database_now(),
        "to_repair": _list_to_repair(found),
        "groups": [(name, list(each)) for name, each in groupby(passed, key=lambda c: c.group)],
        "counts": {status.value: sum(c.status is status for c in found) for status in checks.Status},
    }
    return render(request, "doctor.html", context)


def _list_to_repair(found: list[checks.Check]) -> list[tuple[checks.Check, list[str]]]:
    """Return the failed checks, then the warnings. Those that differ only in their group are one, with all groups."""
    rows: dict[tuple[str, ...], tuple[checks.Check, list[str]]] = {}
    for each in sorted(found, key=lambda check: ORDER[check.status]):
        if each.status is not checks.Status.PASS:
            key = (each.status, each.name, each.detail, each.repair)
            rows.setdefault(key, (each, []))[1].append(each.group)
    return list(rows.values())


@require_POST
def examine(request: Request) -> HttpResponse:
    """Queue a new check for a worker."""
    _check_admin(request)
    checks.request_examination(database_now())
    enqueue_examination()
    messages.success(request, _("A worker was asked to check everything; that takes up to a minute."))
    return redirect("doctor")


def _check_admin(request: Request) -> None:
    if not request.user.is_superuser:
        raise Http404
