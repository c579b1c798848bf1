import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0091_leave_exposure")]

    operations = [
        migrations.CreateModel(
            "RunSummary",
            [
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="run_summary",
                        serialize=False, to="jobs.job",
                    ),
                ),
                (
                    "settings",
                    models.JSONField(default=dict, help_text="{name: value} by jobs.spec.settings, without secrets."),
                ),
                (
                    "results",
                    models.JSONField(
                        default=dict, help_text="{metric: [last, lowest, highest]} by jobs.timeline.results."
                    ),
                ),
            ],
            options={"verbose_name_plural": "summaries of runs"},
        ),
        migrations.AddField(
            "job",
            "family",
            models.UUIDField(
                null=True, blank=True,
                help_text="Shared by the runs of a family (jobs.upkeep.families); empty: not filed yet.",
            ),
        ),
        migrations.AlterField("jobevent", "kind", models.CharField(choices=[('state', 'state changed'), ('judged', 'assessed'), ('submit_attempted', 'submission attempted'), ('submit_adopted', 'an earlier submission was found'), ('cancel_requested', 'cancellation requested'), ('cancel_sent', 'cancellation sent'), ('corrected', 'states corrected'), ('custom_job_state', "state of the pipeline's custom job changed"), ('restarted', 'restarted'), ('machines_lost', 'machines lost for the last time'), ('explained', 'cause of a restart learned'), ('error_learned', 'error learned'), ('unseen', 'not observed'), ('trouble', 'a step failed and will be repeated'), ('repaired', 'repaired'), ('adopted', 'adopted from outside'), ('delete_requested', 'deletion at Vertex AI requested'), ('deleted', 'deleted at Vertex AI'), ('duplicate', 'second job at Vertex AI'), ('over_approved', 'cost more than was approved'), ('cap_near', 'cost four fifths of its cap'), ('cap_reached', 'cost as much as its cap'), ('voted', 'an approver voted'), ('approval_due', 'an approval is due'), ('changed', 'an approver changed the strategy'), ('change_answered', 'the requester answered a change'), ('fallback', 'further attempts'), ('family', 'moved to another family')], max_length=24)),
    ]  # fmt: skip
