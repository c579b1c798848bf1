"""Personal tokens with which programs use the site as the person who made them."""

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """One token. Only the SHA-256 of its text is kept: the text has 256 random bits, so a slow hash adds nothing."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12, editable=False, help_text="Its first characters, to tell tokens apart.")
    scopes = models.JSONField(help_text="What it may do: a list of read, submit and approve.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute; empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at"], name="api_token_of_owner")]

    def __str__(self) -> str:
        return f"{self.name} of {self.owner}"
