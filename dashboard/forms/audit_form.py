"""The filters of the audit log."""

from django import forms
from django.utils.translation import gettext_lazy as _

KINDS = [
    ("", _("every setting")),
    ("team", _("teams")),
    ("membership", _("members and roles")),
    ("allowedresource", _("projects, buckets, accounts")),
    ("policy", _("policies")),
    ("rulesetting", _("rules")),
    ("price", _("prices")),
    ("retentionsetting", _("retention")),
    ("user", _("people")),
    ("sign-in", _("sign-ins and sign-outs")),
    ("invitation", _("invitations")),
    ("identity", _("sign-ins by a provider")),
    ("signinrule", _("sign-in rules")),
]


class AuditForm(forms.Form):
    """Which entries are shown."""

    q = forms.CharField(label=_("Search"), required=False, max_length=100)
    who = forms.CharField(label=_("Changed by"), required=False, max_length=150)
    kind = forms.ChoiceField(label=_("Setting"), required=False, choices=KINDS)
