"""An index of the figures that a version before has written: at first those of all ended jobs, then none."""

from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0070_likeness_of_jobs")]

    operations = [
        AddIndexConcurrently("jobfigures", Index(fields=["job"], condition=Q(version__lt=2), name="figures_to_renew_2")),
        RemoveIndexConcurrently("jobfigures", "figures_to_renew"),
    ]
