"""The errors of the client, and the exit code of each."""

from typing import Any

SUCCEEDED, REFUSED, UNREADABLE, FAILED, CANCELLED, REJECTED, NOT_REACHED, NOT_PERMITTED, STILL_OPEN = range(9)
"""Exit codes. 0: done, or the job succeeded. 1: findings refuse the job. 2: a file or the command line cannot be read.
3: the job failed. 4: it was cancelled. 5: it was rejected. 6: the site did not answer, or failed. 7: the token is
invalid or not permitted to do this. 8: the time given with --timeout is over and the job has not ended."""
OF_OUTCOME = {"succeeded": SUCCEEDED, "failed": FAILED, "cancelled": CANCELLED, "rejected": REJECTED}


class TrainboardError(Exception):
    """An error that ends a command. The message is a sentence for people."""

    code = UNREADABLE


class NotReached(TrainboardError):
    """The site did not answer, or answered with an error of its own."""

    code = NOT_REACHED


class Refused(TrainboardError):
    """The site refused the request. `problem` is the body of its response (RFC 9457), `status` the status code."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"The site returned {status}."))
        self.status, self.problem = status, problem

    @property
    def code(self) -> int:  # type: ignore[override]
        """The exit code of this refusal."""
        return NOT_PERMITTED if self.status in {401, 403, 404} else REFUSED

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings about the job, each with `line`, `field`, `severity`, `message` and `remedy`."""
        return list(self.problem.get("findings") or [])
