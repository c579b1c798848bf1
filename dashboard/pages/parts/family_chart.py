"""The runs of a family whose curves are drawn, the best one, and what changed in the newest."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from dashboard.access import Request, jobs_for
from dashboard.access.loaders import parse_uuid
from dashboard.pages.parts.compared_curves import MAX_JOBS, compare_curves
from dashboard.pages.parts.differences import comparison
from dashboard.pages.parts.slower_part import slower_part
from dashboard.queries.families import Known, best_of, list_best
from jobs.models import Job

JOINED = ("metrics", "run_summary")
"""Related rows of the runs whose curves are drawn or that are compared."""


def chart_part(request: Request, family: UUID, known: Known) -> dict[str, Any]:
    """Return the chosen metric, its best run and the curves, and what changed in the newest run.

    The curves are those of the runs in the address, else of the best and the newest ones. Raise Http404 for a job that
    the person may not see. At most three queries.
    """
    metric = request.GET.get("metric", "")
    metric = metric if metric in known.metrics else next(iter(known.metrics), "")
    best = list_best(request.user, family, metric, 1) if metric else []
    chosen = [parse_uuid(key) for key in request.GET.getlist("job")]
    drawn = list(dict.fromkeys(chosen or [*best, *known.latest]))[:MAX_JOBS]
    last = known.latest[:2]
    loaded = {job.pk: job for job in jobs_for(request, [*dict.fromkeys([*drawn, *best, *last])], joined=JOINED)}
    return {
        "metric": metric,
        "newest": loaded[last[0]],
        "best": loaded[best[0]] if best else None,
        "best_value": best_of(loaded[best[0]], metric) if best else None,
        "is_chosen": bool(chosen),
        "numbers": {key: number for number, key in enumerate(drawn, 1)},
        "curves": compare_curves([loaded[key] for key in drawn], metric, by_time=request.GET.get("by") == "time"),
    } | _last_change([loaded[key] for key in last])


def _last_change(jobs: Sequence[Job]) -> dict[str, Any]:
    """Return what differs between the two newest runs, and whether the newest was slower."""
    if len(jobs) < 2:
        return {}
    after, before = jobs
    return {"comparison": comparison(before, after), "slower": slower_part(before, after)}
