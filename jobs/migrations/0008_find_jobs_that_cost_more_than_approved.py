from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class AddIndexWithoutLock(AddIndexConcurrently):
    """Build the index without blocking writes where the database can, on PostgreSQL; SQLite has one writer anyway."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            migrations.AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            migrations.AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0007_judged_and_approved_amounts")]

    operations = [
        AddIndexWithoutLock(
            model_name="job",
            index=models.Index(
                condition=models.Q(("approved_usd__isnull", False)), fields=["ended_at"], name="job_spending"
            ),
        ),
    ]
