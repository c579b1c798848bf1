"""What follows from a fault of a running job, by the policy of its team: report it, ask its owner, or cancel the job.

A job is cancelled only while its fault is found, so never by an old one: with the log and the utilization just read,
in the attempt and with the fault that the owner was asked about, and if nobody has answered in time. The time counts
anew after the site was down, after a step of the clock and after a restore, because an answer may be missing.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from jobs import outbox, transitions
from jobs.cost.notes import in_words
from jobs.explain import times_out_at
from jobs.models import Job, JobEvent, JobHealth, Message
from jobs.people.audit import record_act
from jobs.queue import claims, installation
from jobs.requests.policy_versions import current_version, terms_of
from jobs.texts import Text, as_json, joined
from jobs.texts import translatable as _
from jobs.timeline import CANCELLED_FOR, WasteWarning, fault_title, warning_of
from jobs.timeline.health import LATENESS, Evidence

HOUR = timedelta(hours=1)
MAX_UNSWEPT = timedelta(minutes=10)
"""After a longer time without a sweep nothing is cancelled, until one has found out why."""
MAX_USAGE_AGE = 2 * LATENESS
"""Utilization that Google has dated so recently shows that it can be read, and that the database's clock is right."""
ANSWER = _("Still working? Answer on its page.")
CANCELS = _("Still working? Answer on its page; if nobody answers for %(hours)s h, Trainboard cancels it.")
CANCELLED = _("Nobody answered “Still working?” for %(length)s, so the policy of the team cancels it.")


def follow(job: Job, evidence: Evidence, now: datetime, *, was_shown: bool) -> None:
    """Report a fault that was just found, ask about it, or cancel the job. `job.health` has the fault; not if fine."""
    warning = warning_of(job, now)
    if warning is None:  # the job is declared fine
        return
    row: JobHealth = job.health
    terms = terms_of(current_version(job.team))
    hours = None if job.is_adopted else terms.waste_hours.get(row.code)
    if hours is None:
        JobHealth.objects.filter(pk=row.pk).exclude(asked_at=None).update(asked_at=None)
        if not was_shown:
            _report(job, warning, now)
    elif row.asked_at is None or (hours and not row.answer_hours):
        _ask(job, row, warning, hours, now)
    elif hours:
        _cancel_if_unanswered(job, row, warning, evidence, hours, now)
    elif row.answer_hours:  # the policy does not cancel such jobs any more
        JobHealth.objects.filter(pk=row.pk).update(answer_hours=0)


def clear(job: Job, before: JobHealth, now: datetime) -> None:
    """Record that a fault is not found any more."""
    message, key = f"Not found any more: {fault_title(before.code)}.", f"cleared:{now.isoformat()}"
    kind = JobEvent.Kind.CLEARED
    transitions.record_event(job, kind, now=now, reason=before.code, message=message, once_key=key)


def _words(warning: WasteWarning) -> Text:
    return joined(warning.title, warning.words, between=": ")


def _report(job: Job, warning: WasteWarning, now: datetime) -> None:
    """Record the warning as an event, and announce it unless the same was announced of the job before."""
    _record(job, warning, now, {})
    key, detail = f"waste:{warning.code}:{job.pk}", {"text": _words(warning)}
    outbox.announce(Message.Kind.WASTE, team=job.team, once_key=key, now=now, job=job, detail=detail)


def _ask(job: Job, row: JobHealth, warning: WasteWarning, hours: int, now: datetime) -> None:
    """Open a question and send it to the owner."""
    JobHealth.objects.filter(pk=row.pk).update(asked_at=now, answer_hours=hours)
    _record(job, warning, now, {"asked": True, "hours": hours})
    question = _(CANCELS.msgid, hours=hours) if hours else ANSWER
    detail = {"text": _words(warning), "next": question, "asks": True}
    key = f"asked:{warning.code}:{job.pk}:{now.isoformat()}"
    outbox.announce(Message.Kind.WASTE, team=job.team, once_key=key, now=now, job=job, detail=detail)


def _record(job: Job, warning: WasteWarning, now: datetime, detail: dict[str, Any]) -> None:
    detail = detail | {"since": warning.since.isoformat()}
    message, key = str(_words(warning)), f"warned:{warning.code}:{now.isoformat()}"
    if "asked" in detail:
        message += " Its owner was asked whether it still works."
    transitions.record_event(
        job, JobEvent.Kind.WARNED, now=now, reason=warning.code, message=message, once_key=key, detail=detail
    )


def _cancel_if_unanswered(
    job: Job, row: JobHealth, warning: WasteWarning, evidence: Evidence, hours: int, now: datetime
) -> None:
    """Cancel the job if its question is unanswered for the longer of the hours asked with and those of the policy."""
    asked_at, begun = row.asked_at, _uninterrupted_since(now)
    if asked_at is None or begun is None or asked_at > now:
        return
    if begun > asked_at or hours > row.answer_hours:  # nobody could answer for a while, or an answer was lost
        columns = {"asked_at": max(begun, asked_at), "answer_hours": max(hours, row.answer_hours)}
        JobHealth.objects.filter(pk=row.pk, asked_at=asked_at).update(**columns)
    elif now - asked_at >= row.answer_hours * HOUR and _is_read(job, evidence, now):
        _cancel(job, asked_at, warning, now)


def _uninterrupted_since(now: datetime) -> datetime | None:
    """Return since when the site runs without a pause or a restore; None if that is not known now."""
    swept = claims.last_run(claims.SWEEP)
    if swept is None or swept.answered_at is None or abs(now - swept.answered_at) > MAX_UNSWEPT:
        return None
    times = [at for at in (swept.due_at, installation.restored_at()) if at is not None]
    if any(at > now for at in times):  # the clock was set back
        return None
    return max(times, default=datetime.min.replace(tzinfo=now.tzinfo))


def _is_read(job: Job, evidence: Evidence, now: datetime) -> bool:
    """Return whether the utilization of the attempt can be read up to now, as the log was just before."""
    metrics = getattr(job, "metrics", None)
    newest = [points[-1][0] for points in (evidence.busy, evidence.cpu) if points]
    is_new = bool(newest) and evidence.began <= max(newest) and now - MAX_USAGE_AGE <= max(newest) <= now
    return metrics is not None and not metrics.usage_error and is_new


def _cancel(job: Job, asked_at: datetime, warning: WasteWarning, now: datetime) -> None:
    """Request the job's end, if no answer and no other event came since it was read."""
    length, evidence = in_words((now - asked_at) / HOUR), _words(warning)
    why = joined(_(CANCELLED.msgid, length=length), evidence)
    limit = times_out_at(job, now)
    detail = {"code": warning.code, "evidence": as_json(evidence), "asked_at": asked_at.isoformat()}
    detail |= {"times_out_at": limit.isoformat()} if limit is not None else {}
    unanswered = JobHealth.objects.filter(pk=job.pk, asked_at=asked_at, code=warning.code)
    with transaction.atomic():
        if not unanswered.filter(Q(fine_until=None) | Q(fine_until__lte=now)).update(asked_at=None):
            return
        same = Job.objects.select_for_update().filter(pk=job.pk, revision=job.revision)
        if same.values_list("pk", flat=True).first() is None:
            return
        if transitions.request_end(job, now=now, message=str(why), reason=CANCELLED_FOR, detail=detail):
            record_act("cancelled", str(why), job)
            key, text = f"waste_cancelled:{job.pk}", {"text": why, "cancelled": True}
            outbox.announce(Message.Kind.WASTE, team=job.team, once_key=key, now=now, job=job, detail=text)
