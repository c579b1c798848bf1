"""A strategy that Trainboard does not have: importing this module adds it, as its line in the registry would.

`pytest -p tests.support.sixth_strategy` runs tests with it.
"""

from jobs.spec import Submission
from jobs.strategies import STRATEGIES, Strategy
from jobs.strategies.base import set_strategy
from jobs.strategies.sources import RUNS
from jobs.strategies.standard import serves
from jobs.texts import translatable as _


def recognizes(submission: Submission) -> bool:
    """Return whether a submission switches retries off."""
    return submission.job_spec.scheduling.disable_retries


def apply(submission: Submission) -> Submission:
    """Return the submission on demand, without retries."""
    asked = set_strategy(submission, strategy="")
    scheduling = asked.job_spec.scheduling.but(disable_retries=True)
    return asked.with_job_spec(asked.job_spec.but(scheduling=scheduling))


STRATEGY = Strategy(
    key="one_attempt",
    label="One attempt",
    summary=_("Machines on demand that are tried once."),
    sets="scheduling.disableRetries = true",
    machines="All machines that train, except GB200",
    serves=serves,
    price_key="standard",
    billing=_("As for standard jobs."),
    quota="custom_model_training_",
    quota_rule="As for standard jobs.",
    preemptible=False,
    restart_allowance=0,
    restart_rule=_("Never restarted."),
    wait_rule=_("Fails when the region has no capacity."),
    default_wait=None,
    longest_run=None,
    console=_("gcloud, the SDK and REST submit it."),
    source=RUNS,
    rules=(),
    apply=apply,
    recognizes=recognizes,
    precedence=4,
    safety=5,
    queued=_("waits for its only attempt"),
)
STRATEGIES[STRATEGY.key] = STRATEGY
