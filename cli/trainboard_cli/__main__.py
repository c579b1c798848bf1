"""The command line `trainboard`. `trainboard COMMAND --help` describes a command; docs/cli.md lists the exit codes."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from trainboard_cli import commands, schedule_commands
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
    whole = argparse.ArgumentParser(prog="trainboard", description="Training jobs of a Trainboard site.")
    verbs = whole.add_subparsers(required=True, metavar="COMMAND")
    add = _adder(verbs)
    add("login", commands.login, "keep the address of a site and a token").add_argument("url", nargs="?", default="")
    _spec(submit := add("submit", commands.submit, "request a job"), needs_time=True)
    submit.add_argument("--wait", action="store_true", help="wait for its end, and exit with its outcome")
    submit.add_argument("--key", default="", help="idempotency key: the same key requests the job once")
    submit.add_argument("--new", action="store_true", help="a new job, also where a cut-off command made the same")
    _cap_and_attempts(submit)
    _timeout(submit)
    _spec(add("estimate", commands.estimate, "what a job would cost, and what is wrong with it"), needs_time=False)
    _timeout(_job(add("watch", commands.watch, "follow a job to its end, and exit with its outcome")))
    _logs(_job(add("logs", commands.logs, "the log of a job")))
    _list(add("list", commands.list_jobs, "jobs, the newest first"))
    _job(add("diagnose", commands.diagnose, "why a job failed, or what keeps it from going on"))
    _job(add("cancel", commands.cancel, "cancel a job"))
    for verb, command in (("approve", commands.approve), ("reject", commands.reject)):
        _job(decide := add(verb, command, f"{verb} a job that awaits approval"))
        decide.add_argument("--comment", default="")
        decide.add_argument("--amount", default="", metavar="USD", help="only if it may cost up to this amount")
    words = "jobs that are requested again and again"
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
        made.add_argument("--json", action="store_true", help="print JSON on standard output, for programs")
        made.set_defaults(command=command)
        return made

    return add


def _spec(verb: argparse.ArgumentParser, *, needs_time: bool) -> None:
    verb.add_argument("files", nargs="+", metavar="FILE", help="the job, or - for standard input; then files it names")
    verb.add_argument("--team", default="", help="for which team; not needed by members of one")
    verb.add_argument("--strategy", default="", help="standard, spot, flex-start, reservation or persistent")
    verb.add_argument("--expected", type=seconds_of, required=needs_time, metavar="TIME", help="run time, such as 2h")
    verb.add_argument("--project", default="", help="one of the team's projects, if not its default one")
    verb.add_argument("--region", default="", help="where it runs, if the file does not say")
    verb.add_argument("--job", default="", metavar="N|NAME", help="the job that is meant, of several in a file")
    verb.add_argument("--confirm", action="append", default=[], metavar="VALUE", help="a value that is no placeholder")


def _cap_and_attempts(verb: argparse.ArgumentParser) -> None:
    words = (
        "a further attempt if it gets no capacity: spot, flex-start, standard or same, with @REGION; may be repeated"
    )
    verb.add_argument("--cap", default="", metavar="USD", help="the most that the job may cost")
    verb.add_argument("--then", action="append", default=[], metavar="STRATEGY[@REGION]", help=words)
    verb.add_argument("--max-wait", type=seconds_of, metavar="TIME", help="an attempt waits at most so long, in hours")
    verb.add_argument("--max-total", default="", metavar="USD", help="the most that all attempts may cost together")


def _job(verb: argparse.ArgumentParser) -> argparse.ArgumentParser:
    verb.add_argument("job", metavar="JOB", type=_job_id, help="the id of a job")
    return verb


def _timeout(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--timeout", type=seconds_of, metavar="TIME", help="stop waiting after so long, with code 8")


def _logs(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-f", "--follow", action="store_true", help="go on until the log is complete")
    verb.add_argument("--replica", default="", help="one replica, such as workerpool0-0")
    verb.add_argument("--level", default="", help="the least severity: INFO, WARNING or ERROR")
    verb.add_argument("--since", type=_moment, help="only from this moment on, such as 2026-03-01T09:00:00Z")


def _job_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no id of a job; `trainboard list` prints them") from None


def _moment(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no moment, such as 2026-03-01T09:00:00Z") from None


def _list(verb: argparse.ArgumentParser) -> None:
    words = "to-approve, waiting, running, succeeded, failed, finished, or = and a state; may be repeated"
    verb.add_argument("--state", action="append", default=[], help=words)
    for name in ("team", "owner", "project", "strategy"):
        verb.add_argument(f"--{name}", action="append", default=[], help="may be repeated")
    verb.add_argument("-q", default="", help="part of the name")
    verb.add_argument("--limit", type=int, default=20)


if __name__ == "__main__":
    sys.exit(main())
