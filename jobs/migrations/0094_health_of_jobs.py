import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add what is known of the work of running jobs, with its events and messages."""

    dependencies = [
        ('jobs', '0093_find_families'),
    ]

    operations = [
        migrations.CreateModel(
            name='JobHealth',
            fields=[
                ('job', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='health', serialize=False, to='jobs.job')),
                ('code', models.CharField(blank=True, help_text='Such as idle or stuck; empty: nothing to report.', max_length=16)),
                ('since', models.DateTimeField(blank=True, null=True)),
                ('is_certain', models.BooleanField(default=False)),
                ('facts', models.JSONField(blank=True, default=dict, help_text='The values of its evidence: seconds, shares, names.')),
                ('assessed_at', models.DateTimeField(blank=True, null=True)),
                ('restarts', models.PositiveIntegerField(default=0, help_text='Of the job when it was assessed.')),
                ('running_since', models.DateTimeField(blank=True, help_text='Of the job when it was assessed.', null=True)),
                ('fine_until', models.DateTimeField(blank=True, help_text='Until when its owner or a lead declares the job fine.', null=True)),
            ],
        ),
        migrations.AlterField(
            model_name='jobevent',
            name='kind',
            field=models.CharField(choices=[('state', 'state changed'), ('judged', 'assessed'), ('submit_attempted', 'submission attempted'), ('submit_adopted', 'an earlier submission was found'), ('cancel_requested', 'cancellation requested'), ('cancel_sent', 'cancellation sent'), ('corrected', 'states corrected'), ('custom_job_state', "state of the pipeline's custom job changed"), ('restarted', 'restarted'), ('machines_lost', 'machines lost for the last time'), ('explained', 'cause of a restart learned'), ('error_learned', 'error learned'), ('unseen', 'not observed'), ('trouble', 'a step failed and will be repeated'), ('repaired', 'repaired'), ('adopted', 'adopted from outside'), ('delete_requested', 'deletion at Vertex AI requested'), ('deleted', 'deleted at Vertex AI'), ('duplicate', 'second job at Vertex AI'), ('over_approved', 'cost more than was approved'), ('cap_near', 'cost four fifths of its cap'), ('cap_reached', 'cost as much as its cap'), ('voted', 'an approver voted'), ('approval_due', 'an approval is due'), ('changed', 'an approver changed the strategy'), ('change_answered', 'the requester answered a change'), ('fallback', 'further attempts'), ('family', 'moved to another family'), ('warned', 'it may waste money'), ('declared_fine', 'somebody declared it fine')], max_length=24),
        ),
        migrations.AlterField(
            model_name='message',
            name='kind',
            field=models.CharField(choices=[('approval_needed', 'Approval needed'), ('approval_reminder', 'Approval still needed'), ('approval_expired', 'Approval expired'), ('approved', 'Approved'), ('change_proposed', 'Approved under another strategy'), ('rejected', 'Rejected'), ('started', 'Started'), ('restarted', 'Preempted or restarted'), ('waiting_long', 'Waiting long'), ('failed', 'Failed'), ('done', 'Succeeded'), ('cancelled', 'Cancelled'), ('over_approved', 'Cost more than approved'), ('budget', 'Budget'), ('cap', 'Cap reached'), ('waste', 'May waste money'), ('fallback', 'Further attempts'), ('schedule', 'Schedule'), ('resource_ends', 'A persistent resource ends'), ('change_waits', 'A change waits for a second person'), ('price_stale', 'Prices are old'), ('monthly_report', 'Monthly report of spend'), ('test', 'Test')], max_length=24),
        ),
    ]
