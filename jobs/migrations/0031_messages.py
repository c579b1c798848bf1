# Messages to people and channels: new tables only

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0030_policy_versions_and_votes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='retentionsetting',
            name='kind',
            field=models.CharField(choices=[('events', 'events of jobs about steps that failed and were repeated'), ('log_lines', 'log lines of replicas'), ('surveys', 'discoveries and the external jobs that they found'), ('set_aside', 'set aside items'), ('messages', 'messages and their deliveries'), ('persistent_resources', 'persistent resources that are gone')], max_length=32, unique=True),
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('via', models.CharField(choices=[('email', 'e-mail'), ('slack', 'Slack'), ('google_chat', 'Google Chat'), ('webhook', 'webhook')], max_length=16)),
                ('name', models.CharField(max_length=60)),
                ('address', models.CharField(help_text='An e-mail address, or the https address of a webhook.', max_length=1000)),
                ('kinds', models.JSONField(default=list, help_text='Kinds of messages that it gets.')),
                ('digest', models.CharField(blank=True, choices=[('', 'each at once'), ('hourly', 'one summary an hour'), ('daily', 'one summary a day')], max_length=8)),
                ('secret', models.CharField(blank=True, help_text='Signs webhooks: whsec_ and base64.', max_length=120)),
                ('old_secret', models.CharField(blank=True, help_text='Signs beside it after a rotation.', max_length=120)),
                ('old_secret_until', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField()),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('claimed_until', models.DateTimeField(blank=True, help_text='A worker sends to it until then.', null=True)),
                ('held_until', models.DateTimeField(blank=True, help_text='Not tried before, because it failed.', null=True)),
                ('failures', models.PositiveIntegerField(default=0, help_text='Failures in a row.')),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('last_sent_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='jobs.team')),
            ],
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, help_text='Its id at every receiver.', unique=True)),
                ('kind', models.CharField(choices=[('approval_needed', 'Approval needed'), ('approval_reminder', 'Approval still needed'), ('approval_expired', 'Approval expired'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('started', 'Started'), ('restarted', 'Preempted or restarted'), ('waiting_long', 'Waiting long'), ('failed', 'Failed'), ('done', 'Succeeded'), ('cancelled', 'Cancelled'), ('over_approved', 'Cost more than approved'), ('budget', 'Budget'), ('cap', 'Cap reached'), ('price_stale', 'Prices are old'), ('monthly_report', 'Monthly report of spend'), ('test', 'Test')], max_length=24)),
                ('once_key', models.CharField(max_length=200, unique=True)),
                ('detail', models.JSONField(blank=True, default=dict)),
                ('occurred_at', models.DateTimeField()),
                ('created_at', models.DateTimeField()),
                ('routed_at', models.DateTimeField(blank=True, help_text='When its deliveries were written.', null=True)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('event', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='jobs.jobevent')),
                ('job', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='jobs.job')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='jobs.team')),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('via', models.CharField(choices=[('browser', 'browser'), ('email', 'e-mail'), ('slack', 'Slack'), ('google_chat', 'Google Chat'), ('webhook', 'webhook')], max_length=16)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('sent', 'sent'), ('dead', 'not delivered'), ('dropped', 'dropped')], default='waiting', max_length=16)),
                ('is_digest', models.BooleanField(default=False, help_text='Sent together with others that are due.')),
                ('created_at', models.DateTimeField()),
                ('due_at', models.DateTimeField(help_text='When it is tried next.')),
                ('give_up_at', models.DateTimeField(help_text='A failure after this is the last one.')),
                ('claim', models.UUIDField(blank=True, null=True)),
                ('claimed_until', models.DateTimeField(blank=True, null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('ended_at', models.DateTimeField(blank=True, help_text='When it was sent, dropped or given up.', null=True)),
                ('read_at', models.DateTimeField(blank=True, help_text='In the browser: when it was read.', null=True)),
                ('channel', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='jobs.channel')),
                ('job', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='jobs.job')),
                ('person', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='jobs.team')),
                ('message', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='jobs.message')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
            },
        ),
        migrations.CreateModel(
            name='MessagePreference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('choices', models.JSONField(blank=True, default=dict, help_text='{kind: ["browser", "email"]}')),
                ('about_others', models.BooleanField(default=False, help_text='Also about jobs that others of the team requested.')),
                ('digest', models.CharField(blank=True, choices=[('', 'each at once'), ('hourly', 'one summary an hour'), ('daily', 'one summary a day')], help_text='Of e-mail.', max_length=8)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='message_preference', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.UniqueConstraint(fields=('team', 'name'), name='one_channel_per_team_and_name'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('routed_at', None)), fields=['id'], name='message_to_route'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['job', 'kind'], name='message_of_job'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['created_at'], name='message_age'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('person__isnull', False), ('state', 'waiting')), fields=['due_at', 'id'], name='delivery_due_person'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['channel', 'due_at', 'id'], name='delivery_due_channel'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['job', 'id'], name='delivery_order'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('via', 'browser')), fields=['person', '-created_at', 'id'], name='delivery_inbox'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('read_at', None), ('via', 'browser')), fields=['person'], name='delivery_unread'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'dead')), fields=['team', '-ended_at', 'id'], name='delivery_dead'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['channel', '-id'], name='delivery_of_channel'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['person'], name='delivery_waiting_person'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('message', 'person', 'via'), name='one_delivery_per_person_and_way'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('message', 'channel'), name='one_delivery_per_channel'),
        ),
    ]
