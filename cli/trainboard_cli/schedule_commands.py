"""The commands of `trainboard schedule`, one function each. Each returns the exit code."""

import argparse
from argparse import Namespace
from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import UUID, uuid4

from trainboard_cli.commands import Connect
from trainboard_cli.errors import SUCCEEDED, Refused, TrainboardError
from trainboard_cli.following import follow
from trainboard_cli.reading import request_of
from trainboard_cli.show import Output, moment
from trainboard_cli.store import load_sign_in

Json = dict[str, Any]


def add_verbs(add: Callable[..., argparse.ArgumentParser], take_job: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the commands with `add`. `take_job` adds the arguments that describe the job."""
    listing = add("list", list_schedules, "list the schedules of your teams")
    listing.add_argument("--team", action="append", default=[], help="only schedules of this team; can be repeated")
    _schedule(add("show", show, "show a schedule and its latest runs"))
    take_job(create := add("create", create_schedule, "create a schedule that requests a job"))
    create.add_argument("--name", required=True, help="name of the schedule; unique in the team")
    create.add_argument(
        "--cron", required=True, help="minute, hour, day of month, month, day of week, such as '0 6 * * 1-5'"
    )
    create.add_argument("--time-zone", default="UTC", help="IANA time zone, such as Europe/Berlin (default: UTC)")
    create.add_argument("--last-day", type=_day, metavar="DAY", help="last day on which it runs, such as 2026-12-31")
    create.add_argument("--overlap", action="store_true", help="run even if the previous run has not ended")
    create.add_argument("--key", default="", help="idempotency key; the same key creates the schedule only once")
    _add_change(_schedule(add("change", change, "change the name or the times of a schedule")))
    for verb in ("pause", "resume"):
        _schedule(add(verb, act, f"{verb} a schedule")).set_defaults(verb=verb)
    _schedule(run := add("run", run_now, "request the job of a schedule now"))
    run.add_argument("--wait", action="store_true", help="wait until the job ends; its outcome sets the exit code")
    run.add_argument("--key", default="", help="idempotency key; the same key requests the job only once")
    _schedule(add("delete", delete, "delete a schedule; its jobs are kept"))


def _add_change(verb: argparse.ArgumentParser) -> None:
    """Add an option for each property that can be changed. Properties without an option given are kept."""
    verb.add_argument("--name", dest="schedule_name", help="new name; unique in the team")
    verb.add_argument("--cron", help="minute, hour, day of month, month, day of week, such as '0 6 * * 1-5'")
    verb.add_argument("--time-zone", help="IANA time zone, such as Europe/Berlin")
    end = verb.add_mutually_exclusive_group()
    end.add_argument("--last-day", type=_day, metavar="DAY", help="last day on which it runs, such as 2026-12-31")
    end.add_argument("--no-last-day", action="store_true", help="remove the last day")
    verb.add_argument(
        "--overlap", action=argparse.BooleanOptionalAction, help="run even if the previous run has not ended"
    )


def _schedule(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("schedule", metavar="SCHEDULE", type=_id, help="id of a schedule")
    return verb


def _id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        words = f"{text!r} is not a schedule id; `trainboard schedule list` shows the ids"
        raise argparse.ArgumentTypeError(words) from None


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; use a format such as 2026-12-31") from None


def list_schedules(options: Namespace, output: Output, connect: Connect) -> int:
    """Print the schedules of the person's teams."""
    listed = connect(*load_sign_in()).schedules(options.team)
    found = [each for each in listed if not options.team or each["team"] in options.team]
    output.json(found)
    rows = [(each["id"], each["team"], each["name"], each["cron"], each["time_zone"], _next(each)) for each in found]
    output.table(("SCHEDULE", "TEAM", "NAME", "CRON", "TIME ZONE", "NEXT RUN"), rows)
    return SUCCEEDED


def show(options: Namespace, output: Output, connect: Connect) -> int:
    """Print a schedule and its most recent runs."""
    found = connect(*load_sign_in()).schedule(options.schedule)
    output.json(found)
    _print(output, found)
    rows = [(moment(run["moment"]), run["outcome"], run["job"] or "-", run["message"]) for run in found["runs"]]
    output.table(("DUE", "OUTCOME", "JOB", ""), rows)
    return SUCCEEDED


def create_schedule(options: Namespace, output: Output, connect: Connect) -> int:
    """Create a schedule for the job in a file."""
    times = {"cron": options.cron, "time_zone": options.time_zone, "last_day": options.last_day}
    request = request_of(options) | times | {"schedule": options.name, "allows_overlap": options.overlap}
    try:
        made = connect(*load_sign_in()).create_schedule(request, key=options.key or uuid4().hex)
    except Refused as refusal:
        output.findings(options.files[0], refusal.findings)
        raise
    output.json(made)
    _print(output, made)
    return SUCCEEDED


def change(options: Namespace, output: Output, connect: Connect) -> int:
    """Change the name or the times of a schedule."""
    named = {"schedule": options.schedule_name, "cron": options.cron, "time_zone": options.time_zone}
    named |= {"last_day": options.last_day, "allows_overlap": options.overlap}
    changes = {name: value for name, value in named.items() if value is not None}
    if options.no_last_day:
        changes["last_day"] = None
    if not changes:
        raise TrainboardError(
            "Nothing to change. Give --name, --cron, --time-zone, --last-day, --no-last-day, --overlap or --no-overlap."
        )
    found = connect(*load_sign_in()).change_schedule(options.schedule, changes)
    output.json(found)
    _print(output, found)
    return SUCCEEDED


def act(options: Namespace, output: Output, connect: Connect) -> int:
    """Pause or resume a schedule."""
    found = connect(*load_sign_in()).act_on_schedule(options.schedule, options.verb)
    output.json(found)
    _print(output, found)
    return SUCCEEDED


def run_now(options: Namespace, output: Output, connect: Connect) -> int:
    """Request the job of a schedule now. With --wait, follow it."""
    client = connect(*load_sign_in())
    made = client.run_schedule(options.schedule, key=options.key or uuid4().hex)
    job = made["job"]
    output.json(made, is_line=options.wait)
    output.line(f"requested {job['id']} ({job['state']})  {job['url']}")
    return follow(client, output, job["id"]) if options.wait else SUCCEEDED


def delete(options: Namespace, output: Output, connect: Connect) -> int:
    """Delete a schedule."""
    connect(*load_sign_in()).delete_schedule(options.schedule)
    output.json({"deleted": options.schedule})
    output.line(f"deleted {options.schedule}")
    return SUCCEEDED


def _print(output: Output, schedule: Json) -> None:
    output.line(f"{schedule['id']}  {schedule['name']}: {schedule['cron']} in {schedule['time_zone']}")
    output.line(f"next run: {_next(schedule)}")


def _next(schedule: Json) -> str:
    if not schedule["is_enabled"]:
        return f"paused. {schedule['paused_because']}".strip()
    return moment(schedule["next_at"]) if schedule["next_at"] else "none, its last day is in the past"
