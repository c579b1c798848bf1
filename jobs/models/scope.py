"""One place to look: all jobs of a kind in one region of one project are observed together."""

from django.db import models

from jobs.models.job import Job
from jobs.models.look import Look


class Scope(Look):
    """The observer's own row for a project, region and kind."""

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    kind = models.CharField(max_length=32, choices=Job.Kind.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "region", "kind"], name="one_row_per_scope")]

    def __str__(self) -> str:
        return f"{self.kind} in {self.project}/{self.region}"
