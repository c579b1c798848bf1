"""Access values in a JSON body by path; see `jobs.spec.paths`."""

from itertools import pairwise
from typing import Any

from jobs.spec.paths import join, steps

MISSING = object()


def get(body: Any, path: str) -> Any:
    """Return the value at `path`, or MISSING."""
    node = body
    for step in steps(path):
        if isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        elif isinstance(node, dict) and str(step) in node:
            node = node[str(step)]
        else:
            return MISSING
    return node


def take(body: Any, path: str) -> None:
    """Remove the value at `path` and the parents that become empty. Raise KeyError if there is none."""
    *above, last = steps(path)
    holders = [body]
    for step in above:
        holders.append(holders[-1][step])
    del holders[-1][last]
    for holder, step in reversed(list(zip(holders, above, strict=False))):
        if isinstance(holder, list):
            if not any(holder):
                holder.clear()
        elif not holder[step]:
            del holder[step]


def put(body: Any, path: str, value: Any) -> None:
    """Set the value at `path`, whose last step is a name. Create missing objects and lists above it."""
    found = steps(path)
    for step, follows in pairwise(found):
        if isinstance(step, int):
            body.extend({} for _ in range(step + 1 - len(body)))
            body = body[step]
        else:
            body = body.setdefault(step, [] if isinstance(follows, int) else {})
    body[found[-1]] = value


def leaves(body: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return (path, value) of all leaves of `body`, including empty objects and lists."""
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    found = []
    for key, value in items:
        here = f"{path}[{key}]" if isinstance(body, list) else join(path, str(key))
        found += leaves(value, here) if isinstance(value, dict | list) and value else [(here, value)]
    return found
