from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0087_one_figure")]

    operations = [
        migrations.AddField(
            "auditseal",
            "exported_at",
            models.DateTimeField(
                null=True, blank=True,
                help_text="When the configured address accepted it with its entries; empty: not yet.",
            ),
        ),
    ]  # fmt: skip
