"""Parse how replicas ended from Vertex AI's sentences, and explain exit codes.

Prebuilt images report a signal by its number, custom containers by 128 + number. Replicas are named `workerpool0-0`;
the product before Vertex AI named them `master 0`, `ps 1`. Source: Understand the custom training service, 2026-08-22;
tensorflow/models issues 5591 and 5845, read 2026-11-21.
"""

import re
from dataclasses import dataclass

from jobs.texts import translatable as _

TRANSIENT = frozenset({6, 11, 134, 139})
"""Exit codes after which Vertex AI restarts the whole job, at most three times."""
NOT_PERMANENT = frozenset({"evicted", "nodelost", "nodeshutdown"})
"""Termination reasons, in lowercase, of replicas that lost their machine without failing. Vertex AI starts such a
replica again (Kubernetes documentation, pod phases and node-pressure eviction)."""
TRANSIENT_RETRIED = _(
    "Vertex AI had already restarted the job up to three times, since such an end can be a coincidence."
)

SIGNALS = {
    4: _("it used an instruction that the processor lacks (SIGILL)"),
    6: _("it gave itself up (SIGABRT)"),
    7: _("it used shared memory that was not there (SIGBUS)"),
    9: _("it was killed from outside (SIGKILL)"),
    11: _("it touched memory that is not its own (SIGSEGV)"),
    15: _("it was told to stop (SIGTERM)"),
}
MEANINGS = SIGNALS | {
    1: _("as Python does after an error"),
    2: _("as programs do when they do not understand their arguments"),
    126: _("its command is not executable"),
    127: _("its command was not found"),
    128: _("it could not be started"),
    **{128 + number: words for number, words in SIGNALS.items()},
}
START_ERROR = 128
"""The code of a container that could not be started, if the reason is StartError; else the program's own."""
KILLED = frozenset({9, 137})
CAUSE_OF_CODE = {4: "image_arch", 132: "image_arch", 7: "shared_memory", 135: "shared_memory"}
CAUSE_OF_CODE |= {15: "terminated", 143: "terminated"}
NOT_STARTED = frozenset({126, 127})

_EXIT = re.compile(
    r"(?:(?:The )?replica (?P<replica>[a-z][\w-]{0,60}(?: \d{1,6})?)|\b(?P<bare>workerpool\d{1,3}-\d{1,6})) "
    r"(?P<memory>ran out[- ]of[- ]memory and )?exited with (?:a non-zero status of|(?:exit )?(?:code|status)) "
    r"(?P<code>\d{1,6})(?:\((?P<signal>\w{1,20})\))?\.?"
    r"(?:\s{0,9}Termination reason:\s{0,9}(?P<reason>[^.\n]{1,80})\.)?",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"To find out more about why your job exited please check the logs:\s{0,9}\S{0,2000}", re.IGNORECASE
)
"""Text that the service adds to its own log line (vertex-facts 16.7), not output of the program."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of one replica. `output` is the text after it in the message, such as the program's traceback."""

    replica: str
    code: int
    reason: str
    out_of_memory: bool
    output: str

    @property
    def words(self) -> str:
        """A sentence about what happened."""
        meaning = MEANINGS.get(self.code) if self.code != START_ERROR or self.reason == "StartError" else None
        values: dict[str, object] = {"replica": self.replica, "code": self.code}
        if meaning:
            return _("%(replica)s ended with exit code %(code)s: %(meaning)s.", **values, meaning=meaning)
        return _("%(replica)s ended with exit code %(code)s.", **values)


def read_exits(message: str) -> tuple[str, list[Exit]]:
    """Return (the message before the first replica's end, the ends in order); user text is only in `output`."""
    found = list(_EXIT.finditer(message))
    if not found:
        return message, []
    starts = [match.start() for match in found[1:]] + [len(message)]
    ends = [
        Exit(
            replica=match["replica"] or match["bare"],
            code=int(match["code"]),
            reason=(match["reason"] or "").strip(),
            out_of_memory=bool(match["memory"]),
            output=_ADVICE.sub("", message[match.end() : following]),
        )
        for match, following in zip(found, starts, strict=True)
    ]
    return message[: found[0].start()], ends
