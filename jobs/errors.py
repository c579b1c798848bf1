"""What a verb raises when it will not do as asked, with words for people.

NotAllowed    the job is refused; `findings` hold the reasons
NotPermitted  this person may not do this to this job
Unexpected    a fault of ours ended a poll of Vertex AI; its words are for people, the log has the rest
"""

from collections.abc import Sequence

from jobs.spec import Finding, Severity
from jobs.texts import joined
from jobs.vertex import VertexError


class NotAllowed(Exception):
    """The job is refused. `findings` are all of its assessment, and at least one is an error."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = findings

    @property
    def errors(self) -> str:
        """The messages of the findings that are errors, a `Text`."""
        return joined(
            *(finding.message for finding in self.findings if finding.severity is Severity.ERROR), between="; "
        )


class NotPermitted(Exception):
    """This person may not do this; the message states why and who may."""


class Unexpected(VertexError):
    """A look ended with an error that nobody foresaw; `claims.release_failed` lets its place back off."""

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"Trainboard could not go on because of an unexpected error ({type(error).__name__}); it tries again by "
            "itself. The log of the worker tells more."
        )
