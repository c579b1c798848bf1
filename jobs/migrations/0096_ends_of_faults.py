from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the event that a fault of a running job is not found any more."""

    dependencies = [
        ('jobs', '0095_answers_about_waste'),
    ]

    operations = [
        migrations.AlterField(
            model_name='jobevent',
            name='kind',
            field=models.CharField(choices=[('state', 'state changed'), ('judged', 'assessed'), ('submit_attempted', 'submission attempted'), ('submit_adopted', 'an earlier submission was found'), ('cancel_requested', 'cancellation requested'), ('cancel_sent', 'cancellation sent'), ('corrected', 'states corrected'), ('custom_job_state', "state of the pipeline's custom job changed"), ('restarted', 'restarted'), ('machines_lost', 'machines lost for the last time'), ('explained', 'cause of a restart learned'), ('error_learned', 'error learned'), ('unseen', 'not observed'), ('trouble', 'a step failed and will be repeated'), ('repaired', 'repaired'), ('adopted', 'adopted from outside'), ('delete_requested', 'deletion at Vertex AI requested'), ('deleted', 'deleted at Vertex AI'), ('duplicate', 'second job at Vertex AI'), ('over_approved', 'cost more than was approved'), ('cap_near', 'cost four fifths of its cap'), ('cap_reached', 'cost as much as its cap'), ('voted', 'an approver voted'), ('approval_due', 'an approval is due'), ('changed', 'an approver changed the strategy'), ('change_answered', 'the requester answered a change'), ('fallback', 'further attempts'), ('family', 'moved to another family'), ('warned', 'it may waste money'), ('declared_fine', 'somebody declared it fine'), ('cleared', 'its fault is not found any more')], max_length=24),
        ),
    ]
