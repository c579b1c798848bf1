from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0068_ceilings")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="wait_error",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What Vertex AI last reported in its present wait for machines; empty: nothing, or it does not wait.",
                max_length=500,
            ),
        ),
    ]
