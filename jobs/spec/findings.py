"""Findings, the results of checks. Checks return findings and raise nothing; the worst severity decides."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from jobs.texts import as_json, from_json, joined
from jobs.texts import translatable as _


class Severity(StrEnum):
    """The consequence of a finding for the job."""

    ERROR = "error"
    """The job cannot be sent like this."""
    APPROVAL = "approval"
    """An approver has to agree."""
    NOTE = "note"
    """For information; the job can be sent."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check.

    `field` is the path in the REST body in API names, such as `jobSpec.workerPoolSpecs[0].replicaCount`; empty means
    the whole body. `source` is the source of the rule and `read` the day it was read (ISO date). `line` counts from 1
    in the imported text. `job` is the id of another job that the message names. `confirm` identifies what a person
    may confirm as meant, so that the finding is no error any more; empty if it cannot be confirmed.
    """

    code: str
    severity: Severity
    field: str
    message: str
    remedy: str = ""
    source: str = ""
    read: str = ""
    line: int | None = None
    job: str = ""
    confirm: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as JSON; every key is always present."""
        return {name: getattr(self, name) for name in NAMES} | {"severity": str(self.severity)}

    def as_kept(self) -> dict[str, Any]:
        """Return the finding as `as_dict` does, with `words`: its texts in a form that can be translated when shown."""
        return self.as_dict() | {"words": {"message": as_json(self.message), "remedy": as_json(self.remedy)}}


NAMES = tuple(field.name for field in fields(Finding))


def kept_message(kept: Mapping[str, Any]) -> str:
    """Return the message of a stored finding, with or without the `words` of `as_kept`."""
    return from_json(kept["words"]["message"]) if "words" in kept else str(kept.get("message", ""))


def as_confirmed(finding: Finding, confirmed: Collection[str] | None) -> Finding:
    """Return a finding that a person may confirm as an error, unless it is `confirmed`; others unchanged.

    None means that nobody is asked to confirm, as in a job that was requested already.
    """
    if confirmed is None or not finding.confirm or finding.confirm in confirmed:
        return finding
    if finding.severity is not Severity.APPROVAL:  # a site has set another one
        return finding
    remedy = joined(finding.remedy, _("Correct it, or confirm that it is meant."))
    return replace(finding, severity=Severity.ERROR, remedy=remedy)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Return whether a finding is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def quoted(value: object, *, limit: int = 60) -> str:
    """Return a value in quotes for a message: one line, at most `limit` characters, safe to print."""
    if isinstance(value, bool) or value is None:
        text = {True: "true", False: "false", None: "null"}[value]
    elif isinstance(value, int):
        if abs(value) >= 10**limit:
            return joined("“", _("a number of more than %(n)s digits", n=limit), "”", between="")
        text = str(value)
    elif isinstance(value, str | float):
        text = str(value)[: limit + 1]
    else:
        return joined("“", kind_of(value), "”", between="")
    text = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return f"“{text[:limit]}…”" if len(text) > limit else f"“{text}”"


def kind_of(value: object) -> str:
    """Return the JSON kind of a value in plain words."""
    if value is None:
        return _("nothing (null)")
    if isinstance(value, bool):
        return _("true or false")
    if isinstance(value, int | float):
        return _("a number")
    if isinstance(value, str):
        return _("text")
    return _("a list") if isinstance(value, list | tuple) else _("an object")


def described(value: object) -> str:
    """Return the JSON kind of a value, followed by the quoted value unless it is null, a list or an object."""
    return joined(kind_of(value), quoted(value) if isinstance(value, str | int | float) else "")
