"""A job that runs to its end: order of states, `startTime` at each step, log, lists, and calls after the end."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from jobs.conformance.claims import Check, Claim, Outcome, decide, differs, unseen
from jobs.conformance.experiments import Experiment, custom_job
from jobs.conformance.lab import Lab, Planned
from jobs.conformance.recording import Line, Story, digits_of, seconds, state_of, time_in
from jobs.vertex import quoted, timestamp, wire

ORDER = ("QUEUED", "PENDING", "RUNNING", "SUCCEEDED")
PROVISIONING = (
    "Waiting for job to be provisioned.",
    "Vertex AI is provisioning job running framework.",
    "Vertex AI is setting up this job.",
    "Waiting for training program to start.",
)
"""The beginnings of the four lines that every attempt starts with (vertex-facts 10.4)."""
PREPARING, RUNNING = "Job is preparing.", "Job is running."
TEARING_DOWN, TORN_DOWN = "Tearing down training program.", "Finished tearing down training program."
SUCCEEDED, FAILED = "Job completed successfully.", "Job failed."
WAITING_STATES = ("QUEUED", "PENDING")
SOON = timedelta(seconds=1)


# ---------------------------------------------------------------- checks that other experiments use too
def check_create(story: Story) -> Outcome:
    """Check that the answer to create is PENDING without a start time."""
    made = story.call("customJobs.create")
    if made is None or made.status != 200:
        return unseen("The job was not created.")
    starts = " with startTime" if "startTime" in made.body else " without startTime"
    return decide(state_of(made) == "PENDING" and "startTime" not in made.body, f"It is {state_of(made)}{starts}.")


def check_provisional_start(story: Story) -> Outcome:
    """Check the start time that a job has while it waits for the first time."""
    for poll in story.polls():
        start, created = time_in(poll, "startTime"), time_in(poll, "createTime")
        if state_of(poll) not in (*WAITING_STATES, "CANCELLED"):
            break
        if start is not None and created is not None:
            after, digits = (start - created).total_seconds(), digits_of(poll, "startTime")
            words = f"While {state_of(poll)}, startTime is createTime + {after:.3f} s with {digits} digits."
            return decide(0.115 <= after < 0.175 and digits == 6, words)
    return unseen("No poll of the waiting job shows a startTime.")


def settled(poll_start: datetime | None, created: datetime | None) -> bool:
    """Return whether a start time is a whole second, at least a second after the creation."""
    return bool(poll_start and created and not poll_start.microsecond and poll_start - created >= SOON)


def check_settled_start(story: Story) -> Outcome:
    """Check the start time of a job that runs."""
    shown = [poll for poll in story.polls() if state_of(poll) in ("RUNNING", "SUCCEEDED", "FAILED")]
    if not shown:
        return unseen("The job did not run.")
    starts = {str(poll.body.get("startTime")) for poll in shown}
    is_so = all(settled(time_in(poll, "startTime"), time_in(poll, "createTime")) for poll in shown)
    return decide(is_so and len(starts) == 1, f"startTime from RUNNING on: {', '.join(sorted(starts))}.")


CREATE_ANSWER = Claim("create_answer", "Create answers PENDING without startTime.", "17.1", "recorded", check_create)
PROVISIONAL_START = Claim(
    "provisional_start",
    "While the job waits, startTime is createTime + 0.12 to 0.17 s with six digits.",
    "17.2",
    "recorded",
    check_provisional_start,
)
SETTLED_START = Claim(
    "settled_start",
    "From RUNNING on, startTime is a whole second, at least 1 s after createTime, and does not change.",
    "17.2",
    "recorded",
    check_settled_start,
)


def attempts(story: Story) -> list[Line]:
    """Return the lines with which attempts begin."""
    return [line for line in story.lines("service") if line.text == PROVISIONING[0]]


def service_lines(story: Story, *begins: str) -> list[Line]:
    """Return the service's lines that begin with one of these texts."""
    return [line for line in story.lines("service") if line.text.startswith(begins)]


# ---------------------------------------------------------------- states and times
def _queued_first(story: Story) -> Outcome:
    after = story.states()[1:]
    if not after:
        return unseen("There is no poll after the create.")
    return decide(after[0] == "QUEUED", f"The states are {', '.join(story.states())}.")


def _forward_only(story: Story) -> Outcome:
    states = story.states()[1:]
    places = [ORDER.index(state) if state in ORDER else -1 for state in states]
    if not states or states[-1] != ORDER[-1]:
        return unseen(f"The states are {', '.join(states) or 'unknown'}.")
    return decide(places == sorted(set(places)) and -1 not in places, f"After the create: {', '.join(states)}.")


