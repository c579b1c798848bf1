"""What a verb raises when it will not do as asked, with words for people.

NotAllowed    policy refuses the job; `decision` holds every finding
NotPermitted  this person may not do this to this job
Unexpected    a fault of ours ended a look at Vertex AI; its words are for people, the log has the rest
"""

from jobs.policy import Decision
from jobs.vertex import VertexError


class NotAllowed(Exception):
    """Policy refuses the job."""

    def __init__(self, decision: Decision) -> None:
        super().__init__("; ".join(finding.message for finding in decision.findings))
        self.decision = decision


class NotPermitted(Exception):
    """This person may not do this; the message says why and who may."""


class Unexpected(VertexError):
    """A look ended with an error that nobody foresaw; `claims.release_failed` lets its place back off."""

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"Trainboard could not go on because of an unexpected error ({type(error).__name__}); it tries again by "
            "itself. The log of the worker tells more."
        )
