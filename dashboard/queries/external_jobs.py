"""Jobs created outside Trainboard, only in projects of the person's own teams."""

from collections.abc import Collection

from django.db.models import QuerySet

from jobs.models import Discovery, ExternalJob


def get_discovery(projects: Collection[str], project: str, region: str) -> Discovery | None:
    """Return the last discovery in one of these projects and a region, None if there was none. One query."""
    discoveries = Discovery.objects.filter(project__in=projects, project=project, region=region)
    return discoveries.select_related("asked_by").first()


def filter_external_jobs(discovery: Discovery, name: str) -> QuerySet[ExternalJob]:
    """Return the jobs of a discovery whose name contains `name`, newest first. The caller limits them."""
    jobs = ExternalJob.objects.filter(discovery=discovery).select_related("discovery")
    return (jobs.filter(display_name__icontains=name) if name else jobs).order_by("-created_at", "pk")


def list_external_jobs(projects: Collection[str], keys: list[int]) -> list[ExternalJob]:
    """Return the external jobs with these keys in some projects, oldest first. One query."""
    jobs = ExternalJob.objects.filter(pk__in=keys, discovery__project__in=projects)
    return list(jobs.select_related("discovery").order_by("created_at", "pk"))
