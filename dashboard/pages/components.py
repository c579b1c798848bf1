"""Every shared template component on one page with sample values, for site admins who build pages."""

from datetime import datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Request
from dashboard.drawing.scale import axis
from dashboard.drawing.track import PREEMPTED, Track, board_scale, hour_lines, place, render_track
from dashboard.forms.budget_form import BudgetForm
from dashboard.pages.parts.strategy_rows import NAMED, RowWait, StrategyRow
from jobs.clock import display_now
from jobs.spec import Finding, Severity
from jobs.states import JobState
from jobs.timeline import Mark, Span

WAIT = RowWait(12, timedelta(minutes=8), timedelta(minutes=2), timedelta(minutes=40))
AXIS_USD = Decimal(100)


@require_safe
def components(request: Request) -> HttpResponse:
    """Show the components. Raise Http404 unless the user is an admin."""
    if not request.user.is_superuser:
        raise Http404("the page is for admins")
    now = display_now()
    scale = board_scale(now, timedelta(hours=4))
    context = {
        "now": now,
        "states": [*(state.value for state in JobState), "JOB_STATE_NEW"],
        "resource_states": ["PROVISIONING", "RUNNING", "STOPPING", "ERROR"],
        "trial_states": ["ACTIVE", "SUCCEEDED", "INFEASIBLE"],
        "finds": [_finding(severity) for severity in Severity],
        "form": BudgetForm({"name": "", "amount": "-5", "thresholds": "9999"}, is_new=True),
        "pages": SimpleNamespace(older="2", is_first=False),
        "axis": axis(scale),
        "hour_lines": hour_lines(scale),
        "tracks": [(track.state, place(render_track(track, scale), scale)) for track in _tracks(now)],
        "rows": _strategies(),
    }
    return render(request, "components.html", context)


def _finding(severity: Severity) -> Finding:
    return Finding(
        "sample", severity, "", f"A finding of the severity {severity}.", "What to do.", "Its page", "2026-11-23"
    )


def _tracks(now: datetime) -> list[Track]:
    """Return three sample jobs: one preempted and running again, one failed, one awaiting approval."""
    at = [now - timedelta(minutes=each) for each in (150, 120, 60, 45)]
    waited, ran = Span(JobState.PENDING, at[0], at[1]), Span(JobState.RUNNING, at[1], at[2])
    again = (Span(JobState.PENDING, at[2], at[3]), Span(JobState.RUNNING, at[3], None))
    lost, expected = Mark(at[2], PREEMPTED, "Preempted."), (now, now + timedelta(minutes=30))
    return [
        Track((waited, ran, *again), (lost,), expected, JobState.RUNNING),
        Track((waited, ran), (), None, JobState.FAILED),
        Track((Span(JobState.AWAITING_APPROVAL, at[3], None),), (), None, JobState.AWAITING_APPROVAL),
    ]


def _strategies() -> list[StrategyRow]:
    """Return a row of each kind: priced, preemptible, impossible, incomplete, and without prices."""
    low, usual, high = Decimal(20), Decimal(38), Decimal(64)
    priced: dict[str, Any] = {"is_priced": True, "axis_usd": AXIS_USD, "usd_per_hour": Decimal("3.67"), "wait": WAIT}
    return [
        StrategyRow("standard", expected_usd=high, low_usd=usual, high_usd=AXIS_USD, tags=("safest",), **priced),
        StrategyRow(
            "spot", expected_usd=usual, low_usd=low, high_usd=high, saving_percent=41, kill_risk=0.22,
            preemptions=1.2, tags=("cheapest", "fastest"), **priced,
        ),
        StrategyRow("flex_start", obstacles=("Flex-start offers no such machine.",)),
        StrategyRow("reservation", needs=str(next(iter(NAMED.values())))),
        StrategyRow("persistent"),
    ]  # fmt: skip
