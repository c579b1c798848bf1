"""Values in a JSON body by dotted path; a number in a path is the index of a list."""

from typing import Any

MISSING = object()


def get(body: Any, path: str) -> Any:
    """Return the value at `path`, or MISSING."""
    node = body
    for part in path.split("."):
        if isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        elif isinstance(node, dict) and part in node:
            node = node[part]
        else:
            return MISSING
    return node


def take(body: Any, path: str) -> None:
    """Remove the value at `path`, and what it leaves empty above it; KeyError where there is none."""
    head, _, rest = path.partition(".")
    key: Any = int(head) if isinstance(body, list) else head
    if not rest:
        del body[key]
        return
    take(body[key], rest)
    if isinstance(body, list):
        if not any(body):
            body.clear()
    elif not body[key]:
        del body[key]


def put(body: Any, path: str, value: Any) -> None:
    """Set the value at `path`, making the objects and lists above it."""
    head, _, rest = path.partition(".")
    if isinstance(body, list):
        index = int(head)
        body.extend({} for _ in range(index + 1 - len(body)))
        put(body[index], rest, value)
    elif not rest:
        body[head] = value
    else:
        put(body.setdefault(head, [] if rest.partition(".")[0].isdigit() else {}), rest, value)


def leaves(body: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return (path, value) of everything in `body` that holds nothing else; empty objects and lists count."""
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    found = []
    for key, value in items:
        here = f"{path}[{key}]" if isinstance(body, list) else f"{path}.{key}" if path else str(key)
        found += leaves(value, here) if isinstance(value, dict | list) and value else [(here, value)]
    return found
