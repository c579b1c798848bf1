"""Exceptions that actions raise, with messages for people.

NotAllowed    the job is refused; `findings` hold the reasons
NotPermitted  this person may not do this to this job
Unexpected    a fault of Trainboard ended a poll; the message is for people, the log has the details
"""

from collections.abc import Sequence

from jobs.spec import Finding, Severity
from jobs.texts import joined
from jobs.vertex import VertexError


class NotAllowed(Exception):
    """The job is refused. `findings` are all findings of its assessment, at least one of them an error."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = findings

    @property
    def errors(self) -> str:
        """The messages of the errors among the findings, as a `Text`."""
        return joined(
            *(finding.message for finding in self.findings if finding.severity is Severity.ERROR), between="; "
        )


class NotPermitted(Exception):
    """This person may not do this; the message gives the reason and who may."""


class Unexpected(VertexError):
    """A poll ended with an unforeseen error; `claims.release_failed` schedules the next try of its poll target."""

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"Trainboard could not go on because of an unexpected error ({type(error).__name__}); it tries again by "
            "itself. The log of the worker tells more."
        )
