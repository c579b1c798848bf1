"""Jobs that are cancelled or deleted in each state."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from jobs.conformance.claims import Check, Claim, Outcome, decide, differs, unseen
from jobs.conformance.experiments import Experiment, Steps, custom_job
from jobs.conformance.lab import ENDED, Lab, Planned
from jobs.conformance.recording import Story, digits_of, seconds, state_of, time_in
from jobs.conformance.runs import WAITING_STATES, settled
from jobs.vertex import wire

CANCELLED = {"code": 1, "message": "CANCELED"}
PROGRAM = "echo conformance begins; sleep 300"
MAX_PENDING = 1_800
"""Seconds after which a job that got no machine is cancelled."""


def _cancel_when(*states: str) -> Steps:
    def steps(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
        began = lab.now
        name = lab.create(planned[0])
        if "CREATED" not in states:
            yield from lab.watch(name, until=states, limit=MAX_PENDING)
        if states == ("PENDING",):  # the first PENDING may be a moment before QUEUED
            yield from lab.watch(name, until=("RUNNING",), limit=20)
        lab.cancel(name)
        yield 1
        lab.get(name, step="a second later")
        lab.cancel(name, step="cancel again")
        yield from lab.watch(name, limit=900)
        yield from lab.read_log([name], began)

    return steps


def _answer(story: Story) -> Outcome:
    answer = story.call("customJobs.cancel", "cancel")
    if answer is None:
        return unseen("The job was not cancelled.")
    return decide(answer.status == 200 and not answer.body, f"{answer.status} {dict(answer.body)}")


def _a_second_later(story: Story) -> Outcome:
    later = story.call("customJobs.get", "a second later")
    if later is None or later.status != 200:
        return unseen("There is no poll a second later.")
    return decide(state_of(later) in WAITING_STATES, f"One second after the cancel it is {state_of(later)}.")


def _end_after_cancel(story: Story) -> Outcome:
    asked, end = story.call("customJobs.cancel", "cancel"), story.first("CANCELLED")
    ended = time_in(end, "endTime")
    if asked is None or ended is None:
        return unseen("The end was not seen.")
    after = (ended - asked.at).total_seconds()
    return decide(2 <= after <= 5, f"endTime is {after:.1f} s after the cancel.")


def _end_times(story: Story) -> Outcome:
    end = story.first("CANCELLED")
    if end is None:
        return unseen(f"The states are {', '.join(story.states())}.")
    is_so = end.body.get("endTime") == end.body.get("updateTime") and digits_of(end, "endTime") == 6
    return decide(is_so, f"endTime {end.body.get('endTime')}, updateTime {end.body.get('updateTime')}.")


def _error(story: Story) -> Outcome:
    end = story.first("CANCELLED")
    if end is None:
        return unseen(f"The states are {', '.join(story.states())}.")
    error = dict(wire.mapping(end.body.get("error")))
    return decide(error == CANCELLED, f"The error is {error}.")


def _keeps_provisional(story: Story) -> Outcome:
    end = story.first("CANCELLED")
    if end is None or "RUNNING" in story.states():
        return unseen(f"The states are {', '.join(story.states())}.")
    start, created = time_in(end, "startTime"), time_in(end, "createTime")
    if start is None or created is None:
        return differs("The cancelled job has no startTime.")
    after = start - created
    return decide(timedelta() < after < timedelta(seconds=1), f"startTime is createTime + {seconds(after)}.")


def _keeps_settled(story: Story) -> Outcome:
    end, ran = story.first("CANCELLED"), story.first("RUNNING")
    if end is None or ran is None:
        return unseen(f"The states are {', '.join(story.states())}.")
    start = end.body.get("startTime")
    is_so = start == ran.body.get("startTime") and settled(time_in(end, "startTime"), time_in(end, "createTime"))
    return decide(is_so, f"startTime is {ran.body.get('startTime')} in RUNNING and {start} at the end.")


def _cancel_again(story: Story) -> Outcome:
    answer = story.call("customJobs.cancel", "cancel again")
    if answer is None:
        return unseen("It was not cancelled again.")
    before = story.call("customJobs.get", "a second later")
    state = "unknown" if before is None else state_of(before)
    if state in ENDED:
        return unseen(f"The first one had taken effect before: the job was {state}.")
    return decide(answer.status == 200, f"{answer.status} {answer.message} while {state}".rstrip() + ".")


def _delete_refused(step: str) -> Check:
    def check(story: Story) -> Outcome:
        answer = story.call("customJobs.delete", step)
        if answer is None:
            return unseen("The job did not come to this state.")
        words = f"{answer.status} {wire.text(answer.error.get('status'))} {answer.message}"
        return decide(wire.text(answer.error.get("status")) == "FAILED_PRECONDITION", words)

    return check


def _delete_while_active(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    name = lab.create(planned[0])
    yield from lab.watch(name, until=("QUEUED", "PENDING"), limit=60)
    lab.delete(name, step="delete while waiting")
    yield from lab.watch(name, until=("RUNNING",), limit=MAX_PENDING)
    job = lab.get(name)
    if job is not None and job.state == "JOB_STATE_RUNNING":
        lab.delete(name, step="delete while running")
    lab.cancel(name)
    yield from lab.watch(name, limit=900)


CANCEL_QUEUED = Experiment(
    name="cancel-queued",
    title="A job that is cancelled at once",
    plan=lambda site: [custom_job(site, "cancel-queued", PROGRAM, timeout=300)],
    steps=_cancel_when("QUEUED"),
    claims=(
        Claim("cancel_answer", "Cancel answers 200 with {}.", "17.4", "recorded", _answer),
        Claim("still_waiting", "One second after the cancel the job still waits, and is not CANCELLING.", "17.4",
              "recorded", _a_second_later, is_timed=True),
        Claim("cancel_end", "endTime is about 3 s after the cancel.", "17.4", "recorded", _end_after_cancel,
              is_timed=True),
        Claim("cancel_times", "endTime of a cancelled job equals updateTime and has six digits.", "17.4", "recorded",
              _end_times),
        Claim("cancel_error", "The error of a cancelled job is code 1 “CANCELED”.", "17.4", "recorded", _error),
        Claim("keeps_provisional", "A job cancelled while it waits keeps the provisional startTime.", "17.2",
              "recorded", _keeps_provisional),
        Claim("cancel_again", "A second cancel answers 200 while the first takes effect.", "17, not known", "assumed",
              _cancel_again),
    ),
)  # fmt: skip
CANCEL_PENDING = Experiment(
    name="cancel-pending",
    title="A job that is cancelled while machines are prepared",
    plan=lambda site: [custom_job(site, "cancel-pending", PROGRAM, timeout=300)],
    steps=_cancel_when("PENDING"),
    claims=(
        Claim("keeps_provisional", "A job cancelled while it waits keeps the provisional startTime.", "17.2",
              "recorded", _keeps_provisional),
        Claim("cancel_error", "The error of a cancelled job is code 1 “CANCELED”.", "17.4", "recorded", _error),
    ),
)  # fmt: skip
CANCEL_RUNNING = Experiment(
    name="cancel-running",
    title="A job that is cancelled while it runs",
    plan=lambda site: [custom_job(site, "cancel-running", PROGRAM, timeout=600)],
    steps=_cancel_when("RUNNING"),
    claims=(
        Claim("keeps_settled", "A job cancelled while it runs keeps the settled startTime.", "17.2", "recorded",
              _keeps_settled),
        Claim("cancel_times", "endTime of a cancelled job equals updateTime and has six digits.", "17.4", "recorded",
              _end_times),
        Claim("cancel_error", "The error of a cancelled job is code 1 “CANCELED”.", "17.4", "recorded", _error),
    ),
)  # fmt: skip
DELETE_ACTIVE = Experiment(
    name="delete-active",
    title="Delete of a job that has not ended",
    plan=lambda site: [custom_job(site, "delete-active", PROGRAM, timeout=600)],
    steps=_delete_while_active,
    claims=(
        Claim("delete_waiting", "Delete of a waiting job is refused with FAILED_PRECONDITION.", "17, not known",
              "assumed", _delete_refused("delete while waiting")),
        Claim("delete_running", "Delete of a running job is refused with FAILED_PRECONDITION.", "17, not known",
              "assumed", _delete_refused("delete while running")),
    ),
)  # fmt: skip
