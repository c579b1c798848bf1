"""What somebody pastes or uploads, for which team, and how long it will run."""

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.choices import team_field
from dashboard.forms.fields.words import DurationField
from dashboard.forms.findings import FindingsForm
from dashboard.forms.uploads import LIMIT, Given, parted
from jobs.importer import MAX_BYTES

TOO_LARGE = format_lazy(
    _("It is larger than {limit}. A job's spec has a few kilobytes: is this the right file?"), limit=LIMIT
)


class _Files(forms.ClearableFileInput):
    """Lets people choose several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Files, each read as Django reads one; a list of them."""

    widget = _Files

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        """Return the files that were uploaded."""
        several = data if isinstance(data, list | tuple) else [data]
        return [found for each in several if (found := super(FilesField, self).clean(each, initial)) is not None]


class _AnyText(forms.CharField):
    """Takes NUL, too, which Django refuses: `jobs.importer` reports what such a text is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.validators = []


class ImportForm(FindingsForm):
    """A text in any format, or files that count instead of it; `pick` is the job that is meant, as file.job."""

    is_final = True

    text = _AnyText(
        label=_("Paste it"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 14, "class": "mono", "spellcheck": "false", "autocomplete": "off"}),
    )
    file = FilesField(
        label=_("Or upload files"),
        required=False,
        allow_empty_file=True,
        help_text=format_lazy(
            _("A script and the files that it names; at most {limit} together. Files are read instead of the text."),
            limit=LIMIT,
        ),
    )
    pick = forms.CharField(required=False, max_length=10, widget=forms.HiddenInput)
    run_time = DurationField(_("Expected run time"), _("Such as 90 min or 1 d 12 h."), initial="1 h", required=True)
    team = team_field([])

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"] = team_field(teams)

    def clean_file(self) -> Any:
        """Refuse files that are too large together."""
        files = self.cleaned_data["file"]
        if sum(file.size for file in files) > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return files

    def clean_text(self) -> str:
        """Refuse a text that is too large."""
        text = str(self.cleaned_data["text"])
        if len(text.encode()) > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return text

    def given(self) -> list[Given]:
        """Return the files, else the text, taken apart where it shows several; call it on a form that was read."""
        if files := self.cleaned_data.get("file"):
            return [Given(str(file.name), file.read()) for file in files]
        return parted(str(self.cleaned_data.get("text", "")))
