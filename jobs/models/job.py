"""One training job, from its request to its end."""

import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, Index, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from jobs.models.polling import LogFeed
from jobs.models.team import Team
from jobs.states import FINISHED, LOCAL, JobState

NEW_KEY = "new-"
"""Begins the request key of a job whose request came without a key of its own."""
SEARCHED = ["display_name", "state", "strategy", "region"]
"""Columns by which lists are filtered. PostgreSQL reads them from the index, and only the rows that match."""
INDEXES = [
    Index(fields=["-requested_at", "id"], include=SEARCHED, name="job_list"),
    Index(fields=["team", "-requested_at", "id"], include=SEARCHED, name="job_list_of_team"),
    Index(fields=["owner", "-requested_at", "id"], include=["team", *SEARCHED], name="job_list_of_owner"),
    Index(fields=["due_at", "id"], condition=Q(due_at__isnull=False), name="job_due"),
    Index(fields=["ended_at"], condition=Q(approved_usd__isnull=False), name="job_spending"),
    Index(fields=["team", "id"], condition=Q(is_counted=False), name="job_uncounted"),
    Index(fields=["cost_until", "id"], condition=Q(ended_at=None, started_at__isnull=False), name="job_cost_until"),
    Index(fields=["team", "display_name", "state", "-requested_at", "id"], name="job_name"),
    Index(fields=["-ended_at", "id"], name="job_ended"),
    Index(fields=["team", "-ended_at", "id"], name="job_ended_of_team"),
    Index(fields=["project", "region", "kind", "ended_at"], name="job_ended_in_scope"),
    Index(fields=["team", "state", "-state_since", "id"], condition=Q(ended_at=None), name="job_unfinished"),
    Index(fields=["claimed_until"], condition=Q(claim__isnull=False), name="job_claimed"),
    Index(
        fields=["project", "submitted_at", "id"],
        condition=Q(log_complete=False, submitted_at__isnull=False),
        name="job_unread_log",
    ),
    Index(
        fields=["requested_at", "id"],
        condition=Q(deletion_requested_at__isnull=False, deleted_at=None),
        name="job_to_delete",
    ),
    Index(fields=["team", "region", "-started_at"], condition=Q(started_at__isnull=False), name="job_waits"),
    Index(fields=["team", "spec_digest", "-requested_at", "id"], name="job_identical"),
    Index(
        fields=["team", "folder_key", "-requested_at", "id"],
        condition=Q(folder_key__isnull=False),
        name="job_in_folder",
    ),
    Index(fields=["project", "region", "ended_at"], condition=Q(strategy="persistent"), name="job_on_resource"),
    Index(
        fields=["explained_by", "-ended_at", "id"],
        condition=Q(state__in=["expired", "failed", "submit_failed"]),
        name="job_explained_by",
    ),
    Index(fields=["sweep"], condition=Q(sweep__isnull=False), name="job_sweep"),
    Index(fields=["family", "-requested_at", "id"], condition=Q(family__isnull=False), name="job_family"),
    Index(fields=["requested_at", "id"], condition=Q(family=None), name="job_without_family"),
]
"""With a million jobs, every query of a page or a sweep has to start with one of them."""


class JobQuerySet(models.QuerySet["Job"]):
    """Selections shared by pages and workers."""

    def unfinished(self) -> Self:
        """Select the jobs that have not ended."""
        return self.filter(ended_at=None)

    def remote(self) -> Self:
        """Select the jobs that exist at Vertex AI and have not ended there."""
        return self.unfinished().exclude(state__in=LOCAL)

    def with_silence(self) -> Self:
        """Annotate `is_feed_silent`: whether reads of Cloud Logging are failing."""
        feed = LogFeed.objects.filter(project=OuterRef("project"), failing_since__isnull=False)
        return self.annotate(is_feed_silent=Exists(feed))

    def due(self, now: datetime) -> Self:
        """Select the jobs whose next step is due and that no worker has claimed, oldest first."""
        free = Q(claimed_until=None) | Q(claimed_until__lte=now)
        return self.filter(free, due_at__lte=now).order_by("due_at", "pk")


