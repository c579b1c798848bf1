from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL), ("jobs", "0089_secrets_of_specs")]

    operations = [
        migrations.AddField(
            "schedule",
            "author",
            models.ForeignKey(
                settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True, blank=True,
                help_text="Who wrote the spec; empty: the owner, or not stored then.",
            ),
        ),
        migrations.AddField(
            "job",
            "author",
            models.ForeignKey(
                settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True, blank=True,
                db_index=False,
                help_text="Who wrote the spec, if somebody else requests it with a schedule; "
                "decides about it no more than them.",
            ),
        ),
    ]  # fmt: skip
