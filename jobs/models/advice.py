"""Compute Engine's advice about VMs of a project."""

from typing import Any

from django.db import models

from jobs.cost.advice import Method


class AdviceReading(models.Model):
    """The last answer to one question about VMs in a region. It waits for the next one while `due_at` is set.

    The question is asked as the service account of the project's teams. A failed question keeps the answer before it.
    """

    project = models.CharField(max_length=63)
    region = models.CharField(max_length=40)
    method = models.CharField(max_length=20, choices=[(each.value, each.value) for each in Method])
    machine_type = models.CharField(max_length=64)
    accelerator = models.CharField(max_length=64, blank=True, help_text="Empty: the machine type has its own, or none.")
    accelerator_count = models.PositiveSmallIntegerField(default=0)
    size = models.PositiveIntegerField(default=1, help_text="Number of VMs.")
    days = models.PositiveSmallIntegerField(default=0, help_text="Days of a reservation.")
    asked_at = models.DateTimeField(help_text="When a form, a page or the sweep last wanted it.")
    due_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True, help_text="When Google gave the answer.")
    answer: "models.JSONField[dict[str, Any] | None, dict[str, Any] | None]" = models.JSONField(
        null=True, blank=True, help_text="As jobs.vertex.advice reads it."
    )
    failed_at = models.DateTimeField(null=True, blank=True, help_text="When the last question failed, if it did.")
    last_error = models.CharField(max_length=300, blank=True, help_text="Why the last question failed.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "project", "region", "method", "machine_type", "accelerator", "accelerator_count", "size", "days",
                ],
                name="one_reading_of_each_advice",
            )
        ]  # fmt: skip
        indexes = [
            models.Index(fields=["due_at", "id"], condition=models.Q(due_at__isnull=False), name="advice_due"),
            models.Index(fields=["asked_at"], name="advice_old"),
        ]

    def __str__(self) -> str:
        return f"{self.method} of {self.size} {self.machine_type} in {self.project}/{self.region}"
