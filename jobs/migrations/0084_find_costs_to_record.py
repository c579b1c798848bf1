from django.db import migrations, models
from django.db.models import Index, Q

from jobs.database import AddIndexConcurrently


def amount(help_text: str) -> models.Field:
    return models.BigIntegerField(db_default=0, default=0, help_text=help_text)


MICROS = {
    "micros": "What they cost.",
    "saved_micros": "What the same work would have cost more under Standard.",
    "lost_micros": "What work cost that restarts undid.",
}


class Migration(migrations.Migration):
    """Add the columns of the ledger, each by itself, so that no lock of a table in use waits for another one."""

    atomic = False

    dependencies = [("jobs", "0083_ledger")]

    operations = [
        migrations.AddField(
            "job",
            "cost_micros",
            models.BigIntegerField(
                blank=True,
                help_text="Sum of its entries; empty: none was due, or its price is not known.",
                null=True,
            ),
        ),
        migrations.AddField(
            "job",
            "cost_until",
            models.DateTimeField(blank=True, help_text="Until when its cost is in the ledger.", null=True),
        ),
        *(
            migrations.AddField(model, name, amount(words))
            for model in ("jobfigures", "monthfigures")
            for name, words in MICROS.items()
        ),
        *(
            migrations.AlterField(model, name, models.BigIntegerField(db_default=0, default=0))
            for model in ("jobfigures", "monthfigures")
            for name in ("cents", "saved_cents")
        ),
        migrations.AlterField(
            "job",
            "is_counted",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="It has ended, and its figures and entries are those of the row.",
            ),
        ),
        migrations.AlterField("jobfigures", "version", models.PositiveSmallIntegerField(db_default=0, default=3)),
        migrations.AlterField(
            "monthfigures", "wait_bucket", models.SmallIntegerField(default=-2, help_text="IN_COLUMNS.")
        ),
        migrations.AlterField(
            "persistentresource",
            "billed_until",
            models.DateTimeField(blank=True, help_text="Until when its cost is in the ledger.", null=True),
        ),
        AddIndexConcurrently(
            "job",
            Index(
                fields=["cost_until", "id"],
                condition=Q(ended_at=None, started_at__isnull=False),
                name="job_cost_until",
            ),
        ),
        AddIndexConcurrently("job", Index(fields=["team", "id"], condition=Q(is_counted=False), name="job_uncounted")),
        AddIndexConcurrently(
            "jobfigures", Index(fields=["job"], condition=Q(version__lt=3), name="figures_to_renew_3")
        ),
    ]
