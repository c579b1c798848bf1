"""Forms for messages: the preferences of a person, and a channel of a team."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from jobs.messages import LABELS, PERSONAL

DIGESTS = [
    ("", _("Each message at once")),
    ("hourly", _("One summary an hour")),
    ("daily", _("One summary a day, 07:00 UTC")),
]
WAYS = [
    ("slack", _("Slack, incoming webhook")),
    ("google_chat", _("Google Chat, incoming webhook")),
    ("email", _("E-mail")),
    ("webhook", _("Webhook, signed")),
]


class PreferenceForm(forms.Form):
    """Message preferences of a person.

    There is a box per kind and channel, and there are options for messages about colleagues' jobs and for mail
    summaries.
    """

    about_others = forms.BooleanField(label=_("Also about jobs that others of my teams requested"), required=False)
    digest = forms.ChoiceField(label=_("E-mail"), choices=DIGESTS, required=False)

    def __init__(self, data: Mapping[str, Any] | None = None, *, choices: Mapping[str, Iterable[str]], **more: Any):
        """Create the form. `choices` maps each kind to the channels by which the person receives it now."""
        super().__init__(data, **more)
        for kind, ways in choices.items():
            for via in PERSONAL:
                label = (_("%(kind)s, by e-mail") if via == "email" else _("%(kind)s, by browser")) % {
                    "kind": LABELS[kind]
                }
                self.fields[f"{kind}-{via}"] = forms.BooleanField(label=label, required=False, initial=via in ways)
        self.kinds = list(choices)

    def rows(self) -> list[tuple[Any, list[BoundField]]]:
        """Return the boxes of each kind with its label."""
        return [(LABELS[kind], [self[f"{kind}-{via}"] for via in PERSONAL]) for kind in self.kinds]

    def chosen(self) -> dict[str, list[str]]:
        """Return the channels that the person chose for each kind."""
        data = self.cleaned_data
        return {kind: [via for via in PERSONAL if data[f"{kind}-{via}"]] for kind in self.kinds}


class ChannelForm(forms.Form):
    """A channel. `jobs.messages.channels` decides whether it can be used."""

    via = forms.ChoiceField(label=_("Kind"), choices=WAYS)
    name = forms.CharField(label=_("Name"), max_length=60, help_text=_("For example #training."))
    address = forms.CharField(
        label=_("Address"),
        max_length=1000,
        strip=True,
        help_text=_("The https address of the webhook, or an e-mail address. It is not shown again."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    digest = forms.ChoiceField(label=_("When"), choices=DIGESTS, required=False)
    kinds = forms.MultipleChoiceField(
        label=_("Messages"), choices=list(LABELS.items()), widget=forms.CheckboxSelectMultiple, required=False
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, is_new: bool, **more: Any):
        """Create the form.

        If `is_new` is False, the kind cannot be changed and an empty address keeps the current one.
        """
        super().__init__(data, **more)
        if not is_new:
            del self.fields["via"]
            self.fields["address"].required = False
            self.fields["address"].help_text = _("Empty: it stays as it is.")
