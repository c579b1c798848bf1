"""One unit of polling: everything of one kind in one region of one project is observed together."""

from django.db import models

from jobs.models.poll_target import PollTarget


class Scope(PollTarget):
    """The observer's own row for a project, region and kind."""

    class Kind(models.TextChoices):
        """What is observed there: jobs of a kind (the values of `Job.Kind`), or persistent resources."""

        CUSTOM_JOB = "custom_job", "custom jobs"
        TUNING_JOB = "hyperparameter_tuning_job", "tuning jobs"
        PIPELINE = "training_pipeline", "training pipelines"
        PERSISTENT_RESOURCE = "persistent_resource", "persistent resources"

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    kind = models.CharField(max_length=32, choices=Kind.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "region", "kind"], name="one_row_per_scope")]

    def __str__(self) -> str:
        return f"{self.kind} in {self.project}/{self.region}"
