from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0088_exported_seals")]

    operations = [
        migrations.AddField(
            "job",
            "secrets",
            models.JSONField(
                null=True, blank=True,
                help_text="Where the secrets of the spec are, by jobs.spec.secrets; empty: not searched.",
            ),
        ),
    ]  # fmt: skip