def _running_is_visible(story: Story) -> Outcome:
    poll = story.first("RUNNING")
    start, updated = time_in(poll, "startTime"), time_in(poll, "updateTime")
    if start is None or updated is None:
        return unseen("No poll shows RUNNING with both times.")
    after = updated - start
    return decide(timedelta(seconds=9.5) <= after < timedelta(seconds=13.5), f"RUNNING is {seconds(after)} after it.")


def _end_is_whole(story: Story) -> Outcome:
    end = story.first("SUCCEEDED", "FAILED")
    if end is None or "endTime" not in end.body:
        return unseen("The end was not seen.")
    return decide(digits_of(end, "endTime") == 0, f"endTime is {end.body['endTime']}.")


def _end_is_visible(story: Story) -> Outcome:
    end = story.first("SUCCEEDED", "FAILED")
    ended, updated = time_in(end, "endTime"), time_in(end, "updateTime")
    if ended is None or updated is None:
        return unseen("The end was not seen.")
    after = (updated - ended).total_seconds()
    return decide(0.5 <= after <= 30, f"updateTime is {after:.1f} s after endTime.")


def _no_error(story: Story) -> Outcome:
    end = story.first("SUCCEEDED")
    return (
        unseen("It did not succeed.") if end is None else decide("error" not in end.body, "The last answer has none.")
    )


# ---------------------------------------------------------------- the log
def _provisioning_lines(story: Story) -> Outcome:
    lines = [next(iter(service_lines(story, text)), None) for text in PROVISIONING]
    found = [line for line in lines if line is not None]
    if not found:
        return unseen("The log has none of them.")
    spread = max(line.at for line in found) - min(line.at for line in found)
    return decide(len(found) == 4 and spread < SOON, f"{len(found)} of 4 lines within {seconds(spread)}.")


def _preparing_line(story: Story) -> Outcome:
    first, preparing = service_lines(story, PROVISIONING[0]), service_lines(story, PREPARING)
    if not first or not preparing:
        return unseen("The log lacks one of the two lines.")
    after = (preparing[0].at - first[0].at).total_seconds()
    return decide(-0.5 <= after <= 2.5, f"{after:.1f} s after the first line.")


def _running_line(story: Story) -> Outcome:
    running, replica = service_lines(story, RUNNING), story.lines("replica")
    if not running or not replica:
        return unseen("The log lacks the line, or the replica wrote nothing.")
    after = (replica[0].at - running[0].at).total_seconds()
    words = f"{len(running)} such lines; the replica's first line comes {after:+.1f} s after it."
    return decide(len(running) == 1 and -11 <= after <= 13, words)


def _success_lines(story: Story) -> Outcome:
    down, done, end = (
        service_lines(story, TEARING_DOWN),
        service_lines(story, TORN_DOWN),
        service_lines(story, SUCCEEDED),
    )
    replica = story.lines("replica")
    if not end:
        return unseen("The log has no line about a success.")
    if not down or not done or not replica:
        return differs("A line about the tear-down is missing.")
    before, between = down[0].at - replica[-1].at, done[0].at - down[0].at
    words = f"Tear-down {seconds(before)} after the last line, finished {seconds(between)} later."
    return decide(
        timedelta(seconds=4) <= before <= timedelta(seconds=26)
        and timedelta(seconds=36) <= between <= timedelta(seconds=51)
        and abs(end[0].at - done[0].at) <= SOON,
        words,
    )


def _replica_entries(story: Story) -> Outcome:
    entries = [line.raw for line in story.lines("replica")]
    if not entries:
        return unseen("The replica wrote nothing.")
    wanted = {"compute.googleapis.com/resource_id", "compute.googleapis.com/resource_name",
              "compute.googleapis.com/zone", "ml.googleapis.com/trial_id", "ml.googleapis.com/trial_type",
              "ml.googleapis.com/tpu_worker_id", "ml.googleapis.com/job_id/log_area"}  # fmt: skip
    entry = entries[0]
    about = set(wire.mapping(wire.mapping(entry.get("resource")).get("labels")))
    faults = sorted(wanted - set(wire.mapping(entry.get("labels"))))
    faults += sorted({"project_id", "job_id", "task_name"} - about)
    faults += [] if wire.text(entry.get("logName")).endswith("/logs/workerpool0-0") else ["logName"]
    faults += [] if {"message", "levelname"} <= set(wire.mapping(entry.get("jsonPayload"))) else ["jsonPayload"]
    return decide(not faults, f"Missing or different: {', '.join(faults)}." if faults else "All of these are there.")


