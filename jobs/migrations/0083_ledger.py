import django.db.models.deletion
from django.db import migrations, models

TEAM = {"on_delete": django.db.models.deletion.CASCADE, "related_name": "+", "to": "jobs.team", "db_index": False}


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
    ]
