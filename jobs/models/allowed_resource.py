"""What of Google Cloud a team may use beside its default project: projects, buckets, service accounts."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models.team import Team


class AllowedResource(models.Model):
    """One project, bucket or service account of a team.

    The default project of a team is always allowed. A team without a row for buckets may write to every bucket, one
    without a row for service accounts may use every one; `jobs.allowed_resources` holds a job to them.
    """

    class Kind(models.TextChoices):
        """What the name names."""

        PROJECT = "project", _("project")
        BUCKET = "bucket", _("bucket")
        SERVICE_ACCOUNT = "service_account", _("service account")

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="allowed_resources")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    name = models.CharField(
        max_length=255, help_text="A project id, the name of a bucket without gs://, or the address of an account."
    )

    class Meta:
        ordering = ["kind", "name"]
        constraints = [models.UniqueConstraint(fields=["team", "kind", "name"], name="one_row_per_allowed_resource")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name} of {self.team}"
