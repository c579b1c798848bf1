from django.db import migrations, models


class Migration(migrations.Migration):
    """The field has another name in the code; its column stays, as workers of the version before use it."""

    dependencies = [("jobs", "0057_kept_texts")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="job",
                    name="cap_told",
                    field=models.PositiveSmallIntegerField(
                        db_column="cap_told",
                        db_default=0,
                        default=0,
                        help_text="Percent of the cap last notified of: 0, 80 or 100.",
                    ),
                ),
                migrations.RenameField(model_name="job", old_name="cap_told", new_name="cap_reported"),
                migrations.AlterField(
                    model_name="job",
                    name="cap_cancels",
                    field=models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="It is cancelled at its cap, as the policy that assessed it says.",
                    ),
                ),
            ]
        )
    ]
