"""Diagnose why a job failed and what to do next, from the message and code of Vertex AI. Pure.

`diagnosis` defines the result, `causes` describes each cause, and `cues` the phrases that indicate it. `exits` reads
how replicas ended, `failure_record` finds the failure in their output (`consequences` are none), by its `frames`, which
`output_lines` strips of prefixes, and `exit_causes` finds the cause of both. `error_messages` finds the cause in a
message, `explanations` adds details from the message, and `circumstances` adds facts about the job.
"""

from jobs.diagnosis.circumstances import Circumstances, diagnose_expiry
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.diagnosis.error_messages import diagnose, diagnose_output, rules
from jobs.diagnosis.exits import read_exits
from jobs.diagnosis.failure_record import FailureRecord
from jobs.diagnosis.output_lines import Output

__all__ = [
    "Circumstances",
    "Diagnosis",
    "FailureRecord",
    "Output",
    "diagnose",
    "diagnose_expiry",
    "diagnose_output",
    "read_exits",
    "rules",
]
