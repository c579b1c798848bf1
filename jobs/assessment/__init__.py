"""The assessment of a submission before it is sent: findings, an estimate for each strategy, and the outcome.

The compose page, imports, `jobspec check`, requests and the last assessment before a job is sent all call `assess`.
They differ only in the context that they load. No other code decides on a submission.
"""

from jobs.assessment.assess import (
    Alternative,
    Assessment,
    Outcome,
    assess,
    filled,
    gpus_of,
    has_machines,
    of_severity,
    outcome_of,
    storable_gpus,
    storable_price,
    storable_usd,
)
from jobs.assessment.context import Context, IdenticalJob

__all__ = [
    "Alternative",
    "Assessment",
    "Context",
    "IdenticalJob",
    "Outcome",
    "assess",
    "filled",
    "gpus_of",
    "has_machines",
    "of_severity",
    "outcome_of",
    "storable_gpus",
    "storable_price",
    "storable_usd",
]
