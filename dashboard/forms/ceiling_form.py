"""The form in which a site admin sets, raises, lowers or removes a ceiling."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.usd import UsdField
from dashboard.forms.findings import FindingsForm
from jobs.gate import CeilingKind

KINDS = (
    (CeilingKind.JOB, _("US dollars for one job")),
    (CeilingKind.HOUR, _("US dollars per hour at once")),
    (CeilingKind.PERSON_DAY, _("US dollars for one person and day")),
    (CeilingKind.GPUS, _("GPUs at once")),
)


class CeilingForm(FindingsForm):
    """One ceiling of the site or of a team."""

    is_final = True
    whose = forms.ChoiceField(label=_("Of"), required=False)
    kind = forms.ChoiceField(label=_("Ceiling"), choices=KINDS)
    amount = UsdField(_("Amount"), _("US dollars, or a number of GPUs. Empty: the ceiling is removed."))
    reason = forms.CharField(label=_("Reason"), max_length=200)

    def __init__(self, *args: Any, teams: Sequence[tuple[int, str]] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        choices = [("", _("the whole site")), *((str(key), name) for key, name in teams)]
        self.fields["whose"] = forms.ChoiceField(label=_("Of"), required=False, choices=choices)
