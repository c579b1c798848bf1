import django.db.models.deletion
import jobs.models.budget
from django.db import migrations, models


class Migration(migrations.Migration):
    """The help texts of columns. It changes no table."""

    dependencies = [("jobs", "0059_waits_in_columns")]

    operations = [
        migrations.AlterField(
            model_name="apitoken",
            name="hint",
            field=models.CharField(
                editable=False, help_text="Its first characters, to distinguish tokens.", max_length=12
            ),
        ),
        migrations.AlterField(
            model_name="approval",
            name="findings",
            field=models.JSONField(
                default=list, help_text="The findings that require the approval: code, message and so on."
            ),
        ),
        migrations.AlterField(
            model_name="approval",
            name="policy",
            field=models.JSONField(
                blank=True,
                help_text="Version, rule and figures of the policy that require it, as jobs.policy.Decision.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="askedgroup",
            name="asked_at",
            field=models.DateTimeField(help_text="When this approval was requested, as in Vote."),
        ),
        migrations.AlterField(
            model_name="budget",
            name="thresholds",
            field=models.JSONField(
                default=jobs.models.budget.default_thresholds, help_text="Percentages at which people get a message."
            ),
        ),
        migrations.AlterField(
            model_name="budget",
            name="version",
            field=models.PositiveIntegerField(
                default=1, help_text="Grows with each change. A form sends back the one that it showed."
            ),
        ),
        migrations.AlterField(
            model_name="draft",
            name="created_at",
            field=models.DateTimeField(db_index=True, help_text="When it was saved; for a form the last time."),
        ),
        migrations.AlterField(
            model_name="draft",
            name="fields",
            field=models.JSONField(
                blank=True, help_text="{field: typed text}; empty for an imported draft.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="draft",
            name="form_key",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The request key of the form; empty for an imported draft.",
                max_length=64,
            ),
        ),
        migrations.AlterField(
            model_name="draft",
            name="version",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Counts how often the form was saved."
            ),
        ),
        migrations.AlterField(
            model_name="heartbeat",
            name="at",
            field=models.DateTimeField(help_text="Its last heartbeat, by the database's clock."),
        ),
        migrations.AlterField(
            model_name="imagereading",
            name="acts_as",
            field=models.CharField(
                blank=True, help_text="The account that reads it; empty: Trainboard's own.", max_length=254
            ),
        ),
        migrations.AlterField(
            model_name="imagereading",
            name="asked_at",
            field=models.DateTimeField(help_text="When a form last requested it."),
        ),
        migrations.AlterField(
            model_name="imagereading",
            name="last_error",
            field=models.CharField(blank=True, help_text="Why it could not be read.", max_length=300),
        ),
        migrations.AlterField(
            model_name="installation",
            name="identity",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="Changes when the database is restarted, restored or replaced by a copy.",
                max_length=100,
            ),
        ),
        migrations.AlterField(
            model_name="installation",
            name="trusted_since",
            field=models.DateTimeField(
                help_text="Requests from before may have been sent without a record here. They are looked up first."
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="approved_usd",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="The approved amount, or the policy's limit for jobs without approval; empty: none, or unknown.",
                max_digits=14,
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="cancel_sent_at",
            field=models.DateTimeField(blank=True, help_text="Last time Vertex AI accepted the request.", null=True),
        ),
        migrations.AlterField(
            model_name="job",
            name="cap_cancels",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Whether it is cancelled at its cap, by the policy that assessed it.",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="custom_job_asked_at",
            field=models.DateTimeField(blank=True, help_text="When a pipeline's was last read.", null=True),
        ),
        migrations.AlterField(
            model_name="job",
            name="is_counted",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Its JobFigures are up to date with the row."
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="log_read_at",
            field=models.DateTimeField(
                blank=True, help_text="When the lines of its replicas were last requested.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="spec_digest",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Equal for jobs that differ only in their names; empty for older jobs.",
                max_length=64,
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="trials_summary",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The results of the trials in one line, for lists.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="jobevent",
            name="message",
            field=models.TextField(db_column="sentence", help_text="The text for people, in the past tense."),
        ),
        migrations.AlterField(
            model_name="jobevent",
            name="occurred_at",
            field=models.DateTimeField(help_text="When it occurred, by the clock of the system where it occurred."),
        ),
        migrations.AlterField(
            model_name="jobevent",
            name="once_key",
            field=models.CharField(help_text="An event with the same key is recorded only once.", max_length=120),
        ),
        migrations.AlterField(
            model_name="jobevent",
            name="recorded_at",
            field=models.DateTimeField(help_text="When Trainboard recorded it."),
        ),
        migrations.AlterField(
            model_name="jobfigures",
            name="inside",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Those of them whose cost was in that range."
            ),
        ),
        migrations.AlterField(
            model_name="jobmetrics",
            name="fraction_at",
            field=models.DateTimeField(blank=True, help_text="Time of the log line with the fraction.", null=True),
        ),
        migrations.AlterField(
            model_name="jobmetrics",
            name="usage_error",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="Why Cloud Monitoring could not be read; empty if it could.",
            ),
        ),
        migrations.AlterField(
            model_name="jobspend",
            name="committed_cents",
            field=models.BigIntegerField(default=0, help_text="What it may still cost, as approved or allowed."),
        ),
        migrations.AlterField(
            model_name="logline",
            name="machine",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The VM that it ran on; empty: unknown.",
                max_length=128,
            ),
        ),
        migrations.AlterField(
            model_name="monthfigures",
            name="inside",
            field=models.IntegerField(db_default=0, default=0, help_text="Those of them whose cost was in that range."),
        ),
        migrations.AlterField(
            model_name="policy",
            name="cancel_at_cap",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Cancel a running job when its cost reaches its cap; otherwise only send a message.",
            ),
        ),
        migrations.AlterField(
            model_name="policy",
            name="cancel_over_approved",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Cancel a running job when its cost exceeds the approved amount; otherwise only send a message.",
            ),
        ),
        migrations.AlterField(
            model_name="policyversion",
            name="drift_percent",
            field=models.PositiveSmallIntegerField(
                default=0,
                help_text="Percent by which the cost may rise after an approval before the job needs another one.",
            ),
        ),
        migrations.AlterField(
            model_name="policyversion",
            name="expire_hours",
            field=models.PositiveSmallIntegerField(
                default=168, help_text="Hours after which an undecided request ends; 0: never."
            ),
        ),
        migrations.AlterField(
            model_name="policyversion",
            name="remind_hours",
            field=models.PositiveSmallIntegerField(default=24, help_text="Hours between two reminders; 0: none."),
        ),
        migrations.AlterField(
            model_name="price",
            name="is_official",
            field=models.BooleanField(help_text="Whether Google published it."),
        ),
        migrations.AlterField(
            model_name="quotareading",
            name="quota_id",
            field=models.CharField(blank=True, help_text="The id with which an increase is requested.", max_length=200),
        ),
        migrations.AlterField(
            model_name="quotareading",
            name="used",
            field=models.BigIntegerField(blank=True, help_text="Empty: unknown.", null=True),
        ),
        migrations.AlterField(
            model_name="resourcechange",
            name="message",
            field=models.TextField(blank=True, help_text="The result, for people."),
        ),
        migrations.AlterField(
            model_name="resourcesize",
            name="at",
            field=models.DateTimeField(
                help_text="When this began: the time from Vertex AI, or when it was first seen."
            ),
        ),
        migrations.AlterField(
            model_name="resourcesize",
            name="replica_usd",
            field=models.JSONField(
                default=list, help_text="Price of a replica of each pool per hour then, as text; null: not known."
            ),
        ),
        migrations.AlterField(
            model_name="resourcesize",
            name="team",
            field=models.ForeignKey(
                blank=True,
                help_text="Who created it and pays for machines without a job; empty: unknown.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="jobs.team",
            ),
        ),
        migrations.AlterField(
            model_name="resourcespend",
            name="is_idle",
            field=models.BooleanField(help_text="For replicas without a job; else for those with one."),
        ),
        migrations.AlterField(
            model_name="setasideitem",
            name="count",
            field=models.PositiveBigIntegerField(default=1, help_text="How often it was found."),
        ),
        migrations.AlterField(
            model_name="template",
            name="cap_usd",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="Cap on the cost of a job that it makes.",
                max_digits=14,
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="trial",
            name="job_is_settled",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its custom job has ended or is gone, and is not read any more.",
            ),
        ),
        migrations.AlterField(
            model_name="trial",
            name="job_states",
            field=models.JSONField(
                blank=True,
                help_text="[[JobState, moment], ...]: when its custom job entered each state; empty until it is read.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="vote",
            name="asked_at",
            field=models.DateTimeField(help_text="When this approval was requested. A later request needs new votes."),
        ),
    ]
