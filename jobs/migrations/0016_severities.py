"""Call severities error, approval and note, as findings do, and one rule by its new code."""

from typing import Any

from django.db import migrations, models

SEVERITIES = {"refuse": "error", "ask": "approval", "advise": "note"}
CODES = {"holes_are_filled": "placeholders_are_filled"}
KINDS = [
    ("state", "state changed"),
    ("judged", "assessed"),
    ("submit_attempted", "submission attempted"),
    ("submit_adopted", "an earlier submission was found"),
    ("cancel_requested", "cancellation requested"),
    ("cancel_sent", "cancellation sent"),
    ("restarted", "restarted"),
    ("machines_lost", "machines lost for the last time"),
    ("explained", "cause of a restart learned"),
    ("error_learned", "error learned"),
    ("unseen", "not observed"),
    ("trouble", "a step failed and will be repeated"),
    ("repaired", "repaired"),
    ("adopted", "adopted from outside"),
    ("delete_requested", "deletion at Vertex AI requested"),
    ("deleted", "deleted at Vertex AI"),
    ("duplicate", "second job at Vertex AI"),
    ("over_approved", "cost more than was approved"),
]


def rename(apps: Any, severities: dict[str, str], codes: dict[str, str]) -> None:
    """Give the settings of rules other severities and codes."""
    settings = apps.get_model("jobs", "RuleSetting").objects
    for old, new in severities.items():
        settings.filter(severity=old).update(severity=new)
    for old, new in codes.items():
        settings.filter(code=old).update(code=new)


def forwards(apps: Any, _: Any) -> None:
    """Take the new names."""
    rename(apps, SEVERITIES, CODES)


def backwards(apps: Any, _: Any) -> None:
    """Take the old names again."""
    rename(apps, {new: old for old, new in SEVERITIES.items()}, {new: old for old, new in CODES.items()})


class Migration(migrations.Migration):
    dependencies = [("jobs", "0015_plain_names")]

    operations = [
        migrations.RunPython(forwards, backwards),
        migrations.AlterField(
            "RuleSetting",
            "severity",
            models.CharField(help_text="error, approval, note, off, or default.", max_length=10),
        ),
        migrations.AlterField("JobEvent", "kind", models.CharField(choices=KINDS, max_length=24)),
        migrations.AlterField(
            "Job",
            "limit_usd",
            models.DecimalField(
                max_digits=14,
                decimal_places=2,
                null=True,
                blank=True,
                help_text="The team's limit that it was compared with.",
            ),
        ),
        migrations.AlterField(
            "Job",
            "log_sources",
            models.JSONField(
                blank=True,
                default=dict,
                help_text="{number of a custom job: label of its lines}; see jobs.observation.log_sources.",
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("Job", "judged_usd", "max_usd"),
                migrations.AlterField(
                    "Job",
                    "max_usd",
                    models.DecimalField(
                        max_digits=14,
                        decimal_places=2,
                        null=True,
                        blank=True,
                        db_column="judged_usd",
                        help_text="The most that may be spent, as assessed last.",
                    ),
                ),
            ]
        ),
    ]
