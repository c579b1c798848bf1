"""The filters of the audit log."""

from django import forms

KINDS = [
    ("", "every setting"),
    ("team", "teams"),
    ("membership", "members and roles"),
    ("allowedresource", "projects, buckets, accounts"),
    ("policy", "policies"),
    ("rulesetting", "rules"),
    ("price", "prices"),
    ("retentionsetting", "retention"),
    ("user", "people"),
    ("sign-in", "sign-ins and sign-outs"),
    ("invitation", "invitations"),
    ("identity", "sign-ins by a provider"),
    ("signinrule", "sign-in rules"),
]


class AuditForm(forms.Form):
    """Which entries are shown."""

    q = forms.CharField(label="Search", required=False, max_length=100)
    who = forms.CharField(label="Changed by", required=False, max_length=150)
    kind = forms.ChoiceField(label="Setting", required=False, choices=KINDS)
