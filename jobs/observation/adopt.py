"""Adopt a job made outside Trainboard: it gets a row here and is followed from then on, read-only.

Its past is taken from what Vertex AI reports, and the span without polls is marked. It was never in a local state: its
first state is the one it was found in, or the start of its first run if that is known.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs import cost, spec, strategies, transitions, vertex
from jobs.assessment import storable_price
from jobs.bounds import past_moment
from jobs.clients import INSTANCE_LABEL, JOB_LABEL
from jobs.errors import NotPermitted
from jobs.models import ExternalJob, Job, JobEvent, Team
from jobs.observation.discovery import check_may_adopt
from jobs.observation.log_feeds import WANTED_FOR
from jobs.observation.record import mark_seen, number, record
from jobs.observation.set_aside import SetAside
from jobs.prices import current_book
from jobs.queue import claims
from jobs.requests.request_keys import adopted_key, job_id
from jobs.spec.secrets import secrets_as_json
from jobs.spec.shape import fields
from jobs.spec.unknown import unknown_findings
from jobs.storable import fit

UUID_FORM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HOUR = timedelta(hours=1)
MAX_EVENTS = 20


class CannotAdopt(NotPermitted):
    """The job cannot be stored as a row here."""


def adopt(external: ExternalJob, *, team: Team, by: User, now: datetime) -> Job:
    """Follow a discovered job for `team`. Return the first row if the team adopted it before.

    Raise NotPermitted if `by` is not an engineer, approver or lead of a team whose project it is, or if another team
    has adopted the job. Raise CannotAdopt if the job's description cannot be stored; the job is then set aside.
    """
    check_may_adopt(project=external.discovery.project, team=team, by=by)
    aside = SetAside(f"adoption from {external.discovery.project}/{external.discovery.region}", now=now)
    with aside.item(external.remote_name):
        return _adopt_once(external, team, by, now)
    raise CannotAdopt(_("It cannot be adopted, since its description cannot be kept; an administrator sees why."))


def _adopt_once(external: ExternalJob, team: Team, by: User, now: datetime) -> Job:
    remote = vertex.remote_job(external.kind, external.body)
    # A job made by a request of ours is followed by that request, or cancelled as a duplicate.
    label = remote.labels.get(JOB_LABEL, "")
    is_ours = remote.labels.get(INSTANCE_LABEL) == settings.INSTANCE
    if is_ours and UUID_FORM.fullmatch(label) and Job.objects.filter(pk=label, is_adopted=False).exists():
        raise NotPermitted(_("It was created by this Trainboard, which already follows it."))
    try:
        with transaction.atomic():
            return _known(remote, team) or _adopt(external, remote, team, by, now)
    except IntegrityError:  # two people adopted it at the same time
        known = _known(remote, team)
        if known is None:
            raise
        return known


def _known(remote: vertex.RemoteJob, team: Team) -> Job | None:
    job = Job.objects.filter(remote_name=remote.name).first()
    if job is None:
        return None
    ExternalJob.objects.filter(remote_name=remote.name).delete()
    if job.team_id != team.pk:
        raise NotPermitted(_("Another team already follows this job."))
    return job


def _adopt(external: ExternalJob, remote: vertex.RemoteJob, team: Team, by: User, now: datetime) -> Job:
    read_at = external.discovery.answered_at or now
    body = body_of(external.kind, external.body)
    job, findings = _row(external, remote, body, team=team, by=by, now=now)
    words = f"{by.get_username()} adopted {number(remote)}, which was created outside Trainboard and is read only here."
    if is_unreadable(findings):
        words += " Its description is nested too deeply or too large to be read, so Trainboard keeps only its name."
    elif findings:
        words += " Trainboard does not know parts of its description. It keeps them, and a clone asks about them."
    transitions.record_event(
        job,
        JobEvent.Kind.ADOPTED,
        now=now,
        actor=by,
        message=words,
        once_key="adopted",
        detail={"remote_name": remote.name, "not_read": [finding.as_dict() for finding in findings[:MAX_EVENTS]]},
    )
    record(job, remote, now=read_at)
    ExternalJob.objects.filter(remote_name=remote.name).delete()
    claims.wake_scope(project=job.project, region=job.region, kind=job.kind, due_at=now)
    claims.wake_feed(job.project, due_at=now)
    return job


def body_of(kind: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body as it would be requested: without output fields, but with fields that are unknown here."""
    filled_in = {slot.alias for slot in fields(spec.KINDS[kind]) if slot.output}
    return {name: value for name, value in raw.items() if name not in filled_in}


def submission_in(external: ExternalJob) -> tuple[spec.Submission, list[spec.Finding]]:
    """Return what could be read of a discovered job, and findings about the rest and about what is not known here.

    Nothing is read of a body that is nested too deeply or too large.
    """
    read, findings = spec.read(external.kind, body_of(external.kind, external.body))
    if read is None:
        read = spec.read(external.kind, {})[0]
    else:
        findings = [*findings, *unknown_findings(read)]
    place = external.discovery
    return spec.Submission(kind=external.kind, project=place.project, region=place.region, job=read), findings


def _without_unknown(submission: spec.Submission) -> spec.Submission:
    """Return a job without the fields that are unknown here; those of its machines stay, as they may change its price.

    Vertex AI may give new fields in each answer, and the job runs already.
    """
    known = replace(submission, job=submission.job.known_part())
    return known.with_job_spec(known.job_spec.known_part())


def is_unreadable(findings: list[spec.Finding]) -> bool:
    """Return whether nothing of the body could be read."""
    return any(finding.code == "unreadable_body" for finding in findings)


def _row(
    external: ExternalJob, remote: vertex.RemoteJob, body: dict[str, Any], *, team: Team, by: User, now: datetime
) -> tuple[Job, list[spec.Finding]]:
    """Return the saved row, without expected run time and cost, and findings about what could not be read."""
    place, key = external.discovery, adopted_key(remote.name)
    submission, findings = submission_in(external)
    if is_unreadable(findings):
        body = {"displayName": external.display_name}
    strategy = strategies.strategy_of(submission)
    price = cost.estimate(_without_unknown(submission), strategy=strategy, expected=HOUR, book=current_book())
    price = replace(price, hours=0.0, expected_usd=None, low_usd=None, high_usd=None, restarts=None)
    reported = past_moment(remote.create_time, now) or past_moment(remote.start_time, now)
    created_at = min(reported or external.discovery.answered_at or now, now)
    job = Job(
        id=job_id(by, key),
        team=team,
        acts_as=team.acts_as,
        owner=by,
        kind=external.kind,
        display_name=external.display_name,
        project=place.project,
        region=place.region,
        strategy=strategy.key,
        machines=submission.machines_summary,
        spec=body,
        secrets=secrets_as_json(body),
        request_key=key,
        is_adopted=True,
        expected_seconds=0,
        hourly_usd=storable_price(price.usd_per_hour),
        estimate=price.as_dict(),
        remote_name=remote.name,
        state="",
        state_since=created_at,
        requested_at=created_at,
        submitted_at=created_at,
        log_wanted_until=now + WANTED_FOR,
    )
    fit(job)
    job.save(force_insert=True)
    mark_seen([job.pk], now=created_at)
    return job, findings
