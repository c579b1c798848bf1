"""What a job needs more of than was free when quotas were read last."""

from collections.abc import Mapping

from jobs.cost.quotas import QuotaState, increase_command, quotas, with_states
from jobs.spec import Finding, Severity, Submission
from jobs.strategies import Strategy


def short_quotas(submission: Submission, strategy: Strategy, states: Mapping[str, QuotaState]) -> list[Finding]:
    """Return a note for each quota of which less was free than the job needs; `states` are those of its region.

    Never an error: what was read is minutes old, and a job that does not fit now may wait in the queue.
    """
    found = []
    for each in with_states(quotas(submission, strategy), states) if states else ():
        if each.state is None or not each.is_short:
            continue
        limit, free = each.state.limit, each.state.free
        rest = f"the limit is {limit}" if free is None else f"{free} of {limit} free"
        when = f"read at {each.state.read_at:%H:%M} UTC on {each.state.read_at.day} {each.state.read_at:%b}"
        words = f"The job needs {each.amount} of {each.metric} in {submission.region}: {rest}, {when}."
        command = increase_command(each, project=submission.project, region=submission.region)
        remedy = f"Wait, take another region or strategy, or ask for more: {command}" if command else ""
        found.append(Finding("quota_is_short", Severity.NOTE, "", words, remedy))
    return found
