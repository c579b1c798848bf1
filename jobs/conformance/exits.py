"""Jobs that end otherwise: exit codes and their retries, timeouts, and an image that does not exist."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from jobs.conformance.claims import Check, Claim, Outcome, decide, differs, unseen
from jobs.conformance.experiments import Experiment, custom_job, run_to_the_end
from jobs.conformance.lab import Lab, Planned, Site
from jobs.conformance.recording import Story, seconds, state_of, time_in
from jobs.conformance.runs import (
    FAILED,
    SETTLED_START,
    TEARING_DOWN,
    TORN_DOWN,
    attempts,
    service_lines,
    settled,
)
from jobs.vertex import wire

BEGINS = "conformance begins"
RETRY_TIMEOUT = 1_200
"""Seconds for four attempts that each wait for a machine."""
MAX_RUNS = 4
"""The first run and the three retries of the whole job (vertex-facts 6.2)."""
SHORT_TIMEOUT = 60
SPAN_TIMEOUT, SPAN_RUN = 120, 80
"""A timeout that one attempt does not reach, and two do."""


def _error(story: Story) -> dict[str, object]:
    end = story.first("FAILED", "CANCELLED", "EXPIRED", "SUCCEEDED")
    return {} if end is None else dict(wire.mapping(end.body.get("error")))


def _end(story: Story) -> str:
    states = story.states()
    return states[-1] if states and states[-1] in ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED") else ""


def _error_text(code: int) -> Check:
    def check(story: Story) -> Outcome:
        error = _error(story)
        if not _end(story):
            return unseen("The end was not seen.")
        text = f"The replica workerpool0-0 exited with a non-zero status of {code}"
        is_so = _end(story) == "FAILED" and error.get("code") == 3 and str(error.get("message")).startswith(text)
        return decide(is_so, f"{_end(story)} with error {error}.")

    return check


def _error_comes_with_failed(story: Story) -> Outcome:
    end = story.first("FAILED")
    return unseen("No FAILED was seen.") if end is None else decide("error" in end.body, "The first FAILED answer.")


def _is_not_retried(story: Story) -> Outcome:
    begun, starts = len(attempts(story)), sum(BEGINS in line.text for line in story.lines("replica"))
    if not begun:
        return unseen("The log has no provisioning lines.")
    return decide(begun == 1 and starts <= 2, f"{begun} attempts, the program started {starts} times.")


def _failure_lines(story: Story) -> Outcome:
    errors = [line for line in story.lines("service") if line.severity == "ERROR"]
    done, end = service_lines(story, TORN_DOWN), service_lines(story, FAILED)
    if not end:
        return unseen("The log has no line “Job failed.”.")
    if not errors or not done:
        return differs("The ERROR line or “Finished tearing down” is missing.")
    is_together = abs(end[0].at - done[0].at) < timedelta(seconds=1.5)
    is_so = is_together and not service_lines(story, TEARING_DOWN) and errors[0].at <= end[0].at
    return decide(is_so, f"ERROR, then {seconds(end[0].at - errors[0].at)} later “Job failed.”.")


def _console_link(story: Story) -> Outcome:
    errors = [line.text for line in story.lines("service") if line.severity == "ERROR"]
    if not errors:
        return unseen("The log has no ERROR line.")
    return decide("please check the logs: URL" in errors[-1], f"It ends with: {errors[-1][-60:]}")


def _is_retried(story: Story) -> Outcome:
    begun = len(attempts(story))
    if not _end(story) or not begun:
        return unseen("The end or the log was not seen.")
    return decide(begun == MAX_RUNS and _end(story) == "FAILED", f"{begun} attempts, then {_end(story)}.")


def _state_goes_back(story: Story) -> Outcome:
    states = story.states()
    if "RUNNING" not in states or len(attempts(story)) < 2:
        return unseen("No restart was seen after RUNNING.")
    later = states[states.index("RUNNING") + 1 :]
    return decide("PENDING" in later and "QUEUED" not in later, f"The states are {', '.join(states)}.")


def _start_after_restart(story: Story) -> Outcome:
    ran = story.first("RUNNING")
    if ran is None or len(attempts(story)) < 2:
        return unseen("No restart was seen after RUNNING.")
    later = [poll for poll in story.polls() if poll.at >= ran.at]
    starts = list(dict.fromkeys(str(poll.body.get("startTime")) for poll in later))
    return decide(len(starts) == 1, f"startTime from the first RUNNING on: {', '.join(starts)}.")


def _retried(code: int) -> Experiment:
    name = f"exit-{code}"
    more = (
        Claim("state_goes_back", "Between two attempts of the whole job the state is PENDING.", "17, not known",
              "assumed", _state_goes_back),
        Claim("start_after_restart", "startTime stays that of the first run after a restart of the whole job.",
              "17, not known", "assumed", _start_after_restart),
    )  # fmt: skip
    return Experiment(
        name=name,
        title=f"A program that always exits with {code}",
        plan=lambda site: [
            custom_job(site, name, f"echo {BEGINS}; sleep 15; exit {code}", timeout=RETRY_TIMEOUT, runs=MAX_RUNS)
        ],
        steps=run_to_the_end,
        claims=(
            Claim(f"{code}_is_retried", f"After exit code {code} the whole job is restarted three times, then FAILED.",
                  "16.2", "documented", _is_retried),
            *(more if code == 134 else ()),
        ),
    )  # fmt: skip


EXIT_1 = Experiment(
    name="exit-1",
    title="A program that exits with 1",
    plan=lambda site: [custom_job(site, "exit-1", f"echo {BEGINS}; sleep 10; exit 1", timeout=600)],
    steps=run_to_the_end,
    claims=(
        Claim("error_text", "It ends FAILED with code 3 and “The replica workerpool0-0 exited with a non-zero status of"
              " 1.”", "6.4", "recorded", _error_text(1)),
        Claim("error_with_failed", "The error comes together with FAILED.", "16.4", "recorded",
              _error_comes_with_failed),
        Claim("not_retried", "The job is not retried; its container starts at most once more.", "16.1", "recorded",
              _is_not_retried),
        Claim("failure_lines", "The log ends with the ERROR line, “Finished tearing down” and “Job failed.” together,"
              " without “Tearing down”.", "16.7", "recorded", _failure_lines),
        Claim("console_link", "The ERROR line ends with the address of the log in the console.", "16.7", "recorded",
              _console_link),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- timeouts
def _timeout_end(story: Story) -> Outcome:
    if not _end(story):
        return unseen("The end was not seen.")
    return decide(_end(story) == "CANCELLED", f"{_end(story)} with error {_error(story)}.")


def _timeout_length(story: Story) -> Outcome:
    end = story.first("CANCELLED", "FAILED", "EXPIRED")
    start, ended = time_in(end, "startTime"), time_in(end, "endTime")
    if start is None or ended is None or not settled(start, time_in(end, "createTime")):
        return unseen("The end or a settled startTime was not seen.")
    ran = (ended - start).total_seconds()
    return decide(SHORT_TIMEOUT - 15 <= ran <= SHORT_TIMEOUT + 150, f"It ended {ran:.0f} s after startTime.")


def _timeout_spans(story: Story) -> Outcome:
    begun, end = len(attempts(story)), _end(story)
    if not end or not begun:
        return unseen("The end or the log was not seen.")
    last = story.first("CANCELLED", "FAILED", "EXPIRED")
    start, ended = time_in(story.first("RUNNING"), "startTime"), time_in(last, "endTime")
    span = f", {seconds(ended - start)} after the first startTime" if start and ended else ""
    return decide(end != "FAILED" and begun < MAX_RUNS, f"{begun} attempts, then {end}{span}.")


TIMEOUT = Experiment(
    name="timeout",
    title="A job that runs into its timeout of 60 s",
    plan=lambda site: [custom_job(site, "timeout", f"echo {BEGINS}; sleep 900", timeout=SHORT_TIMEOUT)],
    steps=run_to_the_end,
    claims=(
        Claim("timeout_end", "A job that reaches its timeout ends CANCELLED.", "emulator, seen once", "assumed",
              _timeout_end),
        Claim("timeout_length", "The timeout counts from the settled startTime.", "1.8", "assumed", _timeout_length),
        SETTLED_START,
    ),
)  # fmt: skip
TIMEOUT_SPANS = Experiment(
    name="timeout-restarts",
    title="A program that exits with 134 after 80 s, under a timeout of 120 s",
    plan=lambda site: [
        custom_job(site, "timeout-restarts", f"echo {BEGINS}; sleep {SPAN_RUN}; exit 134", timeout=SPAN_TIMEOUT,
                   runs=MAX_RUNS)
    ],
    steps=run_to_the_end,
    claims=(
        Claim("timeout_spans_restarts", "scheduling.timeout spans restarts: it ends the job before its fourth attempt.",
              "1.8, not known", "assumed", _timeout_spans),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- before it runs
def _never_runs(story: Story) -> Outcome:
    if not _end(story):
        return unseen("The end was not seen.")
    is_so = _end(story) == "FAILED" and "RUNNING" not in story.states()
    return decide(is_so, f"The states are {', '.join(story.states())}; error {_error(story)}.")


def _start_of_never_run(story: Story) -> Outcome:
    end = story.first("FAILED")
    if end is None or "RUNNING" in story.states():
        return unseen("It did not fail before it ran.")
    start = time_in(end, "startTime")
    is_so = not settled(start, time_in(end, "createTime"))
    return decide(is_so, f"The FAILED job has startTime {end.body.get('startTime')}, state {state_of(end)}.")


def _missing_image(site: Site) -> list[Planned]:
    planned = custom_job(site, "missing-image", "", timeout=300)
    spec = planned.body["jobSpec"]["workerPoolSpecs"][0]
    spec["containerSpec"] = {"imageUri": "docker.io/library/trainboard-conformance-no-such-image:1"}
    return [planned]


MISSING_IMAGE = Experiment(
    name="missing-image",
    title="A container image that does not exist",
    plan=_missing_image,
    steps=run_to_the_end,
    claims=(
        Claim("fails_before_running", "It ends FAILED and is never RUNNING.", "17, not known", "assumed", _never_runs),
        Claim(
            "start_of_never_run",
            "A job that failed before it ran has no settled startTime.",
            "17, not known",
            "assumed",
            _start_of_never_run,
        ),
    ),
)
RETRIED = tuple(_retried(code) for code in (134, 139, 6, 11))


# ---------------------------------------------------------------- a reservation that does not exist
def _wait_for_nothing(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    name = lab.create(planned[0])
    yield from lab.watch(name, until=("RUNNING",), limit=60)
    lab.cancel(name)
    yield from lab.watch(name, limit=900)


def _missing_reservation(site: Site) -> list[Planned]:
    affinity = {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [f"projects/{site.project}/zones/{site.region}-a/reservations/{site.name('none')}"],
    }
    machine = {"machineType": "n1-standard-4", "reservationAffinity": affinity}
    return [custom_job(site, "missing-reservation", f"echo {BEGINS}", timeout=60, machine=machine)]


def _is_accepted(story: Story) -> Outcome:
    made = story.call("customJobs.create")
    if made is None:
        return unseen("The request was not sent.")
    if made.status != 200:
        return differs(f"Create answers {made.status} {made.message}")
    states = story.states()
    return decide("RUNNING" not in states, f"The states are {', '.join(states)}.")


MISSING_RESERVATION = Experiment(
    name="missing-reservation",
    title="A job that names a reservation that does not exist",
    plan=_missing_reservation,
    steps=_wait_for_nothing,
    claims=(
        Claim("reservation_accepted", "A job that names a missing reservation is accepted and never runs.",
              "17, not known", "assumed", _is_accepted),
    ),
)  # fmt: skip
