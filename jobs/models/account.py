"""Accounts: profiles, identities at sign-in providers, invitations, sessions and API tokens."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models.team import Role, Team


class Profile(models.Model):
    """Data about a person that Django's user does not have."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="profile"
    )
    links_next_sign_in = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The next sign-in by a provider with this person's e-mail address takes the account over.",
    )
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    """IANA name of the time zone used on pages, or "" for the site's default."""
    language = models.CharField(max_length=8, blank=True, default="", db_default="")
    """Code of the language used on pages, or "" for the browser's preference."""

    def __str__(self) -> str:
        return f"profile of {self.user}"


class Identity(models.Model):
    """One person's identity at one sign-in provider. The provider never assigns its subject to anybody else."""

    provider = models.CharField(
        max_length=255, help_text="“iap” for Identity-Aware Proxy, else the issuer of an OpenID Connect provider."
    )
    subject = models.CharField(max_length=255)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    created_at = models.DateTimeField()
    email = models.CharField(max_length=254, blank=True, default="", db_default="")
    """The address that the provider had verified at the last sign-in, or ""."""
    signed_in_at = models.DateTimeField(null=True, blank=True)
    """The last time that a browser signed in with this identity."""

    class Meta:
        verbose_name_plural = "identities"
        constraints = [models.UniqueConstraint(fields=["provider", "subject"], name="one_user_per_identity")]

    def __str__(self) -> str:
        return f"{self.user} at {self.provider}"


class SignInRule(models.Model):
    """A person who signs in for the first time with this domain or group joins this team."""

    class Source(models.TextChoices):
        """The property of a sign-in that is compared."""

        DOMAIN = "domain", _("domain")
        GROUP = "group", _("group")

    source = models.CharField(max_length=10, choices=Source.choices)
    value = models.CharField(max_length=255)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="sign_in_rules")
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        ordering = ["source", "value"]
        constraints = [models.UniqueConstraint(fields=["source", "value", "team"], name="one_sign_in_rule_per_team")]

    def __str__(self) -> str:
        return f"{self.source} {self.value} joins {self.team} as {self.role}"


class Invitation(models.Model):
    """A link that lets one person join a team, once. Only the digest of its secret is stored."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    invited_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        indexes = [models.Index(fields=["team", "-id"], name="invitation_of_team")]

    def __str__(self) -> str:
        return f"{self.email} to {self.team} as {self.role}"


class SignedInBrowser(models.Model):
    """One session of a person: browser, address, and when it was last seen."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="browsers")
    session_key = models.CharField(max_length=40, unique=True)
    browser = models.CharField(max_length=200, blank=True)
    address = models.CharField(max_length=64, blank=True)
    signed_in_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["user", "-seen_at"], name="browser_of_user")]

    def __str__(self) -> str:
        return f"a browser of {self.user}"


class ApiToken(models.Model):
    """One API token.

    Only the SHA-256 of its text is stored. The text has 256 random bits, so a slow hash adds nothing.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12, editable=False, help_text="Its first characters, to distinguish tokens.")
    scopes = models.JSONField(help_text="What it may do: a list of read, submit and approve.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute; empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at"], name="api_token_of_owner")]

    def __str__(self) -> str:
        return f"{self.name} of {self.owner}"
