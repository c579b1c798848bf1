"""Rules about display name, labels, region, and fields that only Vertex AI fills in."""

import unicodedata
from collections.abc import Iterator

from jobs.catalog import READ_DATE, REGIONS
from jobs.spec import Message, Severity, Submission, quoted
from jobs.spec.shape import fields
from jobs.spec.unknown import confirmed_value, nearest_known, not_known
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.placeholders import is_open_place
from jobs.strategies.sources import API, LABELS, LOCATIONS, TRAINBOARD
from jobs.texts import translatable as _

MAX_DISPLAY_NAME = 128
MAX_REGION = 40
"""Trainboard stores no longer name; Google's have up to 23 characters."""
MAX_LABEL_LENGTH = 64
MAX_LABELS = 64
OUR_LABELS = ("trainboard_job", "trainboard_instance")


@rule(Severity.ERROR, API)
def display_name_is_given(submission: Submission) -> Iterator[Problem]:
    """A job has a display name."""
    if not submission.display_name:
        yield Problem("displayName", _("The job has no display name."), _("Enter a name; it need not be unique."))


@rule(Severity.ERROR, API)
def display_name_is_short(submission: Submission) -> Iterator[Problem]:
    """A display name has at most 128 characters."""
    length = len(submission.display_name)
    if length > MAX_DISPLAY_NAME:
        yield Problem(
            "displayName",
            _(
                "The display name has %(length)s characters; Vertex AI takes at most %(limit)s.",
                length=f"{length:,}",
                limit=MAX_DISPLAY_NAME,
            ),
            _("Shorten it."),
        )


@rule(Severity.ERROR, LOCATIONS)
def region_is_given(submission: Submission) -> Iterator[Problem]:
    """A job runs in a region."""
    if not submission.region:
        yield Problem("", _("No region is chosen."), _("Choose the region where the job runs."))


@rule(Severity.APPROVAL, LOCATIONS)
def region_trains(submission: Submission) -> Iterator[Problem]:
    """The region is one of the 39 that offer custom training, or a person confirmed it and Vertex AI decides."""
    region = submission.region
    if 0 < len(region) <= MAX_REGION and region not in REGIONS and not is_open_place(region):
        yield Problem(
            "", not_known(region, READ_DATE), nearest_known(region, REGIONS), confirmed_value("region", region)
        )


@rule(Severity.ERROR, LOCATIONS)
def region_is_short(submission: Submission) -> Iterator[Problem]:
    """The name of a region has at most 40 characters."""
    if len(submission.region) > MAX_REGION:
        yield Problem("", _("%(region)s is no region.", region=quoted(submission.region)), _("Choose the region."))


def _label_problem(text: str) -> str:
    if len(text) > MAX_LABEL_LENGTH:
        words = {"length": f"{len(text):,}", "limit": MAX_LABEL_LENGTH}
        return _("has %(length)s characters; at most %(limit)s are allowed", **words)
    bad = next((sign for sign in text if not (sign in "_-" or sign.isdecimal() or _small(sign))), "")
    return _("contains %(sign)s; only lowercase letters, digits, _ and - are allowed", sign=quoted(bad)) if bad else ""


def _small(sign: str) -> bool:
    """Return whether a character counts as lowercase: letters of scripts without capitals and combining marks do."""
    return (sign.isalpha() and sign == sign.lower()) or unicodedata.category(sign) in {"Mn", "Mc"}


@rule(Severity.ERROR, API)
def labels_are_valid(submission: Submission) -> Iterator[Problem]:
    """Label keys and values have at most 64 characters: lowercase letters, digits, underscores, hyphens."""
    for key, value in submission.job.labels.items():
        shown = quoted(key)[1:-1]
        if not key:
            yield Problem("labels", _("A label has an empty name."), _("Name it or remove it."))
        if problem := _label_problem(key):
            yield Problem(
                f"labels[{shown}]",
                _("The label %(label)s %(problem)s.", label=quoted(key), problem=problem),
                _("Rename the label."),
            )
        if problem := _label_problem(value):
            yield Problem(
                f"labels[{shown}]",
                _("The value of label %(label)s %(problem)s.", label=quoted(key), problem=problem),
                _("Change the value."),
            )


@rule(Severity.NOTE, LABELS)
def label_keys_start_with_a_letter(submission: Submission) -> Iterator[Problem]:
    """Label keys start with a letter, by the convention of all Google Cloud."""
    for key in submission.job.labels:
        if key and not key[0].isalpha():
            yield Problem(
                f"labels[{quoted(key)[1:-1]}]",
                _("The label %(label)s does not start with a letter; Google Cloud may refuse it.", label=quoted(key)),
                _("Put a letter first."),
            )


@rule(Severity.NOTE, LABELS)
def labels_are_at_most_64(submission: Submission) -> Iterator[Problem]:
    """A job has at most 64 labels, two of which Trainboard adds."""
    count = len({*submission.job.labels, *OUR_LABELS})
    if count > MAX_LABELS:
        yield Problem(
            "labels",
            _(
                "With Trainboard's own, the job has %(count)s labels; Google Cloud resources have at most %(limit)s.",
                count=count,
                limit=MAX_LABELS,
            ),
            _("Remove some."),
        )


@rule(Severity.NOTE, TRAINBOARD)
def labels_leave_trainboards_alone(submission: Submission) -> Iterator[Problem]:
    """The labels by which Trainboard finds its jobs are set by Trainboard."""
    for key in OUR_LABELS:
        if key in submission.job.labels:
            yield Problem(
                f"labels[{key}]",
                _("Trainboard sets the label %(label)s itself and replaces this value.", label=key),
                _("Remove it."),
            )


@rule(Severity.NOTE, API)
def output_fields_are_left_out(submission: Submission) -> Iterator[Problem]:
    """Fields that Vertex AI fills in are ignored in a request."""
    for name in outputs(submission.job):
        yield Problem(
            name, _("%(name)s is filled in by Vertex AI and ignored in a request.", name=name), _("Remove it.")
        )


def outputs(message: Message) -> list[str]:
    """Return the names of the given fields of a message that only Vertex AI fills in."""
    return [slot.alias for slot in fields(type(message)) if slot.output and message.has(slot.name)]


RULES = (
    display_name_is_given,
    display_name_is_short,
    region_is_given,
    region_trains,
    region_is_short,
    labels_are_valid,
    label_keys_start_with_a_letter,
    labels_are_at_most_64,
    labels_leave_trainboards_alone,
    output_fields_are_left_out,
)
