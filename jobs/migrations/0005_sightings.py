import django.db.models.deletion
from django.db import migrations, models

SEEN = "SELECT id, seen_at FROM jobs_job WHERE seen_at IS NOT NULL"


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0004_find_jobs_on_persistent_resources'),
    ]

    operations = [
        migrations.CreateModel(
            name='Sighting',
            fields=[
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='sighting', serialize=False, to='jobs.job')),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.RunSQL(
            f'INSERT INTO jobs_sighting (job_id, "at") {SEEN}',
            'UPDATE jobs_job SET seen_at = (SELECT "at" FROM jobs_sighting WHERE job_id = jobs_job.id)',
        ),
        migrations.RemoveField(
            model_name='job',
            name='seen_at',
        ),
    ]