def _service_entries(story: Story) -> Outcome:
    key = "ml.googleapis.com/endpoint"
    service = [key in wire.mapping(line.raw.get("labels")) for line in story.lines("service")]
    replica = [key in wire.mapping(line.raw.get("labels")) for line in story.lines("replica")]
    if not service:
        return unseen("The log has no lines of the service.")
    words = f"{sum(service)} of {len(service)} lines of the service and {sum(replica)} of the replica have it."
    return decide(all(service) and not any(replica), words)


def _late_entries(story: Story) -> Outcome:
    spans = [(line.received - line.at).total_seconds() for line in story.lines() if line.received is not None]
    if not spans:
        return unseen("The entries have no receiveTimestamp.")
    return decide(min(spans) >= 0 and max(spans) <= 30, f"{min(spans):.1f} to {max(spans):.1f} s.")


# ---------------------------------------------------------------- lists, and calls in the wrong state
FILTERS = {
    "display_name": 'display_name="{name}"',
    "displayName": 'displayName="{name}"',
    "wildcard": 'display_name:"{start}*"',
    "state": 'state="JOB_STATE_SUCCEEDED"',
    "other states": 'state!="JOB_STATE_FAILED" AND state!="JOB_STATE_CANCELLED"',
    "NOT": 'NOT state="JOB_STATE_FAILED"',
    "create_time": 'create_time>="{since}"',
    "label exists": "labels.trainboard_conformance:*",
}


