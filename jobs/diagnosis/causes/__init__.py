"""Descriptions of each cause of failure, as data. `explanations` adds details from the message of a job.

`access` has causes in accounts, projects and networks, `request` in the job's own fields, `machines` in capacity and
hardware, `programs` in the training program. Sources were read 2026-11-22; Google's pages as of their snapshot of
2026-08-22.
"""

from jobs.diagnosis.causes import access, machines, programs, request
from jobs.diagnosis.diagnosis import Diagnosis

CAUSES: dict[str, Diagnosis] = {
    known.cause: known for group in (access, request, machines, programs) for known in group.KNOWN
}

__all__ = ["CAUSES"]
