"""The result of one check. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from jobs import texts


class Status(StrEnum):
    """The result of a check. `WARN` is for something that works less well or may be missing on purpose."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `group` is its heading, `detail` the result, `repair` a command that repairs it, or ""."""

    group: str
    name: str
    status: Status
    detail: str = ""
    repair: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the check as JSON."""
        return {name: str(value) for name, value in asdict(self).items()}

    def as_kept(self) -> dict[str, Any]:
        """Return the check as `as_dict` does, with `words`: its texts in a form that can be translated when shown."""
        columns = {"group": self.group, "name": self.name, "detail": self.detail}
        return self.as_dict() | {"words": {name: texts.as_json(text) for name, text in columns.items()}}


def passed(group: str, name: str, detail: str = "") -> Check:
    """Return a check that found no problem."""
    return Check(group, name, Status.PASS, detail)


def warned(group: str, name: str, detail: str, repair: str = "") -> Check:
    """Return a check that found a possible problem."""
    return Check(group, name, Status.WARN, detail, repair)


def failed(group: str, name: str, detail: str, repair: str = "") -> Check:
    """Return a check that found a problem that stops jobs."""
    return Check(group, name, Status.FAIL, detail, repair)


def from_json(value: Mapping[str, Any]) -> Check:
    """Return the check that `as_kept` or `as_dict` wrote. Raise KeyError or ValueError for anything else."""
    words, status = value.get("words", value), Status(value["status"])
    group, name, detail = (texts.from_json(words[each]) for each in ("group", "name", "detail"))
    return Check(group, name, status, detail, value["repair"])
