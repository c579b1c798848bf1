from itertools import groupby

from django.db import migrations, models
from django.db.models import Q

WAITING, WORKING = ("queued", "pending"), ("running", "updating")


def fill_waits(apps, schema_editor):
    """Compute the waits of jobs that were restarted, and of pipelines, from their events."""
    Job, JobEvent = apps.get_model("jobs", "Job"), apps.get_model("jobs", "JobEvent")
    may_have_waited = Q(job__restarts__gt=0) | ~Q(job__custom_job_state="")
    events = JobEvent.objects.filter(
        may_have_waited, job__started_at__isnull=False, kind__in=("state", "custom_job_state")
    )
    rows = events.order_by("job", "id").values_list("job", "job__started_at", "kind", "to_state", "occurred_at")
    for job, group in groupby(rows.iterator(chunk_size=5_000), key=lambda row: row[0]):
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
    dependencies = [("jobs", "0061_search_in_indexes")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="waited_again_seconds",
            field=models.FloatField(db_default=0, default=0, help_text="Finished waits after its first run."),
        ),
        migrations.AddField(
            model_name="job",
            name="waiting_again_since",
            field=models.DateTimeField(
                blank=True, help_text="Start of the open wait after a run.", null=True
            ),
        ),
        migrations.RunPython(fill_waits, migrations.RunPython.noop),
    ]
