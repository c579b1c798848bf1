"""Ceilings on what a team or the whole site may cost at once. Only site admins set and lift them."""

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs.gate import CeilingKind
from jobs.models.team import Team


class Ceiling(models.Model):
    """One ceiling. See `jobs.gate.CeilingKind` for what each kind limits."""

    class Kind(models.TextChoices):
        """What is limited, with words for people."""

        JOB = CeilingKind.JOB.value, _("US dollars for one job")
        HOUR = CeilingKind.HOUR.value, _("US dollars per hour at once")
        PERSON_DAY = CeilingKind.PERSON_DAY.value, _("US dollars for one person and day")
        GPUS = CeilingKind.GPUS.value, _("GPUs at once")

    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, null=True, blank=True, related_name="ceilings", help_text="Empty: the site."
    )
    kind = models.CharField(max_length=12, choices=Kind.choices)
    amount = models.DecimalField(max_digits=14, decimal_places=2, validators=[MinValueValidator(0)])
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    set_at = models.DateTimeField()
    reason = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "kind"], name="one_ceiling_per_team_and_kind"),
            models.UniqueConstraint(fields=["kind"], condition=Q(team=None), name="one_ceiling_of_the_site_per_kind"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="ceiling_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.amount}"
