"""Jobs at Vertex AI that carry our label and that no row follows: second jobs of a request, and jobs without a row."""

from django.db import models

from jobs.models.job import Job


class UnmatchedJob(models.Model):
    """One such job as it was last seen; those of a known request are cancelled until they have ended."""

    job = models.ForeignKey(
        Job,
        on_delete=models.CASCADE,
        related_name="unmatched",
        null=True,
        blank=True,
        help_text="The request whose label it carries; empty where no row has this id, as after a restored backup.",
    )
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)
    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    remote_name = models.CharField(max_length=255, unique=True)
    display_name = models.CharField(max_length=128, blank=True)
    state = models.CharField(max_length=64, help_text="As Vertex AI wrote it.")
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="Vertex AI does not list it as active any more.")
    cancel_sent_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True, help_text="Why the last cancellation failed; empty when it did not.")

    class Meta:
        indexes = [models.Index(fields=["project", "region", "kind", "ended_at"], name="unmatched_job_scope")]

    def __str__(self) -> str:
        return self.remote_name