def _run_and_list(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    began = lab.now
    name = lab.create(planned[0])
    if not name:
        return
    display = quoted(lab.site.name(lab.experiment)).strip('"')
    only = f'display_name="{display}"'
    for pause in (0, 0.5, 1, 2, 5, 10):
        yield pause
        if lab.list("list after create", only):
            break
    yield from lab.watch(name)
    for key, text in FILTERS.items():
        since = timestamp(began - timedelta(minutes=10))
        filled = text.format(name=display, start=display[:-2], since=since)
        lab.list(
            f"filter: {key}", filled if "display_name" in filled or "displayName" in filled else f"{only} AND {filled}"
        )
    lab.list("read mask", only, ["name", "state"])
    lab.cancel(name, step="cancel after the end")
    yield from lab.read_log([name], began)
    lab.delete(name, step="delete after the end")
    lab.get(name, step="get after delete")
    lab.cancel(name, step="cancel after delete")
    lab.delete(name, step="delete after delete")


def _list_lag(story: Story) -> Outcome:
    made, lists = story.call("customJobs.create"), story.calls("customJobs.list", "list after create")
    if made is None or not lists:
        return unseen("No list followed the create.")
    shown = next((each for each in lists if each.job_bodies), None)
    if shown is None:
        return differs(f"Not in {len(lists)} lists within {seconds(lists[-1].at - made.at)}.")
    return decide(
        shown is lists[0], f"In list {lists.index(shown) + 1}, {seconds(shown.at - made.at)} after the create."
    )


def _filters(story: Story) -> Outcome:
    answers = {key: story.call("customJobs.list", f"filter: {key}") for key in FILTERS}
    if None in answers.values():
        return unseen("Not every filter was tried.")
    wrong = [f"{key} ({each.status})" for key, each in answers.items() if each and len(each.job_bodies) != 1]
    return decide(not wrong, f"Not found by: {', '.join(wrong)}." if wrong else f"Found by all {len(answers)} filters.")


def _read_mask(story: Story) -> Outcome:
    answer = story.call("customJobs.list", "read mask")
    if answer is None:
        return unseen("No list with a readMask.")
    names = [", ".join(sorted(body)) for body in answer.job_bodies]
    return decide(names == ["name, state"], f"Status {answer.status}, fields: {names or answer.message}.")


def check_refusal(method: str, step: str, status: int, words: str) -> Check:
    """Return a check that a call was refused with this HTTP status and a message that contains `words`."""

    def check(story: Story) -> Outcome:
        answer = story.call(method, step)
        if answer is None:
            return unseen("The call was not made.")
        is_so = answer.status == status and words in answer.message
        return decide(is_so, f"{answer.status} {wire.text(answer.error.get('status'))} {answer.message}".rstrip() + "")

    return check


def _delete_after_end(story: Story) -> Outcome:
    answer = story.call("customJobs.delete", "delete after the end")
    if answer is None:
        return unseen("The job was not deleted.")
    kind = wire.text(wire.mapping(answer.body.get("response")).get("@type")).rpartition(".")[2]
    return decide(
        answer.body.get("done") is True and kind == "Empty",
        f"done: {answer.body.get('done')}, response: {kind or None}.",
    )


def _after_delete(story: Story) -> Outcome:
    steps = {"get": "get after delete", "cancel": "cancel after delete", "delete": "delete after delete"}
    found = {verb: story.call(f"customJobs.{verb}", step) for verb, step in steps.items()}
    answers = [answer for answer in found.values() if answer is not None]
    if len(answers) < len(steps):
        return unseen("Not every call was made.")
    wanted = {"code": 404, "message": "The CustomJob does not exist.", "status": "NOT_FOUND"}
    wrong = [f"{verb}: {answer.status} {dict(answer.error)}" for verb, answer in found.items()
             if answer is not None and dict(answer.error) != wanted]  # fmt: skip
    return decide(not wrong, "; ".join(wrong) or "get, cancel and delete answer this.")


SUCCESS = Experiment(
    name="success",
    title="A job that exits with code 0, with lists, filters, and calls after its end",
    plan=lambda site: [
        custom_job(site, "success", "echo conformance begins; sleep 20; echo conformance ends", timeout=600)
    ],
    steps=_run_and_list,
    claims=(
        CREATE_ANSWER,
        Claim("queued_first", "The job is QUEUED first after the create.", "17.1", "recorded", _queued_first,
              is_timed=True),
        Claim("forward_only", "States only go forward: QUEUED, PENDING, RUNNING, SUCCEEDED.", "17.1", "recorded",
              _forward_only),
        PROVISIONAL_START,
        SETTLED_START,
        Claim("running_visible", "RUNNING becomes visible 10 to 13 s after the settled startTime.", "17.3", "recorded",
              _running_is_visible, is_timed=True),
        Claim("end_whole", "endTime of a job that succeeds is a whole second.", "17.4", "recorded", _end_is_whole),
        Claim("end_visible", "The end becomes visible 0.6 to 29 s after endTime.", "17.4", "recorded", _end_is_visible,
              is_timed=True),
        Claim("no_error", "A job that succeeds has no error.", "1.3", "documented", _no_error),
        Claim("provisioning_lines", "The four provisioning lines share one second.", "17.7", "recorded",
              _provisioning_lines, is_timed=True),
        Claim("preparing_line", "“Job is preparing.” comes 0 to 2 s after the first line.", "17.7", "recorded",
              _preparing_line, is_timed=True),
        Claim("running_line", "“Job is running.” comes once, from 10 s after to 12 s before the replica's first line.",
              "17.7", "recorded", _running_line, is_timed=True),
        Claim("success_lines", "“Tearing down” comes 5 to 25 s after the exit, “Finished tearing down” and"
              " “Job completed successfully.” together 37 to 50 s later.", "17.7", "recorded", _success_lines,
              is_timed=True),
        Claim("replica_entries", "A replica's entry has logName …/workerpool0-0, levelname and message, and the seven"
              " labels of machine and trial.", "17.10", "recorded", _replica_entries),
        Claim("service_entries", "Only the service's entries have the label ml.googleapis.com/endpoint.", "17.10",
              "recorded", _service_entries),
        Claim("late_entries", "An entry is received at most 28 s after it was written.", "17.10", "recorded",
              _late_entries),
        Claim("list_lag", "A list right after the create contains the job.", "11.4", "assumed", _list_lag),
        Claim("filters", "Names, states, times and labels select the job, in both spellings, with AND and NOT.", "1.2",
              "documented", _filters),
        Claim("read_mask", "A readMask of the resource's own fields returns only these.", "1.2", "assumed", _read_mask),
        Claim("cancel_ended", "Cancel of an ended job is refused with FAILED_PRECONDITION.", "17, not known", "assumed",
              check_refusal("customJobs.cancel", "cancel after the end", 400, "")),
        Claim("delete_ended", "Delete of an ended job answers an operation that is done, with Empty.", "17.11",
              "recorded", _delete_after_end),
        Claim("not_found", "After delete, get, cancel and delete answer 404 “The CustomJob does not exist.” without"
              " details.", "17.11", "recorded", _after_delete),
    ),
)  # fmt: skip
