import django.db.models.deletion
from django.db import migrations, models

from jobs.database import RemoveIndexConcurrently

TEAM = {
    "db_constraint": False,
    "db_index": False,
    "on_delete": django.db.models.deletion.CASCADE,
    "related_name": "+",
    "to": "jobs.team",
}
LEFT = ("Committed", "DaySpend", "JobSpend", "MonthSpend", "ResourceSpend")


class Migration(migrations.Migration):
    """Leave the tables and columns that the ledger replaces; a later version removes them from the database.

    The version before still writes them. They refer to no other table any more, so that nothing here depends on them.
    """

    atomic = False

    dependencies = [("jobs", "0085_opening_entries")]

    operations = [
        *(migrations.AlterField(model.lower(), "team", models.ForeignKey(**TEAM)) for model in LEFT),
        migrations.AlterField(
            "jobspend",
            "job",
            models.OneToOneField(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                primary_key=True,
                related_name="spend",
                serialize=False,
                to="jobs.job",
            ),
        ),
        RemoveIndexConcurrently("job", "job_to_count"),
        RemoveIndexConcurrently("jobfigures", "figures_to_renew_2"),
        migrations.RemoveIndex("monthfigures", "months_to_fold"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(migrations.DeleteModel(model) for model in LEFT),
                migrations.RemoveField("jobfigures", "learned"),
                *(
                    migrations.RemoveField(model, name)
                    for model in ("jobfigures", "monthfigures")
                    for name in ("cents", "saved_cents", "lost_cents")
                ),
            ]
        ),
    ]
