"""The command line `trainboard`. `trainboard COMMAND --help` describes a command; docs/cli.md lists the exit codes."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import shtab

from trainboard_cli import __version__, commands, schedule_commands
from trainboard_cli.client import Client
from trainboard_cli.errors import Refused, TrainboardError
from trainboard_cli.reading import seconds_of
from trainboard_cli.show import Output

INTERRUPTED = 130
"""Exit code of a program that Ctrl-C ended, as shells report it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = parser().parse_args(arguments)
    output = Output(as_json=options.json)

    def connect(url: str, token: str) -> Client:
        return Client(url, token, report=output.note)

    try:
        return int(options.command(options, output, connect))
    except Refused as refusal:
        output.json({"problem": refusal.problem})
        output.note(f"trainboard: {refusal}")
        return refusal.code
    except TrainboardError as problem:
        output.json({"problem": {"detail": str(problem)}})
        output.note(f"trainboard: {problem}")
        return problem.code
    except KeyboardInterrupt:
        output.clear()
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    whole = argparse.ArgumentParser(
        prog="trainboard", description="Request, watch and decide about training jobs of a Trainboard site."
    )
    whole.add_argument("--version", action="version", version=__version__)
    shtab.add_argument_to(whole, help="print what completes commands and options in this shell, and exit")
    verbs = whole.add_subparsers(required=True, metavar="COMMAND")
    add = _adder(verbs)
    add("login", commands.login, "sign in to a site and save its address and your token").add_argument(
        "url", nargs="?", default="", help="address of the site (default: TRAINBOARD_URL, or ask)"
    )
    _spec(submit := add("submit", commands.submit, "request a job"), needs_time=True)
    submit.add_argument("--wait", action="store_true", help="wait until the job ends; its outcome sets the exit code")
    submit.add_argument("--key", default="", help="idempotency key; the same key requests the job only once")
    submit.add_argument(
        "--new", action="store_true", help="request a new job even if an interrupted command requested the same one"
    )
    _cap_and_attempts(submit)
    _timeout(submit)
    _spec(
        add("estimate", commands.estimate, "show the cost of a job under each strategy and its findings"),
        needs_time=False,
    )
    _timeout(
        _job(add("watch", commands.watch, "print the events of a job until it ends; its outcome sets the exit code"))
    )
    _logs(_job(add("logs", commands.logs, "print the log of a job")))
    _list(add("list", commands.list_jobs, "list jobs, newest first"))
    _job(add("diagnose", commands.diagnose, "show why a job failed or cannot continue"))
    _job(add("cancel", commands.cancel, "request cancellation of a job"))
    fine = _job(add("fine", commands.fine, "declare that a running job is right to be silent or slow"))
    fine.add_argument(
        "--for", dest="length", type=seconds_of, metavar="TIME", help="how long, such as 12h (default: 6h)"
    )
    approve = _decision(add("approve", commands.approve, "approve a job that awaits approval"))
    approve.add_argument("--comment", default="", help="comment")
    reject = _decision(add("reject", commands.reject, "reject a job that awaits approval"))
    reject.add_argument("--comment", required=True, type=_reason, help="reason, which the requester reads")
    words = "manage schedules, which request a job at set times"
    schedule = verbs.add_parser("schedule", help=words, description=words.capitalize() + ".")
    schedule_commands.add_verbs(_adder(schedule.add_subparsers(required=True, metavar="VERB")), _scheduled)
    return whole


def _scheduled(verb: argparse.ArgumentParser) -> None:
    _spec(verb, needs_time=True)
    _cap_and_attempts(verb)


def _adder(verbs: Any) -> Callable[..., argparse.ArgumentParser]:
    """Return a function that adds a command to argparse subparsers, whose type has no public name."""

    def add(name: str, command: Callable[..., int], words: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = verbs.add_parser(name, help=words, description=words.capitalize() + ".")
        made.add_argument("--json", action="store_true", help="print JSON to standard output")
        made.set_defaults(command=command)
        return made

    return add


def _spec(verb: argparse.ArgumentParser, *, needs_time: bool) -> None:
    words = "the job, or - for standard input; then the files it refers to"
    files = verb.add_argument("files", nargs="+", metavar="FILE", help=words)
    files.complete = shtab.FILE  # type: ignore[attr-defined]
    verb.add_argument("--team", default="", help="team of the job; optional if you may request jobs in one team only")
    verb.add_argument(
        "--strategy",
        default="",
        help="standard, spot, flex-start, reservation or persistent; replaces that of the file",
    )
    verb.add_argument(
        "--expected", type=seconds_of, required=needs_time, metavar="TIME", help="expected run time, such as 2h"
    )
    verb.add_argument(
        "--project", default="", help="one of the team's projects (default: that of the file, else the team's default)"
    )
    verb.add_argument("--region", default="", help="region if the file names none")
    verb.add_argument(
        "--job", default="", metavar="N|NAME", help="number or name of the job if the file contains several"
    )
    verb.add_argument(
        "--confirm",
        action="append",
        default=[],
        metavar="VALUE",
        help="what is meant although it looks like a mistake: a value that looks like a placeholder, or what a finding "
        "names after --confirm; can be repeated",
    )


def _cap_and_attempts(verb: argparse.ArgumentParser) -> None:
    words = (
        "further attempt if the job gets no capacity or Vertex AI stops it: spot, flex-start, standard or same (the "
        "job's strategy), optionally with @REGION; can be repeated"
    )
    verb.add_argument("--cap", default="", metavar="USD", help="cap on the cost of the job")
    verb.add_argument("--then", action="append", default=[], metavar="STRATEGY[@REGION]", help=words)
    verb.add_argument(
        "--max-wait",
        type=seconds_of,
        metavar="TIME",
        help="maximum wait of an attempt for its first run; rounded to hours",
    )
    verb.add_argument("--max-total", default="", metavar="USD", help="maximum cost of all attempts together")


def _job(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("job", metavar="JOB", type=_job_id, help="id of a job")
    return verb


def _decision(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    _job(verb).add_argument(
        "--amount", default="", metavar="USD", help="maximum cost that you decide about (default: the current one)"
    )
    return verb


def _timeout(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--timeout", type=seconds_of, metavar="TIME", help="stop waiting after this time and exit with code 8"
    )


def _logs(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-f", "--follow", action="store_true", help="continue until the log is complete")
    verb.add_argument("--replica", default="", help="only this replica, such as workerpool0-0")
    verb.add_argument("--level", default="", help="minimum severity: INFO, WARNING or ERROR")
    verb.add_argument("--since", type=_moment, help="only lines from this time on, such as 2026-03-01T09:00:00Z")


def _job_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a job id; `trainboard list` shows the ids") from None


def _reason(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("a rejection needs a reason")
    return text


def _moment(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; use a format such as 2026-03-01T09:00:00Z") from None


def _list(verb: argparse.ArgumentParser) -> None:
    words = "to-approve, waiting, running, succeeded, failed, finished, or = and a state; can be repeated"
    verb.add_argument("--state", action="append", default=[], help=words)
    for name in ("team", "owner", "project", "strategy"):
        verb.add_argument(f"--{name}", action="append", default=[], help=f"only jobs with this {name}; can be repeated")
    verb.add_argument("-q", default="", help="part of the name, or the id")
    verb.add_argument("--limit", type=int, default=20, help="maximum number of jobs (default: 20)")


if __name__ == "__main__":
    sys.exit(main())