class Job(models.Model):
    """A request, its spec and its present state.

    `state` and the columns under "derived" are a cache of the job's events, written in the same transaction by
    `jobs.transitions`. `spec` is the REST body and never changes after the request.
    """

    class Kind(models.TextChoices):
        """The three Vertex AI resources that train."""

        CUSTOM_JOB = "custom_job", _("custom job")
        TUNING_JOB = "hyperparameter_tuning_job", _("tuning job")
        PIPELINE = "training_pipeline", _("training pipeline")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="jobs")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True, blank=True, db_index=False,
        help_text="Who wrote the spec, if somebody else requests it with a schedule; "
        "decides about it no more than them.",
    )  # fmt: skip
    kind = models.CharField(max_length=32, choices=Kind.choices, default=Kind.CUSTOM_JOB)
    display_name = models.CharField(max_length=128)
    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    strategy = models.CharField(max_length=32, help_text="Key of a strategy in jobs.strategies.")
    machines = models.CharField(max_length=200, help_text="The worker pools in one line, for lists.")
    spec = models.JSONField(help_text="The REST body, without the labels that Trainboard adds.")
    secrets = models.JSONField(
        null=True, blank=True, help_text="Where the secrets of the spec are, by jobs.spec.secrets; empty: not searched."
    )
    spec_digest = models.CharField(
        max_length=64, blank=True, default="", db_default="",
        help_text="Equal for jobs that differ only in their names; empty for older jobs.",
    )  # fmt: skip
    folder_key = models.BigIntegerField(
        null=True, blank=True, help_text="Equal for jobs with the same output folder; empty without one."
    )
    sweep = models.UUIDField(
        null=True, blank=True, help_text="Shared by jobs that were requested and are decided about together."
    )
    family = models.UUIDField(
        null=True, blank=True, help_text="Shared by the runs of a family (jobs.upkeep.families); empty: not filed yet."
    )
    request_key = models.CharField(max_length=64, help_text="Sent with the form: a second click finds the first job.")
    cloned_from = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        related_name="clones",
        null=True,
        blank=True,
        help_text="The job whose spec the form began with.",
    )

    # The expected cost at the time of the request; empty if no price is known
    expected_seconds = models.PositiveIntegerField(help_text="Run time the requester expects, in seconds.")
    hourly_usd = models.DecimalField(max_digits=18, decimal_places=6, null=True, blank=True)
    estimate_usd = models.DecimalField(max_digits=14, decimal_places=2, null=True, blank=True)
    estimate = models.JSONField(default=dict, blank=True, help_text="The estimate with its lines, as requested.")
    price_snapshot = models.JSONField(
        null=True, blank=True, help_text="The prices when it was sent, which its cost rests on; empty: those above."
    )

    # The maximum cost, and the cost allowed without another approval; empty if no price was known
    max_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, db_column="judged_usd",
        help_text="The most that can be spent if nobody but Google ends it, as assessed last.",
    )  # fmt: skip
    gpus = models.PositiveIntegerField(
        null=True, blank=True, help_text="Accelerators that it uses at once, without those of a persistent resource."
    )
    limit_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="The team's limit that it was compared with."
    )
    approved_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True,
        help_text="The approved amount, or the policy's limit for jobs without approval; empty: none, or unknown.",
    )  # fmt: skip
    over_approved_at = models.DateTimeField(
        null=True, blank=True, help_text="When its cost was first seen to exceed what was approved."
    )

    # The cap on the cost, set by the requester or an approver; the lower one
    cap_usd = models.DecimalField(
        max_digits=14, decimal_places=2, null=True, blank=True, help_text="Empty: none. See cap_cancels."
    )
    cap_cancels = models.BooleanField(
        default=True, db_default=True, help_text="Whether it is cancelled at its cap, by the policy that assessed it."
    )
    cap_reported = models.PositiveSmallIntegerField(
        default=0, db_default=0, db_column="cap_told", help_text="Percent of the cap last notified of: 0, 80 or 100."
    )

    # At Vertex AI
    acts_as = models.CharField(
        max_length=255, blank=True, default="", db_default="", help_text="Service account of its calls; empty: our own."
    )
    remote_name = models.CharField(max_length=255, blank=True, db_index=True)
    web_access_uris = models.JSONField(
        null=True, blank=True, help_text="{replica: address of its interactive shell} while it runs; empty without."
    )
    error = models.JSONField(null=True, blank=True, help_text="google.rpc.Status as Vertex AI gave it.")
    explanation = models.JSONField(
        null=True, blank=True, help_text="Why it failed, kept by jobs.explain; empty: not computed, or it did not fail."
    )
    explained_by = models.BigIntegerField(
        null=True, blank=True, help_text="Version of the rules that explained it (jobs.explain.RULES); empty: none did."
    )
    remote_updated_at = models.DateTimeField(null=True, blank=True, help_text="updateTime of the newest answer used.")

    # The queue: when a worker has to take the next step, and which worker has claimed the job
    due_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    submit_attempts = models.PositiveIntegerField(default=0)
    attempted_at = models.DateTimeField(
        null=True, blank=True, help_text="Last create call whose effect is unknown; empty when it is known."
    )
    last_error = models.TextField(
        blank=True, db_column="trouble", help_text="Why the last step failed; empty when it did not."
    )
    failures = models.PositiveIntegerField(default=0, db_default=0, help_text="Steps that failed in a row.")
    duplicates_checked_at = models.DateTimeField(
        null=True, blank=True, help_text="After a second create: when a second job was looked for at Vertex AI."
    )
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_sent_at = models.DateTimeField(null=True, blank=True, help_text="Last time Vertex AI accepted the request.")
    cancels_sent = models.PositiveIntegerField(default=0, db_default=0)
    is_adopted = models.BooleanField(
        default=False, help_text="It was made outside Trainboard and is only watched: never cancelled nor deleted."
    )
    deletion_requested_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="Vertex AI has deleted its record of the job.")
    log_sources = models.JSONField(
        default=dict,
        blank=True,
        help_text="{number of a custom job: label of its lines}; see jobs.observation.log_sources.",
    )
    log_wanted_until = models.DateTimeField(null=True, blank=True, help_text="Somebody looks at the log until then.")
    log_cursor_at = models.DateTimeField(null=True, blank=True, help_text="Newest line of its replicas that was read.")
    log_read_at = models.DateTimeField(
        null=True, blank=True, help_text="When the lines of its replicas were last requested."
    )
    log_kept_from = models.DateTimeField(
        null=True, blank=True, help_text="Every line since then is kept, older ones only in part; empty: all are kept."
    )
    custom_job_asked_at = models.DateTimeField(null=True, blank=True, help_text="When a pipeline's was last read.")
    log_complete = models.BooleanField(default=False, help_text="It has ended and its last lines are kept.")

    # Derived from the events
    revision = models.PositiveIntegerField(default=0, db_default=0, help_text="Grows with every event of the job.")
    state = models.CharField(max_length=64, help_text="A JobState, or an unknown Vertex AI state as it was sent.")
    state_since = models.DateTimeField()
    requested_at = models.DateTimeField()
    approved_at = models.DateTimeField(null=True, blank=True, help_text="When it was first allowed to be submitted.")
    submitted_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True, help_text="First time it was running.")
    ended_at = models.DateTimeField(null=True, blank=True)
    running_seconds = models.FloatField(default=0, help_text="Finished spans of running, in seconds.")
    running_since = models.DateTimeField(null=True, blank=True, help_text="Start of the open span of running.")
    waited_again_seconds = models.FloatField(default=0, db_default=0, help_text="Finished waits after its first run.")
    waiting_again_since = models.DateTimeField(null=True, blank=True, help_text="Start of the open wait after a run.")
    restarts = models.PositiveIntegerField(default=0)
    custom_job_state = models.CharField(max_length=64, blank=True, default="", db_default="")  # of a pipeline only
    wait_error = models.CharField(
        max_length=500, blank=True, default="", db_default="",
        help_text="What Vertex AI last reported in its present wait for machines; empty: nothing, or it does not wait.",
    )  # fmt: skip

    # Derived from the trials; empty for a job that does not tune, and until its first trial was seen
    parallel_trials = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many trials may run at once; hourly_usd is the price of them all."
    )
    trial_seconds = models.FloatField(
        null=True, blank=True, help_text="Time that the machines of all trials ran until trials_counted_at."
    )
    trials_running = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Trials whose machines ran at trials_counted_at."
    )
    trials_counted_at = models.DateTimeField(null=True, blank=True)
    trials_summary = models.CharField(
        max_length=200, blank=True, default="", db_default="",
        help_text="The results of the trials in one line, for lists.",
    )  # fmt: skip

    # What the ledger holds
    cost_micros = models.BigIntegerField(
        null=True, blank=True, help_text="Sum of its entries; empty: none was due, or its price is not known."
    )
    cost_until = models.DateTimeField(null=True, blank=True, help_text="Until when its cost is in the ledger.")
    is_counted = models.BooleanField(
        default=False, db_default=False, help_text="It has ended, and its figures and entries are those of the row."
    )

    objects = JobQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "request_key"], name="one_job_per_request"),
            models.UniqueConstraint(
                fields=["remote_name"], condition=~Q(remote_name=""), name="one_job_per_remote_name"
            ),
        ]
        indexes = INDEXES

    def __str__(self) -> str:
        return self.display_name

    @property
    def is_finished(self) -> bool:
        """Whether the job has ended, at Vertex AI or before it was sent there."""
        return self.state in FINISHED

    @property
    def is_remote(self) -> bool:
        """Whether the state is Vertex AI's rather than ours."""
        return self.state not in LOCAL

    @property
    def may_exist_already(self) -> bool:
        """Whether the same request may have been sent before and forgotten, because the database lost its newest rows.

        That is possible for every key that may be used again, until the job was looked up by its label.
        """
        is_new = self.request_key.startswith(NEW_KEY)
        return not (is_new or self.submit_attempts or self.duplicates_checked_at)

    @property
    def may_have_duplicates(self) -> bool:
        """Whether a create may have reached Vertex AI that the row does not follow and that was not looked up yet.

        That takes two creates, or one whose request was withdrawn or rejected later. A request that ended while in
        doubt may have been sent, also before the database was restored.
        """
        is_ended_here = self.state in {JobState.WITHDRAWN, JobState.REJECTED}
        is_sent_in_vain = self.submit_attempts == 1 and not self.remote_name and is_ended_here
        is_in_doubt = self.attempted_at is not None and (is_ended_here or self.state == JobState.SUBMIT_FAILED)
        is_possible = self.submit_attempts > 1 or is_sent_in_vain or is_in_doubt
        return is_possible and self.duplicates_checked_at is None

    @property
    def seen_at(self) -> datetime | None:
        """When Vertex AI last reported the job, or None. Makes a query unless `last_seen` was selected."""
        last_seen = getattr(self, "last_seen", None)
        return last_seen.at if last_seen is not None else None

    @property
    def remote_id(self) -> str:
        """The number that Vertex AI gave the job, or ""."""
        return self.remote_name.rpartition("/")[2]
