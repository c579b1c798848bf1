from itertools import groupby

from django.db import migrations, transaction
from django.db.models import Q

WAITING, WORKING = ("queued", "pending"), ("running", "updating")
PORTION = 500


def fill_waits(apps, schema_editor):
    """Compute the waits of jobs that were restarted, and of pipelines, from their events."""
    Job, JobEvent = apps.get_model("jobs", "Job"), apps.get_model("jobs", "JobEvent")
    may_have_waited = Job.objects.filter(Q(restarts__gt=0) | ~Q(custom_job_state=""), started_at__isnull=False)
    keys = list(may_have_waited.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), PORTION):
        with transaction.atomic():  # short, because a changed row is locked until its end
            _fill(Job, JobEvent, keys[start : start + PORTION])


def _fill(Job, JobEvent, keys):
    events = JobEvent.objects.filter(job__in=keys, kind__in=("state", "custom_job_state")).order_by("job", "id")
    rows = events.values_list("job", "job__started_at", "kind", "to_state", "occurred_at")
    for job, group in groupby(rows, key=lambda row: row[0]):
        waits = find_waits(list(group))
        if waits:
            Job.objects.filter(pk=job).update(
                waited_again_seconds=sum((end - start).total_seconds() for start, end in waits if end is not None),
                waiting_again_since=next((start for start, end in waits if end is None), None),
            )


def find_waits(rows):
    """Return the start and end of each wait after the first run. The end of an open one is None."""
    started_at = rows[0][1]
    own, custom = (spans_of([row[3:] for row in rows if row[2] == kind]) for kind in ("state", "custom_job_state"))
    found = [(start, end) for state, start, end in own if state in WAITING]
    for state, since, until in own:
        for inner, start, end in custom:
            ends = [each for each in (until, end) if each is not None]
            both = max(since, start), min(ends, default=None)
            if state in WORKING and inner in WAITING and (both[1] is None or both[1] > both[0]):
                found.append(both)
    return [(start, end) for start, end in found if start >= started_at]


def spans_of(changes):
    """Return the state, start and end of each span. A span does not begin before the one before it."""
    found = []
    for state, at in changes:
        start = max(at, found[-1][1]) if found else at
        if found:
            found[-1] = (*found[-1][:2], start)
        found.append((state, start, None))
    return found


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0062_waits_after_restarts")]

    operations = [migrations.RunPython(fill_waits, migrations.RunPython.noop)]
