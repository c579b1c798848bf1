from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0080_newest_of_metrics")]

    operations = [
        migrations.AddField(
            "job",
            "folder_key",
            models.BigIntegerField(
                null=True, blank=True, help_text="Equal for jobs with the same output folder; empty without one."
            ),
        ),
        migrations.AlterField(
            "imagereading",
            "status",
            models.CharField(
                blank=True,
                choices=[
                    ("found", "found"),
                    ("no_image", "no_image"),
                    ("no_repository", "no_repository"),
                    ("checkpoints", "checkpoints"),
                    ("no_checkpoints", "no_checkpoints"),
                    ("unknown", "unknown"),
                ],
                max_length=20,
            ),
        ),
    ]
