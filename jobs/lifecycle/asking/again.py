"""A job that was allowed and not sent yet is asked about again when policy has become stricter meanwhile."""

from decimal import ROUND_UP, Decimal

from jobs.lifecycle.asking.request import CENT, Preview
from jobs.models import Approval, Job
from jobs.spec import Severity


def asks_again(job: Job, judged: Preview) -> list[dict[str, object]]:
    """Return what approvers have to be asked about an allowed job before it is sent; nothing when it may be sent.

    `judged` is what policy says now. What a person approved holds as long as neither the amount that may be spent nor
    the reasons to ask go beyond it.
    """
    asks = [finding.as_dict() for finding in judged.decision.findings if finding.severity == Severity.ASK]
    if not asks or judged.decision.verdict != "ask" or _covers(job, judged, asks):
        return []
    return asks


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
