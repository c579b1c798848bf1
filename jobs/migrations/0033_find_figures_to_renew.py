"""An index of the figures that a version before has written: at first those of all ended jobs, then none."""

from django.db import migrations
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0032_learned_figures")]

    operations = [
        AddIndexConcurrently("jobfigures", Index(fields=["job"], condition=Q(version__lt=1), name="figures_to_renew")),
    ]
