from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0061_search_in_indexes")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="waited_again_seconds",
            field=models.FloatField(db_default=0, default=0, help_text="Finished waits after its first run."),
        ),
        migrations.AddField(
            model_name="job",
            name="waiting_again_since",
            field=models.DateTimeField(
                blank=True, help_text="Start of the open wait after a run.", null=True
            ),
        ),
    ]
