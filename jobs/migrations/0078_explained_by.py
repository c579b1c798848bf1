"""The version of the rules that explained a failed job. Empty for all jobs at first: the sweep explains them again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0077_change_waits_message")]

    operations = [
        migrations.AddField(
            "job",
            "explained_by",
            models.BigIntegerField(
                blank=True, null=True,
                help_text="Version of the rules that explained it (jobs.explain.RULES); empty: none did.",
            ),
        ),
    ]  # fmt: skip
