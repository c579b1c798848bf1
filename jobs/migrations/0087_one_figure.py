"""The most that a job can cost is one figure: what ceilings compared until now, with every restart by Google.

Jobs that have not ended get it. What is waiting for an approval is decided by the new amount, and what is allowed and
not yet sent is assessed again. Ended jobs keep what was shown.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import F

RUNS = {"spot": 7}
"""How often Google may run a job; under other strategies four times."""


def take_exposure(apps: Any, schema_editor: Any) -> None:
    jobs = apps.get_model("jobs", "Job").objects.using(schema_editor.connection.alias)
    open_jobs = jobs.filter(ended_at=None, max_usd__isnull=False)
    for strategy in set(open_jobs.filter(exposure_usd=None).values_list("strategy", flat=True)):
        older = open_jobs.filter(exposure_usd=None, strategy=strategy, max_usd__lt=10**11)
        older.update(max_usd=F("max_usd") * RUNS.get(strategy, 4))
    open_jobs.filter(exposure_usd__gt=F("max_usd")).update(max_usd=F("exposure_usd"))


class Migration(migrations.Migration):
    dependencies = [("jobs", "0086_leave_old_sums")]

    operations = [
        migrations.AlterField(
            "job",
            "exposure_usd",
            models.DecimalField(
                blank=True, decimal_places=2, max_digits=14, null=True,
                help_text="What the version before has written; `max_usd` has replaced it.",
            ),
        ),
        migrations.AlterField(
            "job",
            "max_usd",
            models.DecimalField(
                blank=True, db_column="judged_usd", decimal_places=2, max_digits=14, null=True,
                help_text="The most that can be spent if nobody but Google ends it, as assessed last.",
            ),
        ),
        migrations.RunPython(take_exposure, migrations.RunPython.noop),
    ]  # fmt: skip
