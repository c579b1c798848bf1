"""An index of the jobs whose figures are to be counted: at first all that have ended, then only a few."""

from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0019_figures_of_ended_jobs")]

    operations = [
        AddIndexConcurrently("job", Index(fields=["id"], condition=Q(is_counted=False), name="job_to_count")),
    ]
