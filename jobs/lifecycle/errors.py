"""What a verb raises when it will not do as asked; both carry words for the person who asked.

NotAllowed    policy refuses the job; `decision` holds every finding
NotPermitted  this person may not do this to this job
"""

from jobs.policy import Decision


class NotAllowed(Exception):
    """Policy refuses the job."""

    def __init__(self, decision: Decision) -> None:
        super().__init__("; ".join(finding.message for finding in decision.findings))
        self.decision = decision


class NotPermitted(Exception):
    """This person may not do this; the message says why and who may."""
