"""Items from outside that could not be stored or read. They are set aside so that they do not stop others."""

from django.db import models


class SetAsideItem(models.Model):
    """One item that was left out, or stored with parts cut, with the reason and how often that happened.

    `jobs.observation.set_aside` writes these rows and limits their number. Nothing depends on a row, so it may be
    deleted.
    """

    place = models.CharField(max_length=200, help_text="Where it came from, such as a scope or the logs of a project.")
    item = models.CharField(max_length=200, help_text="Its name there, as far as it has one.")
    reason = models.TextField(help_text="Why it could not be stored or read as it was.")
    is_kept = models.BooleanField(default=False, help_text="It was stored, with parts cut to fit.")
    first_at = models.DateTimeField()
    last_at = models.DateTimeField(db_index=True)
    count = models.PositiveBigIntegerField(default=1, help_text="How often it was found.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["place", "item"], name="one_row_per_set_aside_item")]

    def __str__(self) -> str:
        return f"{self.item} of {self.place}"
