"""The form for imports: a text or files, the team, and the expected run time."""

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
    """A file input for several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files, each validated as Django's FileField does. The value is a list."""

    widget = _Files

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        """Return the uploaded files."""
        several = data if isinstance(data, list | tuple) else [data]
        return [found for each in several if (found := super(FilesField, self).clean(each, initial)) is not None]


class _AnyText(forms.CharField):
    """Also accepts NUL, which Django refuses, because `jobs.importer` reports what such a text is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.validators = []


class ImportForm(FindingsForm):
    """A text in any format, or files, which are read instead of it. `pick` is the chosen job as file.job."""

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
        """Raise ValidationError for files that are too large in total."""
        files = self.cleaned_data["file"]
        if sum(file.size for file in files) > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return files

    def clean_text(self) -> str:
        """Raise ValidationError for a text that is too large."""
        text = str(self.cleaned_data["text"])
        if len(text.encode()) > MAX_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return text

    def given(self) -> list[Given]:
        """Return the files, else the text, split if it contains several. Call it after validation."""
        if files := self.cleaned_data.get("file"):
            return [Given(str(file.name), file.read()) for file in files]
        return parted(str(self.cleaned_data.get("text", "")))
