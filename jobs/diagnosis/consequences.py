"""Recognize failures that only follow from another: of a lost process, or of a process that this one had started."""

import re

_CONSEQUENCES = re.compile(
    r"watchdog|processgroupnccl|distbackenderror|distnetworkerror|diststoreerror|childfailederror|signalexception"
    r"|broken ?pipe|sigterm|remote process exited|connection (?:was )?(?:closed|reset) by|socket timeout|tcpstore"
    r"|heartbeat|coordination ?service|gloo.{0,80}(?:closed|timed out)|peer is unreachable|root cause|see (?:the )?"
    r"(?:error|stack|traceback|log).{0,20}above|calledprocesserror|processraisedexception|processexitedexception"
    r"|returned non-zero exit status|engine core init|actordied|workercrashed|nccl (?:error|communicator was aborted)"
    r"|fatal python error: aborted|\Aaborted\b|\A\*\*\* sigabrt|horovodinternalerror|horovod has been"
    r"|process \d{1,6} terminated|processes exited with|trainingfailederror|another task died"
    r"|\A(?:error: )?aborted from |exit_barrier|keyboardinterrupt|systemexit|collective operation timeout"
    r"|collective ops is aborted|\bbarrier timed out"
    r"|\Aruntimeerror: simulation crashed|primary job\s{1,4}terminated"
    r"|monitoredbarrier|rendezvous\w{0,20}error|store based barrier|statuscode\.unavailable"
)
_OF_CHILD = re.compile(
    r"\A(?:\w{1,80}\.)?eoferror(?!: (?:ran out|eof |compressed|marshal))|workers are no longer alive|statements above"
)
"""What a process raises after another process of its own has failed: it only cannot read from it any more."""


def is_consequence(words: str) -> bool:
    """Return whether an exception or last line only follows from the failure of another process."""
    return _CONSEQUENCES.search(words.lower()) is not None


def follows(words: str) -> bool:
    """Return whether words only follow from a failure that the same output shows, also one of a process of its own."""
    return is_consequence(words) or _OF_CHILD.search(words.lower()) is not None
