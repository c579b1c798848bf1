"""Rename models and fields to the words of the field. Tables and columns keep their names: workers of before read them."""

from django.db import migrations, models
from django.db.migrations.operations.base import Operation

TABLES = {"Pool": "PersistentResource", "Sighting": "LastSeen", "Survey": "Discovery", "ForeignJob": "ExternalJob"}
KINDS = [
    ("events", "events of jobs about steps that failed and were repeated"),
    ("log_lines", "log lines of replicas"),
    ("surveys", "discoveries and the external jobs that they found"),
    ("set_aside", "set aside items"),
    ("persistent_resources", "persistent resources that are gone"),
]
FAILED = "The last failure, for people."


def renamed() -> list[Operation]:
    """Return the renames of models, each of which keeps its table."""
    operations: list[Operation] = []
    for old, new in TABLES.items():
        operations += [migrations.RenameModel(old, new), migrations.AlterModelTable(new, f"jobs_{old.lower()}")]
    return operations


def last_error(model: str, help_text: str = FAILED) -> list[Operation]:
    """Return the rename of the field `trouble` of a model, which keeps its column."""
    field = models.TextField(blank=True, db_column="trouble", help_text=help_text)
    return [migrations.RenameField(model, "trouble", "last_error"), migrations.AlterField(model, "last_error", field)]


class Migration(migrations.Migration):
    dependencies = [("jobs", "0014_replica_machines")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *renamed(),
                migrations.RenameField("ExternalJob", "survey", "discovery"),
                migrations.AlterField(
                    "ExternalJob",
                    "discovery",
                    models.ForeignKey(
                        "jobs.discovery", models.CASCADE, db_column="survey_id", related_name="found"
                    ),
                ),
                migrations.RemoveIndex("ExternalJob", "foreign_job_newest"),
                migrations.AddIndex(
                    "ExternalJob", models.Index(fields=["discovery", "-created_at", "id"], name="foreign_job_newest")
                ),
                migrations.AlterField(
                    "LastSeen",
                    "job",
                    models.OneToOneField(
                        "jobs.job", models.CASCADE, primary_key=True, related_name="last_seen", serialize=False
                    ),
                ),
                *last_error("Job", "Why the last step failed; empty when it did not."),
                *(operation for model in ("Scope", "LogFeed", "Upkeep", "Discovery") for operation in last_error(model)),
                migrations.RenameField("JobEvent", "sentence", "message"),
                migrations.AlterField(
                    "JobEvent",
                    "message",
                    models.TextField(db_column="sentence", help_text="What happened, in the past tense, for people."),
                ),
            ]
        ),
        migrations.AlterField(
            "PersistentResource", "seen_at", models.DateTimeField(help_text="When Vertex AI last listed it.")
        ),
        migrations.AlterField("RetentionSetting", "kind", models.CharField(choices=KINDS, max_length=32, unique=True)),
    ]
