"""Why a job failed and what to do next, from the words and the code that Vertex AI gives. Pure.

`diagnosis` is the shape of an answer, `causes` holds what is known about each cause, `cues` which words show it.
`exits` reads how replicas ended and `exit_causes` what that means, `error_messages` finds the cause in a message,
`explanations` adds what the message holds about this one job, and `circumstances` what is known of the job itself.
"""

from jobs.diagnosis.circumstances import Circumstances, diagnose_expiry
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.diagnosis.error_messages import diagnose, diagnose_output
from jobs.diagnosis.exits import read_exits

__all__ = ["Circumstances", "Diagnosis", "diagnose", "diagnose_expiry", "diagnose_output", "read_exits"]
