"""One check and how it went. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a check went: `WARN` is for what works less well or may be missing on purpose."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `group` is its heading, `detail` what was found, `repair` a command that repairs it, or ""."""

    group: str
    name: str
    status: Status
    detail: str = ""
    repair: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return it as JSON objects hold it."""
        return {name: str(value) for name, value in asdict(self).items()}


def passed(group: str, name: str, detail: str = "") -> Check:
    """Return a check that found nothing wrong."""
    return Check(group, name, Status.PASS, detail)


def warned(group: str, name: str, detail: str, repair: str = "") -> Check:
    """Return a check that found what may matter."""
    return Check(group, name, Status.WARN, detail, repair)


def failed(group: str, name: str, detail: str, repair: str = "") -> Check:
    """Return a check that found what stops jobs."""
    return Check(group, name, Status.FAIL, detail, repair)


def from_json(value: Mapping[str, Any]) -> Check:
    """Return the check that `as_dict` wrote; raises KeyError or ValueError for anything else."""
    status = Status(value["status"])
    return Check(value["group"], value["name"], status, value["detail"], value["repair"])
