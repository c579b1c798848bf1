"""Schedules: a spec with the times at which it is requested. People change the times, pause and delete it.

The spec itself never changes. Leads may change the times of another person's schedule and resume it; from then on its
jobs are requested in the lead's name, so that nobody makes others request something and then approves it. Whoever wrote
the spec decides about its jobs no more than the lead does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from jobs import bounds, cron, outbox, spec
from jobs.allowed_resources import check_project
from jobs.errors import NotPermitted
from jobs.fallback import Plan
from jobs.models import Message, Role, Schedule, Team
from jobs.models.schedule import MAX_NAME_LENGTH, MAX_REGION_LENGTH
from jobs.permissions import check_may_request, role_of
from jobs.requests.allowed_resources import allowed_of, kept_project
from jobs.spec.secrets import holds_mask, mask_secrets
from jobs.texts import Text, as_json
from jobs.texts import translatable as _

MAX_OF_TEAM = 100


class NotUsable(Exception):
    """The schedule cannot be saved like this. `field` is the one to change, and the message states why."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Times:
    """What can be changed of a schedule: its name, and when it runs."""

    name: str
    cron: str
    time_zone: str
    allows_overlap: bool = False
    last_day: date | None = None


def create_schedule(
    times: Times,
    *,
    submission: spec.Submission,
    team: Team,
    by: User,
    expected: timedelta,
    now: datetime,
    cap_usd: Decimal | None = None,
    plan: Plan | None = None,
    schedule_id: UUID | None = None,
) -> Schedule:
    """Save a spec that is requested in the name of `by` at these times. Raise NotPermitted and NotUsable.

    `schedule_id` is the id of the new schedule, if the caller derives it from the request.
    """
    check_may_request(by, team)
    body = spec.rest_body(submission.job)
    kept_plan = None if plan is None else plan.as_dict()
    _check_may_be_kept(body, kept_plan, submission.region)
    if (refused := check_project(submission.project, allowed_of(team))) is not None:
        raise NotUsable("name", f"{refused.message} {refused.remedy}")
    if Schedule.objects.filter(team=team).count() >= MAX_OF_TEAM:
        raise NotUsable(
            "name", gettext("A team has at most %(limit)s schedules; delete one first.") % {"limit": MAX_OF_TEAM}
        )
    row = Schedule(
        id=schedule_id or uuid4(),
        team=team,
        owner=by,
        author=by,
        kind=submission.kind,
        spec=body,
        region=submission.region,
        project=kept_project(team, submission.project),
        expected_seconds=int(expected.total_seconds()),
        cap_usd=cap_usd,
        plan=kept_plan,
        created_at=now,
    )
    return _save(row, times, now)


def _check_may_be_kept(body: dict[str, Any], plan: dict[str, Any] | None, region: str) -> None:
    if holds_mask(mask_secrets(body)):
        words = gettext(
            "It contains what looks like a secret, which a schedule does not store. Keep it in Secret Manager instead."
        )
        raise NotUsable("name", words)
    if not bounds.is_storable_json([body, plan, region]):
        raise NotUsable("name", gettext("Its request contains characters that cannot be stored."))
    if len(region) > MAX_REGION_LENGTH:
        raise NotUsable(
            "name", gettext("The name of its region has more than %(limit)s characters.") % {"limit": MAX_REGION_LENGTH}
        )


def change_schedule(row: Schedule, changes: Mapping[str, Any], *, by: User, now: datetime) -> Schedule:
    """Change the fields of `Times` that are in `changes`. Raise NotPermitted and NotUsable.

    The other fields keep their saved values. If nothing changes, nothing is written. If the times change, the schedule
    is that of `by` from then on.
    """
    check_may_change(row, by)
    with transaction.atomic():
        fresh = Schedule.objects.select_for_update().select_related("owner", "team").get(pk=row.pk)
        kept = Times(fresh.name, fresh.cron, fresh.time_zone, fresh.allows_overlap, fresh.last_day)
        times = replace(kept, **changes)
        if has_times(fresh, times) and (fresh.next_at is not None or not fresh.is_enabled):
            return fresh
        if replace(times, name=kept.name) != kept:
            _take_over(fresh, by, now)
        return _save(fresh, times, now)


def pause_schedule(row: Schedule, *, by: User, now: datetime) -> None:
    """Pause a schedule until somebody resumes it. Raise NotPermitted."""
    check_may_change(row, by)
    pause(row, _("%(person)s paused it.", person=by.get_username()), now)


def resume_schedule(row: Schedule, *, by: User, now: datetime) -> None:
    """Resume a schedule from now on.

    Runs that were due meanwhile are not repeated. The schedule is that of `by` from then on. Raise NotPermitted and
    NotUsable.
    """
    check_may_change(row, by)
    with transaction.atomic():
        fresh = Schedule.objects.select_for_update().select_related("owner", "team").get(pk=row.pk)
        _take_over(fresh, by, now)
        check_may_request(fresh.owner, fresh.team)
        fresh.is_enabled, fresh.paused_because, fresh.paused_parts, fresh.updated_at = True, "", None, now
        fresh.next_at = next_of(fresh, now)
        if fresh.next_at is None:
            raise NotUsable("last_day", gettext("Its last day is in the past. Choose a later one."))
        fresh.save()


