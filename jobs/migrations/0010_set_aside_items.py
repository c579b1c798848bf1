from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0009_shown_jobs'),
    ]

    operations = [
        migrations.CreateModel(
            name='SetAsideItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.CharField(help_text='Where it came from, such as a scope or the logs of a project.', max_length=200)),
                ('item', models.CharField(help_text='Its name there, as far as it has one.', max_length=200)),
                ('reason', models.TextField(help_text='Why it could not be stored or read as it was.')),
                ('is_kept', models.BooleanField(default=False, help_text='It was stored, with parts cut to fit.')),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField(db_index=True)),
                ('count', models.PositiveBigIntegerField(default=1, help_text='How often it was met.')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('place', 'item'), name='one_row_per_set_aside_item')],
            },
        ),
    ]
