"""Write the tasks that Flower starts with: `python -m bench.contenders.flower_state STATE < tasks`, one JSON per line.

Flower keeps tasks in memory, filled by Celery's events. This program sends the events that a worker would send.
"""

import json
import shelve
import sys
from typing import Any

from flower.events import EventsState

EVENTS = ("task-received", "task-started")
ENDS = {"succeeded": "task-succeeded", "failed": "task-failed", "cancelled": "task-revoked"}


def add_task(state: EventsState, task: dict[str, Any], clock: int) -> None:
    """Add a task `{uuid, name, state, received}`; `received` is in seconds since 1970."""
    ends = [ENDS[task["state"]]] if task["state"] in ENDS else []
    for number, kind in enumerate([*EVENTS, *ends]):
        event = {"type": kind, "uuid": task["uuid"], "hostname": "worker@bench", "pid": 1, "utcoffset": 0}
        event |= {"timestamp": task["received"] + number, "local_received": task["received"] + number}
        event |= {"clock": clock + number, "name": task["name"], "args": "()", "kwargs": "{}", "retries": 0}
        state.event(event)


def main() -> None:
    """Read the tasks and write the state to the path in the first argument."""
    lines = sys.stdin.read().splitlines()
    state = EventsState(max_tasks_in_memory=2 * len(lines), max_workers_in_memory=10)
    for number, line in enumerate(lines):
        add_task(state, json.loads(line), 3 * number)
    with shelve.open(sys.argv[1]) as kept:
        kept["events"], kept["counter"] = state, {}


if __name__ == "__main__":
    main()
