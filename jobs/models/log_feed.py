"""One place to read logs: Cloud Logging keeps those of all jobs of a project together, whatever their region."""

from django.db import models

from jobs.models.poll_target import PollTarget


class LogFeed(PollTarget):
    """The reader's own row for a project; `cursor_at` is the newest service line that was read."""

    project = models.CharField(max_length=63, unique=True)
    cursor_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"logs of {self.project}"
