"""Build the body of a request from the options and files of a command line."""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from trainboard_cli.errors import TrainboardError

UNITS = {"d": 86_400, "h": 3_600, "min": 60, "m": 60, "s": 1}
LENGTH = re.compile(r"(?<![\d.])(\d{1,12}(?:\.\d{1,12})?)\s{0,9}(d|h|min|m|s)\s*")
STDIN = "-"
SAME = "same"
"""Value of --then for an attempt with the job's own strategy."""


def seconds_of(text: str) -> int:
    """Return a duration in seconds, for argparse: 2h, 90m, 1h30m, 45s, 2 h 10 min."""
    found, place = 0.0, 0
    for part in LENGTH.finditer(text.strip()):
        if part.start() != place:
            break
        found, place = found + float(part[1]) * UNITS[part[2]], part.end()
    if not place or place != len(text.strip()) or not 1 <= found <= 366 * 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; use a format such as 2h, 90m or 1h30m")
    return round(found)


def request_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the body of a request for the files on a command line. Raise TrainboardError if one cannot be read.

    The first file is the job. The others are files that it refers to, under the names given.
    """
    first, *others = options.files
    wanted = {
        "text": _text(first),
        "files": {name: _text(name) for name in others} | {Path(name).name: _text(name) for name in others},
        "name": "job" if first == STDIN else Path(first).stem,
        "team": options.team,
        "strategy": options.strategy.replace("-", "_"),
        "project": options.project,
        "region": options.region,
        "job": options.job,
        "confirm": options.confirm,
        "expected_seconds": options.expected,
        "cap_usd": getattr(options, "cap", ""),
        "further_attempts": _further_attempts(options),
    }
    return {name: value for name, value in wanted.items() if value not in ("", None, [], {})} | {"text": wanted["text"]}


def _further_attempts(options: argparse.Namespace) -> dict[str, Any]:
    """Return the further attempts of a request, or {} if there are none. Raise TrainboardError for limits of none.

    `--then spot@europe-west4` sets strategy and region.
    """
    named = [each.partition("@") for each in getattr(options, "then", [])]
    if not named and (getattr(options, "max_wait", None) or getattr(options, "max_total", "")):
        raise TrainboardError("--max-wait and --max-total are limits of further attempts. Give --then, too.")
    if not named:
        return {}
    steps = [
        {"strategy": "" if strategy == SAME else strategy.replace("-", "_"), "region": region}
        for strategy, _, region in named
    ]
    wait = {"wait_hours": max(1, round(options.max_wait / 3600))} if options.max_wait else {}
    return {"steps": steps} | wait | ({"max_usd": options.max_total} if options.max_total else {})


def _text(name: str) -> str:
    try:
        content = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as problem:
        raise TrainboardError(f"Cannot read {name}: {problem.strerror}.") from None
    except UnicodeDecodeError:
        raise TrainboardError(f"{name} is not UTF-8 text.") from None
