"""Why a job failed and what to do next, from the words and the code that Vertex AI gives. Pure.

`answer` is the shape of a diagnosis, `causes` holds what is known about each cause, `exits` reads how replicas ended,
`reading` finds the cause in a message.
"""

from jobs.diagnosis.answer import Diagnosis
from jobs.diagnosis.exits import Exit, read_exits
from jobs.diagnosis.reading import diagnose

__all__ = ["Diagnosis", "Exit", "diagnose", "read_exits"]
