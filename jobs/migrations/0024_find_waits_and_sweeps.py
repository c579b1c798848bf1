from django.db import migrations, models

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0023_sweeps_and_drafts")]

    operations = [
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(
                fields=["team", "region", "-started_at"],
                condition=models.Q(("started_at__isnull", False)),
                name="job_waits",
            ),
        ),
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(fields=["team", "spec_digest", "-requested_at", "id"], name="job_identical"),
        ),
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(
                fields=["sweep"], condition=models.Q(("sweep__isnull", False)), name="job_sweep"
            ),
        ),
    ]
