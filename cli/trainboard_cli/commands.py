"""The commands, one function each. Each returns the exit code."""

import getpass
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from trainboard_cli.client import Client
from trainboard_cli.errors import REFUSED, SUCCEEDED, Refused
from trainboard_cli.following import follow, show_diagnosis
from trainboard_cli.reading import request_of
from trainboard_cli.show import Output, moment, since, usd
from trainboard_cli.store import Submission, load_sign_in, save_sign_in

Connect = Callable[[str, str], Client]
"""Creates a client from an address and a token."""


def login(options: Namespace, output: Output, connect: Connect) -> int:
    """Ask for an address and a token, check them and save them."""
    url = options.url or os.environ.get("TRAINBOARD_URL", "") or input("Address of the site: ")
    output.note(f"Create a token at {url.rstrip('/')}/account/tokens/ (menu under your name, API tokens).")
    token = sys.stdin.readline() if not sys.stdin.isatty() else getpass.getpass("Token: ")
    client = connect(url, token.strip())
    me = client.me()
    path = save_sign_in(client.url, token.strip())
    output.json(me)
    scopes = ", ".join(me["scopes"])
    output.line(f"Signed in as {me['name']} ({scopes}) until {moment(me['expires_at'])}. Saved in {path}.")
    return SUCCEEDED


def submit(options: Namespace, output: Output, connect: Connect) -> int:
    """Request a job. A command that was cut off and is repeated requests the job only once. With --wait, follow it."""
    url, token = load_sign_in()
    client, request, name = connect(url, token), request_of(options), options.files[0]
    submission = Submission({"site": client.url, **request}, given=options.key, is_new=options.new)
    try:
        made = client.submit(request, key=submission.key)
    except Refused as refusal:
        submission.done()
        output.findings(name, refusal.findings)
        raise
    job = made["job"]
    output.findings(name, made["findings"])
    output.json(made, is_line=options.wait)
    verb = "continues with" if made["is_repeated"] else "requested"
    output.line(f"{verb} {job['id']} ({job['state']})  {job['url']}")
    if not options.wait:
        submission.done()
        return SUCCEEDED
    output.note(f"Waiting for {job['name']}. If this command is interrupted, run it again to continue with this job.")
    code = follow(client, output, job["id"], timeout=options.timeout)
    if client.job(job["id"])["is_finished"]:
        submission.done()
    return code


def estimate(options: Namespace, output: Output, connect: Connect) -> int:
    """Print the cost of the job under each strategy, and its findings."""
    found = connect(*load_sign_in()).assess(request_of(options))
    output.findings(options.files[0], found["findings"])
    output.json(found)
    rows = [_alternative(each, is_asked=each["strategy"] == found["strategy"]) for each in found["alternatives"]]
    output.table(("  STRATEGY", "EXPECTED", "RANGE", "POSSIBLE"), rows)
    words = {"allow": "can be submitted", "ask": "needs an approval", "refuse": "has errors"}
    output.line(f"{found['name']} {words.get(found['outcome'], 'needs --expected for an estimate')}.")
    return REFUSED if found["outcome"] == "refuse" else SUCCEEDED


def _alternative(each: dict[str, Any], *, is_asked: bool) -> tuple[str, ...]:
    """Return the table row of a strategy. The strategy that the file names is marked."""
    cost, errors = each["estimate"], [found["message"] for found in each["findings"] if found["severity"] == "error"]
    expected, low, high = (usd(cost[name]) for name in ("expected_usd", "low_usd", "high_usd"))
    return (
        f"{'*' if is_asked else ' '} {each['label']}",
        expected,
        "-" if cost["low_usd"] is None else f"{low} to {high}",
        f"no: {errors[0]}" if errors else "yes",
    )


def watch(options: Namespace, output: Output, connect: Connect) -> int:
    """Print the events of a job until it ends."""
    return follow(connect(*load_sign_in()), output, options.job, timeout=options.timeout)


def logs(options: Namespace, output: Output, connect: Connect) -> int:
    """Print the log of a job. With -f, continue until it is complete."""
    filters = {"replica": options.replica, "level": options.level.upper(), "since": options.since}
    chosen = {name: value for name, value in filters.items() if value}
    for line in connect(*load_sign_in()).follow_log(options.job, follow=options.follow, **chosen):
        output.json(line, is_line=True)
        output.line(f"{moment(line['timestamp'])}  {line['replica']}  {line['message']}")
    return SUCCEEDED


def list_jobs(options: Namespace, output: Output, connect: Connect) -> int:
    """Print jobs, newest first."""
    names = ("state", "team", "owner", "project", "strategy", "q")
    filters = {name: getattr(options, name) for name in names if getattr(options, name)}
    found = list(connect(*load_sign_in()).jobs(most=options.limit, **filters))
    output.json(found)
    rows = [
        (*(each[name] for name in ("id", "state", "name", "owner")), since(each["requested_at"]), usd(each["cost_usd"]))
        for each in found
    ]
    output.table(("JOB", "STATE", "NAME", "OWNER", "AGE", "COST"), rows)
    return SUCCEEDED


def diagnose(options: Namespace, output: Output, connect: Connect) -> int:
    """Print why a job failed or cannot continue."""
    job = connect(*load_sign_in()).job(options.job)
    output.json({"state": job["state"], "reason": job["reason"], "diagnosis": job["diagnosis"]})
    output.line(f"{job['name']}: {job['state']}" + (f" · {job['reason']}" if job["reason"] else ""))
    show_diagnosis(output, job)
    return SUCCEEDED


def cancel(options: Namespace, output: Output, connect: Connect) -> int:
    """Request the cancellation of a job."""
    job = connect(*load_sign_in()).act(options.job, "cancel", {})
    output.json(job)
    # A job at Vertex AI keeps its state until Vertex AI has ended it.
    output.line(f"{job['name']}: {job['state']}" + ("" if job["outcome"] else ", cancellation requested"))
    return SUCCEEDED


def fine(options: Namespace, output: Output, connect: Connect) -> int:
    """Declare a running job fine for --for, so that nothing is reported about its work and it is not cancelled."""
    body = {} if options.length is None else {"hours": options.length / 3600}
    return _act(options, output, connect(*load_sign_in()), "fine", body)


def approve(options: Namespace, output: Output, connect: Connect) -> int:
    """Approve a job and the attempts decided with it, for --amount or else for its current maximum cost."""
    return _decide(options, output, connect(*load_sign_in()), "approve")


def reject(options: Namespace, output: Output, connect: Connect) -> int:
    """Reject a job."""
    return _decide(options, output, connect(*load_sign_in()), "reject")


def _decide(options: Namespace, output: Output, client: Client, verb: str) -> int:
    job = {} if options.amount else client.job(options.job)
    amount = options.amount or (job["approval"] or job)["max_usd"]
    output.note(f"{verb} {options.job} with a maximum cost of {usd(amount)}")
    return _act(options, output, client, verb, {"comment": options.comment, "max_usd": amount})


def _act(options: Namespace, output: Output, client: Client, verb: str, body: dict[str, Any]) -> int:
    job = client.act(options.job, verb, body)
    output.json(job)
    output.line(f"{job['name']}: {job['state']}")
    return SUCCEEDED
