"""The further attempts of a request, as the page of each of its jobs shows them."""

from jobs.models import FallbackAttempt, Job


def list_attempts(job: Job) -> list[FallbackAttempt]:
    """Return the attempts of the request that a job belongs to, the first one first; one query.

    None where the job was loaded with its `attempt` and has none.
    """
    own = getattr(job, "attempt", None)
    if own is None:
        return []
    rows = FallbackAttempt.objects.filter(fallback=own.fallback_id).select_related("job", "fallback")
    return list(rows.defer("job__spec", "job__estimate", "job__error").order_by("number"))
