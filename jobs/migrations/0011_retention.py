import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0010_set_aside_items'),
    ]

    operations = [
        migrations.CreateModel(
            name='RetentionSetting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('events', 'events of jobs that tell of passing trouble'), ('log_lines', 'log lines of replicas'), ('surveys', 'surveys and the jobs that they found'), ('set_aside', 'set aside items'), ('persistent_resources', 'persistent resources that are gone')], max_length=32, unique=True)),
                ('days', models.PositiveIntegerField(help_text='Older ones are removed.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)])),
            ],
        ),
        migrations.CreateModel(
            name='Upkeep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('claimed_until', models.DateTimeField(blank=True, null=True)),
                ('claim', models.UUIDField(blank=True, null=True)),
                ('answered_at', models.DateTimeField(blank=True, help_text='Last time Google answered.', null=True)),
                ('failing_since', models.DateTimeField(blank=True, null=True)),
                ('failures', models.PositiveIntegerField(default=0, help_text='Failures in a row.')),
                ('trouble', models.TextField(blank=True, help_text='The last failure, for people.')),
                ('name', models.CharField(max_length=32, unique=True)),
                ('result', models.JSONField(blank=True, default=dict, help_text='What the last run did.')),
            ],
            options={
                'verbose_name_plural': 'upkeep',
            },
        ),
    ]
