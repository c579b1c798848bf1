"""What a database cannot hold: PostgreSQL refuses NUL characters and half characters in text and JSON."""

from typing import Any

from jobs import bounds


def unkeepable(value: Any) -> bool:
    """Tell whether JSON holds text, as a name or a value, that PostgreSQL cannot keep."""
    if isinstance(value, str):
        return not bounds.is_storable(value)
    if isinstance(value, dict):
        return any(unkeepable(name) or unkeepable(item) for name, item in value.items())
    return isinstance(value, list) and any(map(unkeepable, value))
