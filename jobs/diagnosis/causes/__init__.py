"""What is known about each cause of failure: data. `explanations` adds what a message holds about this one job.

`access` holds the causes that lie with accounts, projects and networks, `request` those in the job's own fields,
`machines` those of capacity and hardware, `programs` those of the training program. Sources were read 2026-11-22;
Google's pages as of their snapshot of 2026-08-22.
"""

from jobs.diagnosis.causes import access, machines, programs, request
from jobs.diagnosis.diagnosis import Diagnosis

CAUSES: dict[str, Diagnosis] = {
    known.cause: known for group in (access, request, machines, programs) for known in group.KNOWN
}

__all__ = ["CAUSES"]
