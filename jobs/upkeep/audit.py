"""Check every invariant of every job, scope and feed: one function for each invariant of a job, then all rows.

Nothing is changed. Jobs are read in small portions, so memory does not grow with their number. A worker may write
between two reads, so a job that looks broken is checked again with its row locked.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Prefetch

from jobs import states, timeline
from jobs.models import (
    Approval,
    Discovery,
    FallbackAttempt,
    Job,
    JobEvent,
    LogFeed,
    Scope,
    SetAsideItem,
    UnmatchedJob,
    Vote,
)
from jobs.models.job import JobQuerySet
from jobs.policy_words import who_decides
from jobs.queue.claims import JOB_LEASE, LEASE
from jobs.requests.approver_groups import groups_of
from jobs.states import FINISHED, LOCAL, JobState
from jobs.upkeep.seals import broken_seals

CLOSE_SECONDS = 0.001
"""Seconds that differ by less are considered equal."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A job with everything that its rules read."""

    job: Job
    events: Sequence[JobEvent]
    approval: Approval | None
    is_watched: bool
    now: datetime
    votes: Sequence[Vote] = ()

    @property
    def states(self) -> list[JobEvent]:
        """The events that changed its state, in the order recorded."""
        return [event for event in self.events if event.kind == JobEvent.Kind.STATE]


Rule = Callable[[Evidence], str | None]
"""Returns a message about what is broken, or None."""


def _state(one: Evidence) -> str | None:
    last = one.states[-1].to_state if one.states else ""
    if one.job.state != last:
        return f"The state of the job is {_shown(one.job.state)}, but its last state event shows {_shown(last)}."
    return None


def _history(one: Evidence) -> str | None:
    before = ""
    for event in one.states:
        if event.from_state != before:
            return f"An event changes the state from {_shown(event.from_state)}, but the state was {_shown(before)}."
        if not states.may_follow(before, event.to_state, is_adopted=one.job.is_adopted):
            return (
                f"An event changes the state from {_shown(before)} to {_shown(event.to_state)}, which is not allowed."
            )
        before = event.to_state
    return None


def _derived(one: Evidence) -> str | None:
    if not one.events:
        return "The job has no events."
    job, facts = one.job, timeline.facts(one.events)
    pairs = {
        "state_since": (job.state_since, facts.state_since),
        "started_at": (job.started_at, facts.started_at),
        "ended_at": (job.ended_at, facts.ended_at),
        "running_since": (job.running_since, facts.running_since),
        "waiting_again_since": (job.waiting_again_since, facts.waiting_again_since),
        "restarts": (job.restarts, facts.restarts),
        "custom_job_state": (job.custom_job_state, facts.custom_job_state),
        "wait_error": (job.wait_error, facts.wait_error),
    }
    if job.approved_at is not None:  # rows from before this column have none
        pairs["approved_at"] = (job.approved_at, facts.approved_at)
    wrong = [
        f"{name} is {held}, but the events show {counted}" for name, (held, counted) in pairs.items() if held != counted
    ]
    sums = {
        "running_seconds": (job.running_seconds, facts.running.total_seconds()),
        "waited_again_seconds": (job.waited_again_seconds, facts.waited_again.total_seconds()),
    }
    wrong += [
        f"{name} is {held}, but the events show {counted}"
        for name, (held, counted) in sums.items()
        if abs(held - counted) > CLOSE_SECONDS
    ]
    return f"{'; '.join(wrong)}." if wrong else None


def _next_step(one: Evidence) -> str | None:
    job = one.job
    is_kept = job.deletion_requested_at is not None and job.deleted_at is None
    if is_kept and job.due_at is None:
        return "The deletion at Vertex AI was requested, but the job has no due time."
    if job.is_finished and not (is_kept or job.may_have_duplicates) and job.due_at is not None and job.claim is None:
        return f"The job has ended but is still due at {job.due_at}."
    if job.state in {JobState.APPROVED, JobState.SUBMITTING} and job.due_at is None:
        return "The job waits for a worker but has no due time."
    if job.cancel_requested_at and job.remote_name and not job.is_finished and job.due_at is None and job.claim is None:
        return "The cancellation was requested and the job has not ended, but it has no due time."
    is_sent = job.state not in {JobState.AWAITING_APPROVAL, JobState.APPROVED, JobState.SUBMITTING}
    if is_sent and job.may_have_duplicates and job.due_at is None and job.claim is None:
        return "Vertex AI may have a second job for the request, but no look-up is due."
    return None


def _remote_name(one: Evidence) -> str | None:
    has_been_there = any(event.to_state not in LOCAL for event in one.states)
    is_superseded = any(event.reason == "superseded" for event in one.events)
    if has_been_there and not one.job.remote_name and not is_superseded:
        return "The job was at Vertex AI but has no name there."
    if one.job.remote_name and not has_been_there:
        return f"The job has the name {one.job.remote_name} but was never at Vertex AI."
    return None


