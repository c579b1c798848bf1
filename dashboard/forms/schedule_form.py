"""The form for the times at which a job is requested."""

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.findings import FindingsForm
from jobs.requests.schedules import Times


class ScheduleForm(FindingsForm):
    """A schedule's name and times. `jobs.requests.schedules` decides whether they can be stored."""

    is_final = True
    name = forms.CharField(label=_("Name"), max_length=80, help_text=_("Unique in the team."))
    cron = forms.CharField(
        label=_("Cron expression"),
        max_length=100,
        help_text=_("Minute, hour, day of month, month, day of week: 0 6 * * 1-5 is 06:00 from Monday to Friday."),
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false", "autocomplete": "off"}),
    )
    time_zone = forms.CharField(
        label=_("Time zone"), max_length=64, initial="UTC", help_text=_("For example Europe/Berlin or UTC.")
    )
    last_day = forms.DateField(
        label=_("Last day"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("Empty: no end."),
    )
    allows_overlap = forms.BooleanField(label=_("Start even if the previous run has not ended"), required=False)

    @property
    def times(self) -> Times:
        """The values of a valid form."""
        return Times(**self.cleaned_data)
