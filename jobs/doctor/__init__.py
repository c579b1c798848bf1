"""Check everything that jobs need in order to run; a failed check has a command that repairs it."""

from jobs.doctor.report import Check, Status, from_json
from jobs.doctor.run import UPKEEP, examine, examine_when_due, request_examination

__all__ = [
    "UPKEEP",
    "Check",
    "Status",
    "examine",
    "examine_when_due",
    "from_json",
    "request_examination",
]
