import django.db.models.deletion
from django.db import migrations, models

TEAM = {"on_delete": django.db.models.deletion.CASCADE, "related_name": "+", "to": "jobs.team", "db_index": False}


def amount(help_text: str) -> models.Field:
    return models.BigIntegerField(db_default=0, default=0, help_text=help_text)


MICROS = {
    "micros": "What they cost.",
    "saved_micros": "What the same work would have cost more under Standard.",
    "lost_micros": "What work cost that restarts undid.",
}


class Migration(migrations.Migration):
    """Costs are entries of a ledger in micro-dollars, and sums of them; the version before goes on writing its own."""

    dependencies = [("jobs", "0082_jobs_in_folder")]

    operations = [
        migrations.CreateModel(
            name="CostEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("team", models.ForeignKey(**TEAM)),
                ("project", models.CharField(max_length=63)),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="costs",
                        to="jobs.job",
                    ),
                ),
                (
                    "resource",
                    models.CharField(
                        blank=True,
                        help_text="Region and id of the persistent resource, as us-central1/night-shift.",
                        max_length=110,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("run", "machines of a job"),
                            ("share", "use of a persistent resource by a job"),
                            ("idle", "persistent resource without a job"),
                        ],
                        max_length=10,
                    ),
                ),
                ("day", models.DateField()),
                ("groups", models.JSONField(help_text="Pairs of a Dimension and a value, to whose sums it is added.")),
                ("micros", models.BigIntegerField(help_text="Millionths of a US dollar.")),
                (
                    "usd_per_hour",
                    models.DecimalField(
                        decimal_places=6,
                        help_text="The price; empty: that of the resource's size then.",
                        max_digits=18,
                        null=True,
                    ),
                ),
                (
                    "price",
                    models.CharField(
                        blank=True,
                        help_text="When the prices of the job were saved that it rests on; empty: estimate.",
                        max_length=40,
                    ),
                ),
                ("recorded_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "cost entries",
                "indexes": [
                    models.Index(fields=["job", "kind", "day"], name="cost_of_job"),
                    models.Index(fields=["team", "day"], name="cost_of_team"),
                    models.Index(
                        condition=models.Q(("resource", ""), _negated=True),
                        fields=["project", "resource", "day"],
                        name="cost_of_resource",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SpendSum",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("team", models.ForeignKey(**TEAM)),
                (
                    "dimension",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "all jobs"),
                            ("person", "person"),
                            ("strategy", "strategy"),
                            ("machine", "machine"),
                            ("label", "label"),
                            ("resource", "idle persistent resource"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "value",
                    models.CharField(blank=True, help_text="Person's id, strategy, key=value.", max_length=200),
                ),
                (
                    "period",
                    models.CharField(help_text="A month as 2026-11, or a day as 2026-11-26.", max_length=10),
                ),
                ("micros", models.BigIntegerField(default=0)),
                (
                    "jobs",
                    models.IntegerField(
                        default=0, help_text="Jobs whose machines cost something in it; of a month."
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "period", "dimension", "-micros"], name="largest_sums"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "period", "dimension", "value"), name="one_sum_per_period"
                    ),
                ],
            },
        ),
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
    ]
