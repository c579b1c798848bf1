from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0083_ledger")]

    operations = [
        AddIndexConcurrently(
            "job",
            Index(
                fields=["cost_until", "id"],
                condition=Q(ended_at=None, started_at__isnull=False),
                name="job_cost_until",
            ),
        ),
        AddIndexConcurrently("job", Index(fields=["team", "id"], condition=Q(is_counted=False), name="job_uncounted")),
        AddIndexConcurrently(
            "jobfigures", Index(fields=["job"], condition=Q(version__lt=3), name="figures_to_renew_3")
        ),
    ]
