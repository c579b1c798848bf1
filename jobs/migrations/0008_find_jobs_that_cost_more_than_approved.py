from django.db import migrations, models

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0007_judged_and_approved_amounts")]

    operations = [
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(
                condition=models.Q(("approved_usd__isnull", False)), fields=["ended_at"], name="job_spending"
            ),
        ),
    ]