def _watched(one: Evidence) -> str | None:
    if one.job.state not in LOCAL | FINISHED and not one.is_watched:
        return "The job is active at Vertex AI, but its region is not polled."
    return None


def _approval(one: Evidence) -> str | None:
    was_asked = any(event.to_state == JobState.AWAITING_APPROVAL for event in one.states)
    if was_asked != (one.approval is not None):
        if was_asked:
            return "The job awaited approval, but no question to approvers is stored."
        return "A question to approvers is stored, but the job never awaited approval."
    if one.approval is None:
        return None
    answers = {str(JobState.APPROVED): "approved", str(JobState.REJECTED): "rejected"}
    expected = ""
    for event in one.states:  # a job may be asked about again, which reopens the question
        if JobState.AWAITING_APPROVAL in (event.from_state, event.to_state):
            expected = answers.get(event.to_state, "")
    if one.approval.decision != expected:
        return (
            f"The decision of the approval is {_shown(one.approval.decision)}, but the events show {_shown(expected)}."
        )
    if bool(one.approval.decision) != (one.approval.decided_at is not None):
        return "The approval has a decision without a time, or a time without a decision."
    own = [vote for vote in one.votes if vote.asked_at == one.approval.asked_at]
    if any(one.job.owner_id in (vote.voter_id, vote.counts_for_id) for vote in own):
        return "The owner of the job voted on it."
    approved = [vote for vote in own if vote.decision == Approval.Decision.APPROVED]
    # Before several votes could be needed, a single answer was not stored as a vote.
    if one.approval.decision == Approval.Decision.APPROVED and one.approval.votes_needed > max(len(approved), 1):
        return f"The job was approved with {len(approved)} votes, but {one.approval.votes_needed} were needed."
    return _groups(one.approval, approved) if one.approval.decision == Approval.Decision.APPROVED else None


def _groups(approval: Approval, approved: Sequence[Vote]) -> str | None:
    """Check that each group that was asked has the votes it needs. One vote may count for several groups."""
    groups = groups_of(approval)
    for position, group in enumerate(groups) if len(groups) > 1 else ():
        given = sum(position in (vote.groups or ()) for vote in approved)
        if given < group.approvals:
            return f"The job was approved with {given} votes, but {who_decides([group])} had to approve."
    return None


def _once_keys(one: Evidence) -> str | None:
    counted = Counter(event.once_key for event in one.events)
    twice = sorted(key for key, count in counted.items() if count > 1 or not key)
    return f"Event keys are missing or used more than once: {', '.join(map(_shown, twice))}." if twice else None


def _attempts(one: Evidence) -> str | None:
    counted = sum(event.kind == JobEvent.Kind.SUBMIT_ATTEMPTED for event in one.events)
    if one.job.submit_attempts != counted:
        return f"The job counts {one.job.submit_attempts} tries to submit it, but its events show {counted}."
    return None


def _adoption(one: Evidence) -> str | None:
    counted = sum(event.kind == JobEvent.Kind.ADOPTED for event in one.events)
    if counted != one.job.is_adopted:
        return f"The job is {'' if one.job.is_adopted else 'not '}adopted, but has {counted} events about an adoption."
    if one.job.is_adopted and (one.job.cancel_requested_at or one.job.due_at):
        return "The job was created outside Trainboard and is only watched, but it has a next step here."
    return None


def _deletion(one: Evidence) -> str | None:
    job, kinds = one.job, [event.kind for event in one.events]
    if job.deleted_at is not None and (job.deletion_requested_at is None or job.deleted_at < job.deletion_requested_at):
        return "The job was deleted at Vertex AI before anybody requested its deletion."
    if job.deletion_requested_at is not None and (job.is_adopted or job.state not in FINISHED - LOCAL):
        return "The deletion was requested, but only a job of ours that ended at Vertex AI can be deleted."
    for name, moment, kind in (
        ("deletion request", job.deletion_requested_at, JobEvent.Kind.DELETE_REQUESTED),
        ("deletion", job.deleted_at, JobEvent.Kind.DELETED),
    ):
        if moment is not None and kind not in kinds:
            return f"The job has a {name} at {moment}, but no event shows it."
    if JobEvent.Kind.DELETED in kinds and job.deleted_at is None:
        return "An event shows that Vertex AI deleted the job, but the row does not."
    return None


def _held(one: Evidence) -> str | None:
    return claim_rule(one.job.claim, one.job.claimed_until, one.now)


def claim_rule(claim: object, until: datetime | None, now: datetime) -> str | None:
    """Return what is wrong with the claim of a row, or None."""
    if claim is not None and until is None:
        return "A worker's claim has no end time."
    if claim is None and until is not None:
        return "The claim has an end time but no worker."
    if until is not None and now - until > LEASE:
        return f"A worker's claim expired at {until} and was not released."
    if until is not None and until - now > 2 * JOB_LEASE + timedelta(minutes=1):
        return f"A worker's claim lasts until {until}, which is longer than allowed."
    return None


