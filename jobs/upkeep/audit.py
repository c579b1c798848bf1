"""Check every invariant of every job, scope and feed.

Nothing is changed. Jobs are read in small portions, so memory does not grow with their number. A worker may write
between two reads, so a job that looks broken is checked again with its row locked.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Prefetch

from jobs.models import Discovery, FallbackAttempt, Job, JobEvent, LogFeed, Scope, SetAsideItem, UnmatchedJob
from jobs.models.job import JobQuerySet
from jobs.upkeep.audit_rules import RULES, Evidence, claim_rule
from jobs.upkeep.seals import broken_seals

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
