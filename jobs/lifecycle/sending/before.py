"""The last assessment of an approved job: limits and persistent resources may have changed since the request."""

from datetime import datetime, timedelta

from jobs import spec
from jobs.lifecycle.asking.again import asks_again
from jobs.lifecycle.asking.pools import known_pools, waits_for_resource
from jobs.lifecycle.asking.request import Preview, preview, submission_of
from jobs.lifecycle.sending.ports import Change, Event
from jobs.models import Job, JobEvent
from jobs.states import JobState

RESOURCE_INTERVAL = timedelta(seconds=30)
"""Until a job is tried again whose persistent resource is on the way to RUNNING."""


def objection(job: Job, now: datetime) -> Change | None:
    """Return what to write instead of sending the job now; None when it may be sent.

    This comes before a creation is taken from the rate limit, so that a job which waits for its resource takes none.
    """
    submission, expected = submission_of(job), timedelta(seconds=job.expected_seconds)
    pools = known_pools(submission, apart_from=job.pk)
    judged = preview(submission=submission, team=job.team, expected=expected, pools=pools)
    refused = [finding for finding in judged.decision.findings if finding.severity == spec.Severity.REFUSE]
    if not refused:
        asks = asks_again(job, judged)
        return _question(judged, asks, now) if asks else None
    if waits_for_resource(submission, pools, refused):
        columns = {"due_at": now + RESOURCE_INTERVAL, "trouble": refused[0].message}
        return Change(columns=columns, releases=True)
    words = "; ".join(finding.message for finding in refused)
    event = Event(
        JobEvent.Kind.STATE,
        f"Judged again before it was sent, it is refused now: {words}",
        to_state=JobState.SUBMIT_FAILED,
        reason="policy",
        detail={"findings": [finding.as_dict() for finding in refused]},
    )
    return Change((event,), {"due_at": None}, releases=True)


def _question(judged: Preview, asks: list[dict[str, object]], now: datetime) -> Change:
    """Send the job back to its approvers."""
    event = Event(
        JobEvent.Kind.STATE,
        f"Judged again before it was sent, it needs an approval now: {asks[0]['message']}",
        key=f"asked_again:{now.isoformat()}",
        to_state=JobState.AWAITING_APPROVAL,
        reason="judged_again",
        detail={"findings": asks},
    )
    amounts = {"judged_usd": judged.judged_usd, "limit_usd": judged.limits.ask_over_usd, "approved_usd": None}
    return Change((event,), {"due_at": None, **amounts}, question=asks, releases=True)
