"""A job that was allowed and not sent yet is asked about again when policy has become stricter meanwhile."""

from datetime import datetime
from decimal import ROUND_UP, Decimal

from django.db import transaction

from jobs.lifecycle import claims, door
from jobs.lifecycle.asking.request import CENT, Preview
from jobs.models import Approval, Job
from jobs.spec import Severity
from jobs.states import JobState


def ask_again(job: Job, judged: Preview, *, now: datetime) -> bool:
    """Send an allowed job back to its approvers, where policy asks for what no person has approved; return whether.

    `judged` is what policy says now. What a person approved holds as long as neither the amount that may be spent nor
    the reasons to ask go beyond it. On True the worker's claim is released and nothing is due any more.
    """
    asks = [finding.as_dict() for finding in judged.decision.findings if finding.severity == Severity.ASK]
    if not asks or judged.decision.verdict != "ask" or _covers(job, judged, asks):
        return False
    question = {"decision": "", "decided_by": None, "decided_at": None, "comment": "", "asked_at": now}
    with transaction.atomic():
        moved = door.move(
            job,
            JobState.AWAITING_APPROVAL,
            now=now,
            reason="judged_again",
            sentence=f"Judged again before it was sent, it needs an approval now: {asks[0]['message']}",
            detail={"findings": asks},
            once_key=f"asked_again:{now.isoformat()}",
            judged_usd=judged.judged_usd,
            limit_usd=judged.limits.ask_over_usd,
            approved_usd=None,
            due_at=None,
        )
        if moved:
            Approval.objects.update_or_create(job=job, defaults=question | {"findings": asks})
        claims.release_job(job, due_at=None)
    return True


def _covers(job: Job, judged: Preview, asks: list[dict[str, object]]) -> bool:
    """Tell whether a person has approved all that policy asks about now."""
    approval = Approval.objects.filter(job=job, decision=Approval.Decision.APPROVED).first()
    if approval is None:
        return False
    if not {each["code"] for each in asks} <= {each.get("code") for each in approval.findings}:
        return False
    if judged.judged_usd is None:  # nobody knew the price then either, or the reason would be a new one
        return True
    approved = _approved_usd(job)
    return approved is not None and judged.judged_usd <= approved


def _approved_usd(job: Job) -> Decimal | None:
    """Return what a person approved; of a job that was requested before that was kept, the high end of its estimate."""
    high = job.estimate.get("high_usd")
    if job.approved_usd is None and "most_usd" not in job.estimate and high:
        return Decimal(high).quantize(CENT, ROUND_UP)
    return job.approved_usd