def _shown(value: str) -> str:
    return value or "nothing"


RULES: dict[str, Rule] = {
    "state": _state,
    "history": _history,
    "derived": _derived,
    "next step": _next_step,
    "remote name": _remote_name,
    "watched": _watched,
    "approval": _approval,
    "once keys": _once_keys,
    "attempts": _attempts,
    "adoption": _adoption,
    "deletion": _deletion,
    "claim": _held,
}


PORTION = 200


@dataclass(frozen=True, slots=True)
class Broken:
    """One invariant that one row violates. `row` names it for people, `pk` for programs."""

    rule: str
    row: str
    pk: str
    words: str

    def as_dict(self) -> dict[str, str]:
        """Return it as JSON."""
        return asdict(self)


def audit(now: datetime) -> Iterator[Broken]:
    """Yield everything that is broken."""
    yield from _names_used_twice()
    yield from _unmatched()
    yield from _attempts_at_once()
    for seal, problem in broken_seals():
        yield Broken("audit log", str(seal), str(seal.pk), problem)
    watched = set(Scope.objects.exclude(due_at=None).values_list("project", "region", "kind"))
    for job in _with_events(Job.objects.order_by("pk")).iterator(chunk_size=PORTION):
        if _broken(job, watched, now):
            yield from _check_again(job, now)
    for row in (Scope, LogFeed, Discovery):
        for look in row.objects.order_by("pk").iterator(chunk_size=PORTION):
            if words := claim_rule(look.claim, look.claimed_until, now):
                yield Broken("claim", str(look), str(look.pk), words)


def items_set_aside() -> int:
    """Return how many items from outside were left out because they could not be stored or read. No row is broken."""
    return SetAsideItem.objects.filter(is_kept=False).count()


def _with_events(jobs: JobQuerySet) -> JobQuerySet:
    events = Prefetch("events", JobEvent.objects.order_by("id").defer("message"))
    return jobs.select_related("approval").defer("spec", "estimate").prefetch_related(events, "votes")


def _broken(job: Job, watched: set[tuple[str, str, str]], now: datetime) -> list[Broken]:
    is_watched = (job.project, job.region, job.kind) in watched
    evidence = Evidence(
        job, list(job.events.all()), getattr(job, "approval", None), is_watched, now, list(job.votes.all())
    )
    found = ((name, rule(evidence)) for name, rule in RULES.items())
    return [Broken(name, str(job), str(job.pk), words) for name, words in found if words]


def _check_again(job: Job, now: datetime) -> list[Broken]:
    with transaction.atomic():
        Job.objects.select_for_update().filter(pk=job.pk).exists()
        scope = Scope.objects.filter(project=job.project, region=job.region, kind=job.kind, due_at__isnull=False)
        return _broken(
            _with_events(Job.objects.all()).get(pk=job.pk), set(scope.values_list("project", "region", "kind")), now
        )


def _unmatched() -> Iterator[Broken]:
    """Yield the active jobs at Vertex AI that carry our label but that no row follows."""
    for row in UnmatchedJob.objects.filter(ended_at=None).order_by("pk").iterator(chunk_size=PORTION):
        if row.job_id is None:
            words = "The job has our label, but no request has its id, for example because a backup was restored."
        else:
            words = (
                f"The job is a second job for the request {row.job_id}, active at Vertex AI since {row.first_seen_at}."
            )
            words += f" The last cancellation failed: {row.last_error}" if row.last_error else ""
        yield Broken("duplicate", row.remote_name, str(row.pk), words)


def _attempts_at_once() -> Iterator[Broken]:
    """Yield fallbacks with more than one unfinished attempt, with which one request could pay for two jobs."""
    live = FallbackAttempt.objects.filter(job__ended_at=None).order_by().values("fallback")
    for row in live.annotate(count=Count("pk")).filter(count__gt=1).order_by("fallback"):
        words = f"{row['count']} of its attempts have not ended."
        yield Broken("one attempt", str(row["fallback"]), str(row["fallback"]), words)


def _names_used_twice() -> Iterator[Broken]:
    named = Job.objects.exclude(remote_name="").order_by()
    twice = named.values("remote_name").annotate(count=Count("pk")).filter(count__gt=1).order_by("remote_name")
    for row in twice.iterator(chunk_size=PORTION):
        pks = named.filter(remote_name=row["remote_name"]).order_by("pk").values_list("pk", flat=True)
        words = f"{row['count']} jobs have this name at Vertex AI: {', '.join(map(str, pks))}."
        yield Broken("one remote name", row["remote_name"], row["remote_name"], words)
