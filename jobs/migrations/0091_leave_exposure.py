from django.db import migrations


class Migration(migrations.Migration):
    """Leave the column that `max_usd` has replaced; a later version removes it from the database.

    Workers of the version before still read and write it. It may be empty, so new rows need not have it.
    """

    dependencies = [("jobs", "0090_authors_of_schedules")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("job", "exposure_usd")]),
    ]
