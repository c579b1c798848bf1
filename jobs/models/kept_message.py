"""Messages stored in rows, in English and as their parts, so that pages can translate them."""

from typing import Any

from django.db import models

from jobs.texts import as_json, from_json


class KeptMessage(models.Model):
    """A row with a `message`. `message_parts` is null in rows from before it was stored."""

    message = models.TextField(blank=True)
    message_parts = models.JSONField(null=True, blank=True, help_text="The message as jobs.texts.as_json.")

    class Meta:
        abstract = True

    @property
    def text(self) -> str:
        """The message, as a `Text` if it can be translated."""
        return self.message if self.message_parts is None else from_json(self.message_parts)


def message_columns(text: str) -> dict[str, Any]:
    """Return the columns of `KeptMessage` for a text."""
    return {"message": str(text), "message_parts": as_json(text)}
