from django.db import migrations, models


def altered(name: str, field: models.Field) -> migrations.AlterField:
    return migrations.AlterField(model_name="monthfigures", name=name, field=field)


class Migration(migrations.Migration):
    """Figures of months have one row for the jobs of every bucket of waits, and may be negative in a single row.

    `jobs.upkeep.figures` moves the rows that there are into rows of this kind.
    """

    dependencies = [("jobs", "0058_cap_reported")]

    operations = [
        *(
            migrations.AddField(
                model_name="monthfigures",
                name=f"waited_{bucket}",
                field=models.IntegerField(db_default=0, default=0),
            )
            for bucket in range(17)
        ),
        altered("jobs", models.IntegerField(default=0)),
        altered("unpriced", models.IntegerField(default=0, help_text="Jobs that ran and have no known price.")),
        altered(
            "estimated",
            models.IntegerField(
                db_default=0, default=0, help_text="Jobs that succeeded and had a range of costs before."
            ),
        ),
        altered(
            "inside",
            models.IntegerField(db_default=0, default=0, help_text="Those of them that cost what it said."),
        ),
        altered("preemptions", models.IntegerField(default=0)),
        altered("wait_bucket", models.SmallIntegerField(default=-2, help_text="IN_COLUMNS, or that of all its jobs.")),
        migrations.AddIndex(
            model_name="monthfigures",
            index=models.Index(
                fields=["team", "month"], condition=models.Q(wait_bucket__gt=-2), name="months_to_fold"
            ),
        ),
    ]
