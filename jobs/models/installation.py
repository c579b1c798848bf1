"""Which Trainboard this database belongs to, and since when it is known to be the newest copy."""

from django.db import models


class Installation(models.Model):
    """One row, with primary key 1, written by the first worker that starts."""

    instance = models.CharField(max_length=63, help_text="TRAINBOARD_INSTANCE of the site that may send jobs.")
    trusted_since = models.DateTimeField(
        help_text="Requests from before may have been sent without this database knowing: they are looked up first."
    )
    swept_at = models.DateTimeField(null=True, blank=True, help_text="Last search for what is due.")
    identity = models.CharField(
        max_length=100,
        blank=True,
        db_default="",
        help_text="What the database server said of itself and of the table; an older copy says what was true then.",
    )
    restored_reason = models.TextField(blank=True, help_text="Why, after the database was restored or copied.")

    def __str__(self) -> str:
        return f"database of {self.instance}"
