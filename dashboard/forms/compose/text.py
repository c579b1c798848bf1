"""The request as text beside the form: detect edits, and fill the form from the text."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from dashboard.forms.compose.fallback_form import FallbackForm
from dashboard.forms.compose.form import form_data
from dashboard.forms.compose.initial import initial_values
from jobs import importer, spec
from jobs.requests.placing import Placed
from jobs.spec import Finding, Severity, Submission

EDITABLE = ("rest", "gcloud-yaml")
"""Formats, as keys of FORMATS, that are parsed while somebody types."""
KEPT = (
    "csrfmiddlewaretoken", "request_key", "cloned_from", "left_out", "team", "project", "region", "run_time", "cap",
    "written", "draft_version", "seeds", "seed_argument", "argument_lists", *FallbackForm.base_fields,
)  # fmt: skip
"""Fields that the text does not contain, and region and project, which it may omit."""
SPECS = ("jobSpec", "trialJobSpec", "studySpec", "trainingTaskInputs")
"""Fields that a text replaces as a whole."""


Placing = Callable[[Submission], Placed]
"""Puts a job into a project and a region of the form's team."""


class Filled(NamedTuple):
    """The data of the form filled from a text.

    If the text cannot be read, `data` is None and `findings` have the reason.
    """

    data: dict[str, Any] | None
    findings: list[Finding]


def text_digest(text: str) -> str:
    """Return the digest of a text, which is sent with it and posted back. Line endings do not change it."""
    return sha256("\n".join(text.strip().splitlines()).encode(errors="replace")).hexdigest()


def is_edited(data: Mapping[str, Any]) -> bool:
    """Return whether the posted text differs from the one that the site last wrote or read."""
    text, known = data.get("request_text"), data.get("text_digest")
    return bool(text and known and text_digest(text) != known)


def fill_from_text(
    data: Mapping[str, Any],
    current: Submission | None,
    *,
    place: Placing,
    project: str,
    expected: timedelta | None,
) -> Filled:
    """Return the form filled from the text that was posted with it.

    Values that the text cannot contain are kept from the form: gcloud's YAML has neither name nor labels, and no text
    has a team and an expected run time. `current` is the current content of the form and `project` the project of the
    job. If the text names another project that the team may use, it is chosen.
    """
    text, region = str(data.get("request_text", "")), str(data.get("region", ""))
    read, findings = _read(data, current, place)
    if read is None:
        return Filled(None, findings)
    submission = _with_rest(read, current) if data.get("written") == "gcloud-yaml" else read
    filled = form_data(initial_values(submission, expected=expected) | {"region": submission.region or region})
    kept = {name: data[name] for name in KEPT if name in data and name != "region"}
    if read.project != project:
        kept["project"] = read.project
    return Filled(filled | kept | {"request_text": text, "text_digest": text_digest(text)}, findings)


def check_text(data: Mapping[str, Any], current: Submission | None, *, place: Placing) -> list[Finding]:
    """Return the findings in the text that was posted with the form. An error means that the form cannot follow it."""
    return _read(data, current, place)[1]


def without_text(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form without the text, so that the text is written again from the form."""
    return {name: value for name, value in data.items() if name not in ("request_text", "text_digest")}


def _read(
    data: Mapping[str, Any], current: Submission | None, place: Placing
) -> tuple[Submission | None, list[Finding]]:
    """Return the job of the text and findings.

    The job is None if an error prevents the form from following the text.
    """
    text = str(data.get("request_text", ""))
    name = current.display_name if current is not None else str(data.get("name", ""))
    reading = importer.read_text(text, name=name)
    # The form itself asks for what is to be confirmed.
    findings = [each for each in reading.findings if each.code != "placeholder" and not each.confirm]
    placed = None
    if reading.submission is not None:
        placed = place(reading.submission)
        findings += placed.findings
    if placed is None or reading.left_out or any(each.severity is Severity.ERROR for each in findings):
        return None, findings or [_unreadable(reading.left_out)]
    return placed.submission, findings


def _with_rest(submission: Submission, current: Submission | None) -> Submission:
    """Add the fields of the current job that the text lacks, except its specs, if both are of the same kind."""
    if current is None or current.kind != submission.kind:
        return submission
    beside = {key: value for key, value in spec.rest_body(current.job).items() if key not in SPECS}
    job, _ = spec.read(submission.kind, beside | spec.rest_body(submission.job))
    return submission if job is None else Submission(submission.kind, submission.project, submission.region, job)


def _unreadable(left_out: list[str]) -> Finding:
    if left_out:
        words = _("The form cannot show the text: %(places)s contains a placeholder.")
        return Finding("unreadable", Severity.ERROR, "", words % {"places": ", ".join(left_out[:3])})
    return Finding("unreadable", Severity.ERROR, "", _("The form cannot show the text: no job was found in it."))
