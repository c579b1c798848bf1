"""What a job's page and its log load once: the job's events, its trials, and the attempts in its log."""

from dataclasses import dataclass
from datetime import datetime

from dashboard.pages.parts.stored_spec import replica_names
from dashboard.queries.jobs import EventPage, get_study, list_events, list_newest_events
from dashboard.queries.logs import SERVICE, get_first_lines, get_service_log
from jobs import timeline
from jobs.models import Job


@dataclass(frozen=True, slots=True)
class Known:
    """A job with its events, trials and log.

    `tries` are its attempts, None for a tuning job. `replicas` are the writers of log lines and `errors` the errors
    logged by the service; both are None if that part of the log was not read.
    """

    job: Job
    newest: EventPage
    study: timeline.Study | None
    story: timeline.JobTimeline
    tries: timeline.Attempts | None
    replicas: frozenset[str] | None = None
    errors: tuple[str, ...] | None = None


def known_of(job: Job, now: datetime) -> Known:
    """Load a job's timeline, trials and log. At most five queries.

    The attempts of a tuning job are those of its trials, which the timeline shows.
    """
    study, newest = get_study(job), list_newest_events(job)
    events = list_events(job, newest)
    if study:
        lanes = timeline.trial_lanes(job, study, events, now)
        return Known(job, newest, study, timeline.build_timeline(job, events, now, trials=lanes), None)
    names = replica_names(job)
    if job.started_at is None:
        story = timeline.build_timeline(job, events, now, replicas=names)
        return Known(job, newest, None, story, timeline.attempts(events, now))
    service = get_service_log(job)
    tries = timeline.attempts(events, now, **service.times)
    if not names:
        return Known(
            job, newest, None, timeline.build_timeline(job, events, now, tries=tries), tries, None, service.errors
        )
    first = get_first_lines(job, tries)
    replica_log = timeline.ReplicaLog(
        service.ends, {key: at for key, at in first.items() if key[0] != SERVICE}, service.torn_down_at
    )
    story = timeline.build_timeline(job, events, now, replicas=names, tries=tries, replica_log=replica_log)
    return Known(job, newest, None, story, tries, frozenset(name for name, _ in first), service.errors)
