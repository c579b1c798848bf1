"""The permissions that Trainboard's own account uses, each with the role that grants it and its purpose.

Sources: "Access control with IAM" (Vertex AI, Cloud Logging, Cloud Monitoring, Cloud Quotas; docs.cloud.google.com,
read 2026-11-22) and "Artifact Registry roles and permissions" (read 2026-11-23), the same as
jobs/strategies/permissions.py and docs/running.md.
"""

from dataclasses import dataclass

from jobs.texts import translatable as _

USER, ADMIN = "roles/aiplatform.user", "roles/aiplatform.admin"
NEEDED, OPTIONAL = "needed", "optional"
KINDS = ("customJobs", "hyperparameterTuningJobs", "trainingPipelines")


@dataclass(frozen=True, slots=True)
class ProjectPermission:
    """A permission in a project. Without an optional one, jobs run but a part of Trainboard is missing."""

    name: str
    role: str
    what: str
    need: str = NEEDED

    @property
    def is_needed(self) -> bool:
        """Whether jobs cannot run without it."""
        return self.need == NEEDED


PERMISSIONS = (
    *(
        ProjectPermission(f"aiplatform.{kind}.{verb}", USER, _("%(verb)s jobs in %(kind)s", verb=verb, kind=kind))
        for kind in KINDS
        for verb in ("create", "get", "list", "cancel", "delete")
    ),
    *(
        ProjectPermission(f"aiplatform.persistentResources.{verb}", USER, _("show persistent resources"))
        for verb in ("get", "list")
    ),
    *(
        ProjectPermission(
            f"aiplatform.persistentResources.{verb}", ADMIN, _("change persistent resources"), need=OPTIONAL
        )
        for verb in ("create", "update", "delete")
    ),
    ProjectPermission("logging.logEntries.list", "roles/logging.viewer", _("read logs and explain restarts")),
    ProjectPermission(
        "monitoring.timeSeries.list", "roles/monitoring.viewer", _("show what machines use"), need=OPTIONAL
    ),
    ProjectPermission(
        "cloudquotas.quotas.get", "roles/cloudquotas.viewer", _("show quotas beside strategies"), need=OPTIONAL
    ),
    *(
        ProjectPermission(
            f"artifactregistry.{name}.get",
            "roles/artifactregistry.reader",
            _("show in the form whether an image exists"),
            need=OPTIONAL,
        )
        for name in ("dockerimages", "repositories", "tags")
    ),
    ProjectPermission(
        "serviceusage.services.get", "roles/serviceusage.serviceUsageViewer", _("check services"), need=OPTIONAL
    ),
)
SERVICES = {
    "aiplatform.googleapis.com": True,
    "logging.googleapis.com": True,
    "storage.googleapis.com": True,
    "iam.googleapis.com": False,
    "monitoring.googleapis.com": False,
    "cloudquotas.googleapis.com": False,
    "cloudbilling.googleapis.com": False,
    "artifactregistry.googleapis.com": False,
}
"""Services, and whether jobs need them; without the others, a page shows less."""
BUCKET_PERMISSIONS = {
    "storage.objects.list": "roles/storage.objectViewer",
    "storage.buckets.get": "roles/storage.bucketViewer",
}
"""Permissions that Trainboard uses on the bucket of a team's jobs, and the roles that grant them."""
IMPERSONATE = "iam.serviceAccounts.getAccessToken"
IMPERSONATE_ROLE = "roles/iam.serviceAccountTokenCreator"
"""Permission on a service account that calls Vertex AI for a team ("Service account impersonation", IAM
documentation)."""
ACT_AS = "iam.serviceAccounts.actAs"
ACT_AS_ROLE = "roles/iam.serviceAccountUser"
