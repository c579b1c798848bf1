from django.db import migrations, models


class Migration(migrations.Migration):
    """Add what policies do about wasteful jobs, and open questions about them."""

    dependencies = [
        ('jobs', '0094_health_of_jobs'),
    ]

    operations = [
        migrations.AddField(
            model_name='jobhealth',
            name='answer_hours',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Hours after which an open question cancels the job; 0: it does not.'),
        ),
        migrations.AddField(
            model_name='jobhealth',
            name='asked_at',
            field=models.DateTimeField(blank=True, help_text='Since when its owner could answer “Still working?”; empty: no open question.', null=True),
        ),
        migrations.AddField(
            model_name='jobhealth',
            name='fine_seconds',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='How long its owner has declared it fine, in all.'),
        ),
        migrations.AddField(
            model_name='policyversion',
            name='waste_hours',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='{fault: hours after which a running job is cancelled unless somebody answers, 0: its owner is only asked}. A fault that is missing is only reported.'),
        ),
    ]
