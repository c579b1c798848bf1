"""What somebody pastes or uploads, for which team, and how long it will run."""

from typing import Any

from django import forms

from dashboard.forms.fields.picks import team_field
from dashboard.forms.fields.words import LengthField
from dashboard.forms.found import FoundForm
from dashboard.forms.uploads import MOST_BYTES

TOO_LARGE = "It is larger than 1 MB. A job's spec has a few kilobytes: is this the right file?"
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""How a text's first bytes tell its encoding."""


class _AnyText(forms.CharField):
    """Takes NUL, too, which Django refuses: `jobs.convert` says what such a text is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.validators = []


class ImportForm(FoundForm):
    """A text in any format, or a file that counts instead of it."""

    is_final = True

    text = _AnyText(
        label="Paste it",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 14, "class": "mono", "spellcheck": "false", "autocomplete": "off"}),
    )
    file = forms.FileField(
        label="Or upload a file",
        required=False,
        allow_empty_file=True,
        help_text="At most 1 MB; it counts instead of the text.",
    )
    run_time = LengthField(label="Run time you expect", initial="1 h", help_text="For the cost: 24 h, 90 min, 1 d 12 h")
    team = team_field([])

    def __init__(self, *args: Any, teams: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"] = team_field(teams)

    def clean_file(self) -> Any:
        """Refuse a file that is too large."""
        file = self.cleaned_data["file"]
        if file is not None and file.size > MOST_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return file

    def clean_text(self) -> str:
        """Refuse a text that is too large."""
        text = str(self.cleaned_data["text"])
        if len(text.encode()) > MOST_BYTES:
            raise forms.ValidationError(TOO_LARGE)
        return text

    def given(self) -> tuple[str | bytes, str]:
        """Return the bytes of the file and its name, else the text and no name; call it on a form that was read."""
        file = self.cleaned_data.get("file")
        if file is not None:
            return file.read(), str(file.name)
        return str(self.cleaned_data.get("text", "")), ""


def as_lines(given: str | bytes) -> str:
    """Return what was given as text with `\\n` at line ends, its lines counted as `jobs.convert` counts them."""
    if isinstance(given, bytes):
        encoding = next((name for mark, name in MARKS if given.startswith(mark)), "utf-8")
        given = given.decode(encoding, errors="replace")
    return given.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