def _take_over(row: Schedule, by: User, now: datetime) -> None:
    """Let a schedule request in the name of `by`, with a message to the owner until now. The caller saves the row."""
    if row.owner_id == by.pk:
        return
    row.author = row.author or row.owner
    text = _(
        "%(name)s: %(person)s has changed when it runs. Its jobs are requested in the name of %(person)s from now on.",
        name=row.name,
        person=by.get_username(),
    )
    tell_owner(row, text, key=f"taken-over:{now.isoformat()}", now=now)
    row.owner = by


def tell_owner(row: Schedule, text: Text, *, key: str, now: datetime) -> None:
    """Write a message to the owner of a schedule, or to the leads of the team if the owner has left; once for a key."""
    outbox.announce(
        Message.Kind.SCHEDULE,
        team=row.team,
        once_key=f"schedule:{row.pk}:{key}",
        now=now,
        detail={
            "person": row.owner_id,
            "text": text,
            "next": _("Open the schedule to see all of its runs."),
            "path": f"/schedules/{row.pk}/",
        },
    )


def delete_schedule(row: Schedule, *, by: User) -> None:
    """Delete a schedule and the list of its runs. The jobs stay. Raise NotPermitted."""
    check_may_change(row, by)
    row.delete()


def pause(row: Schedule, because: str, now: datetime) -> None:
    """Pause a schedule and store the reason."""
    with transaction.atomic():
        fresh = Schedule.objects.select_for_update().get(pk=row.pk)
        fresh.is_enabled, fresh.next_at, fresh.updated_at = False, None, now
        fresh.paused_because, fresh.paused_parts = because[:300], as_json(because)
        fresh.save()


def may_change(row: Schedule, by: User) -> bool:
    """Return whether a person may change a schedule: leads any of the team's, engineers and approvers their own."""
    role = role_of(by, team_id=row.team_id)
    return role == Role.LEAD or (row.owner_id == by.pk and role in {Role.ENGINEER, Role.APPROVER})


def check_may_change(row: Schedule, by: User) -> None:
    """Raise NotPermitted unless `may_change`."""
    if not may_change(row, by):
        raise NotPermitted(gettext("Only its owner and leads of the team change a schedule."))


def has_times(row: Schedule, times: Times) -> bool:
    """Return whether a schedule has this name and these times."""
    wanted = (_name_of(times), " ".join(times.cron.split()), times.time_zone, times.allows_overlap, times.last_day)
    return (row.name, row.cron, row.time_zone, row.allows_overlap, row.last_day) == wanted


def next_of(row: Schedule, after: datetime) -> datetime | None:
    """Return when a schedule is due next, or None if that is after its last day."""
    moment = cron.next_moment(row.cron, row.time_zone, after)
    if moment is None or row.last_day is None:
        return moment
    return moment if moment.astimezone(ZoneInfo(row.time_zone)).date() <= row.last_day else None


def submission_of(row: Schedule, moment: datetime) -> spec.Submission:
    """Return the submission for one time. Its name ends with the date and time in the schedule's time zone.

    Its output folder is its own, so that it does not continue from the end of the run before.
    """
    stamp = f"-{moment.astimezone(ZoneInfo(row.time_zone)):%Y-%m-%d-%H%M}"
    name = str(row.spec.get("displayName", row.name))
    body = row.spec | {"displayName": f"{name[: 128 - len(stamp)]}{stamp}"}
    found = spec.stored_submission(f"schedule {row.pk}", row.kind, body, project=project_of(row), region=row.region)
    return spec.with_own_folder(found, moment)


def project_of(row: Schedule) -> str:
    """Return the project of the schedule's jobs: the chosen one, else the team's current default."""
    return row.project or row.team.project


def _name_of(times: Times) -> str:
    return " ".join(bounds.clean(times.name).split())


def _save(row: Schedule, times: Times, now: datetime) -> Schedule:
    name = _name_of(times)
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise NotUsable("name", gettext("Give it a name of at most %(limit)s characters.") % {"limit": MAX_NAME_LENGTH})
    if problem := cron.problem_of(times.cron, times.time_zone, now.astimezone(UTC)):
        raise NotUsable("time_zone" if times.time_zone not in available_timezones() else "cron", problem)
    row.name, row.cron, row.time_zone = name, " ".join(times.cron.split()), times.time_zone
    row.allows_overlap, row.last_day, row.updated_at = times.allows_overlap, times.last_day, now
    row.next_at = next_of(row, now) if row.is_enabled else None
    if row.is_enabled and row.next_at is None:
        raise NotUsable("last_day", gettext("It has no run before its last day ends."))
    try:
        with transaction.atomic():
            row.save(force_insert=row._state.adding)
    except IntegrityError:
        raise NotUsable("name", gettext("The team already has a schedule with this name.")) from None
    return row
