"""All experiments, in the order in which they begin, and the claims about a run as a whole."""

from jobs.conformance import cancels, exits, on_request, refusals, runs
from jobs.conformance.claims import Claim, Outcome, decide, unseen
from jobs.conformance.experiments import Experiment
from jobs.conformance.recording import Story
from jobs.spec import COLLECTIONS
from jobs.states import from_vertex

EXPERIMENTS: tuple[Experiment, ...] = (
    refusals.REFUSALS,
    refusals.QUOTA,
    runs.SUCCESS,
    exits.EXIT_1,
    exits.TIMEOUT_SPANS,
    *exits.RETRIED,
    exits.TIMEOUT,
    exits.MISSING_IMAGE,
    exits.MISSING_RESERVATION,
    cancels.CANCEL_QUEUED,
    cancels.CANCEL_PENDING,
    cancels.CANCEL_RUNNING,
    cancels.DELETE_ACTIVE,
    on_request.SPOT,
    on_request.FLEX_START,
    on_request.TUNING_JOB,
    on_request.TRAINING_PIPELINE,
    on_request.PERSISTENT_RESOURCE,
    on_request.GPU,
)
GROUPS = tuple(dict.fromkeys(each.group for each in EXPERIMENTS if each.group))
"""What is run only if it is asked for."""


def _none_expired(story: Story) -> Outcome:
    bodies = [body for answer in story.answers for body in answer.job_bodies]
    if not bodies:
        return unseen("No job was seen.")
    expired = [str(body.get("displayName")) for body in bodies if body.get("state") == "JOB_STATE_EXPIRED"]
    return decide(not expired, ", ".join(dict.fromkeys(expired)) or f"{len(bodies)} answers about jobs, none EXPIRED.")


def _known_states(story: Story) -> Outcome:
    polls = [poll for kind in COLLECTIONS.values() for poll in story.polls(kind)]
    if not polls:
        return unseen("No job was seen.")
    states = {str(poll.body.get("state")) for poll in polls}
    unknown = sorted(state for state in states if from_vertex(state) == state)
    return decide(not unknown, ", ".join(unknown) or f"{len(states)} states, all known.")


WHOLE_RUN: tuple[Claim, ...] = (
    Claim("none_expired", "No job ends EXPIRED.", "17, not known", "assumed", _none_expired),
    Claim("known_states", "Every state is one of those documented.", "5", "documented", _known_states),
)
"""Claims about all experiments of a run together."""
