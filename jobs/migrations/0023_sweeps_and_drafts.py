"""Add the digest of a job's spec, the sweep that it belongs to, and drafts of a form as it was typed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0022_job_usage")]

    operations = [
        migrations.AddField(
            "Job",
            "spec_digest",
            models.CharField(
                max_length=64,
                blank=True,
                default="",
                db_default="",
                help_text="Equal for jobs that differ in nothing but their names; empty for jobs from before.",
            ),
        ),
        migrations.AddField(
            "Job",
            "sweep",
            models.UUIDField(
                null=True, blank=True, help_text="Shared by jobs that were requested and are decided about together."
            ),
        ),
        migrations.AddField(
            "Draft",
            "form_key",
            models.CharField(
                max_length=64,
                blank=True,
                default="",
                db_default="",
                help_text="The request key of the form that was typed in; empty for what was imported.",
            ),
        ),
        migrations.AddField(
            "Draft",
            "fields",
            models.JSONField(null=True, blank=True, help_text="{field: what was typed}; empty for what was imported."),
        ),
        migrations.AddField(
            "Draft",
            "version",
            models.PositiveIntegerField(default=0, db_default=0, help_text="Counts how often the form was kept."),
        ),
        migrations.AlterField(
            "Draft",
            "created_at",
            models.DateTimeField(db_index=True, help_text="When it was kept, of a form the last time."),
        ),
        migrations.AddConstraint(
            "Draft", models.UniqueConstraint(fields=["owner", "form_key"], condition=~models.Q(form_key=""), name="one_draft_per_form")
        ),
    ]
