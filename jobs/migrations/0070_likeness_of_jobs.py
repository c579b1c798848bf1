"""Sums to learn from by program, machine and magnitude of the run time, beside those of the version before.

Nothing of those is taken over: the sweep, or `manage.py count_jobs`, counts every ended job again.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0069_reported_waits")]

    operations = [
        migrations.AddField(
            "jobfigures",
            "teaches",
            models.JSONField(
                blank=True, db_default={}, default=dict, help_text="What it has added to LearnedFigures; {}: nothing."
            ),
        ),
        migrations.AlterField(
            "jobfigures",
            "learned",
            models.JSONField(
                blank=True, db_default={}, default=dict,
                help_text="What the version before has added to LearnedFigures.",
            ),
        ),
        migrations.AlterField("jobfigures", "version", models.PositiveSmallIntegerField(db_default=0, default=2)),
        migrations.AddField(
            "learnedfigures",
            "program",
            models.CharField(
                blank=True, db_default="", default="", max_length=16,
                help_text="See jobs.cost.likeness; empty: every program.",
            ),
        ),
        migrations.AddField(
            "learnedfigures",
            "magnitude",
            models.SmallIntegerField(db_default=0, default=0, help_text="Of the expected run time, in doublings."),
        ),
        migrations.AlterField("learnedfigures", "strategy", models.CharField(blank=True, max_length=32)),
        migrations.AlterField("learnedfigures", "hour", models.SmallIntegerField(default=-2, help_text="BY_LIKENESS.")),
        migrations.RemoveConstraint("learnedfigures", "one_sum_to_learn_from"),
        migrations.AddConstraint(
            "learnedfigures",
            models.UniqueConstraint(
                fields=("team", "program", "region", "machine", "magnitude", "month", "strategy", "tunes", "hour"),
                name="one_sum_by_likeness",
            ),
        ),
    ]  # fmt: skip
