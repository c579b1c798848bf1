"""Follow a job: print its events until it ends or the time is over."""

import time
from typing import Any

from trainboard_cli.client import Client
from trainboard_cli.errors import FAILED, OF_OUTCOME, STILL_OPEN
from trainboard_cli.show import Output, length, moment, usd

Json = dict[str, Any]


def follow(client: Client, output: Output, job: str, *, timeout: float | None = None) -> int:
    """Print the events of a job until it ends. Return the exit code of its outcome, or STILL_OPEN at the timeout."""
    begin = time.monotonic()
    for page in client.follow_events(job):
        for event in page["items"]:
            output.json({"event": event}, is_line=True)
            output.line(f"{moment(event['occurred_at'])}  {event_words(output, event)}")
        passed = time.monotonic() - begin
        output.status(f"{page['state']} · watched for {length(passed)}")
        if timeout is not None and passed > timeout and not page["is_finished"]:
            output.json({"job": client.job(job)}, is_line=True)
            output.note(f"{job} has not ended within {length(timeout)}. Its state is {page['state']}.")
            return STILL_OPEN
    ended = client.job(job)
    output.json({"job": ended}, is_line=True)
    show_end(output, ended)
    return OF_OUTCOME.get(ended["outcome"], FAILED)


def event_words(output: Output, event: Json) -> str:
    """Return an event as a line: the new state or the kind of event, and the message."""
    state = f"{event['to_state']}" if event["kind"] == "state" else event["kind"]
    return f"{output.coloured(state)}{' ' * max(18 - len(state), 1)}{event['message']}"


def show_end(output: Output, job: Json) -> None:
    """Print how a job ended, what it cost, and its diagnosis."""
    ran = f", ran {length(job['ran_seconds'])}" if job["ran_seconds"] else ""
    output.line(f"{job['name']}: {output.coloured(job['outcome'] or job['state'])}{ran}, cost {usd(job['cost_usd'])}")
    show_diagnosis(output, job)


def show_diagnosis(output: Output, job: Json) -> None:
    """Print why a job failed or cannot continue, and what to do. Print nothing if no cause is known."""
    known = job["diagnosis"]
    if known:
        for text in (known["title"], known["explanation"], known["retried"], known["remedy"]):
            if text:
                output.line(f"  {text}")
