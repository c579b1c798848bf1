"""A request as methods see it, and their answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.protocol.errors import invalid

SYSTEM_PARAMETERS = frozenset(
    "$alt alt $prettyPrint prettyPrint $.xgafv $fields fields key access_token oauth_token quotaUser callback "
    "uploadType upload_protocol $userProject".split()
)


@dataclass(frozen=True, slots=True)
class Call:
    """One request. params: the variables of the path (project, location, id); query: the last value of each name."""

    method: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    address: str = ""
    is_answered: bool = True
    """Whether the client gets the whole answer."""
    lag_seconds: float = 0.0
    """A list leaves out what was created in these last seconds."""

    pairs: tuple[tuple[str, str], ...] = ()
    """Every parameter of the query, for those that may come several times."""

    def all(self, name: str) -> list[str]:
        """Return every value of a parameter of the query."""
        return [value for key, value in self.pairs if key == name]

    @property
    def version(self) -> str:
        """Return the version that the path names, "v1" or "v1beta1"; "" if it names none (`/ui/`, our own paths)."""
        return version if (version := self.params.get("version", "")) != "ui" else ""

    @property
    def fields(self) -> str:
        """Return the selector of a partial response, "" = everything."""
        return self.argument("$fields", "fields")

    @property
    def wants_numbers(self) -> bool:
        """Return whether enums are to be answered as numbers."""
        return "enum-encoding=int" in (self.query.get("$alt") or self.query.get("alt") or "")

    def json(self) -> Any:
        """Return the body as JSON; ApiError 400 if it is none. No body = {}."""
        if not self.body.strip():
            return {}
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as problem:
            raise invalid(f"Invalid JSON payload received. {problem}") from None

    def argument(self, snake: str, camel: str) -> str:
        """Return a query parameter in either spelling."""
        return self.query.get(camel) or self.query.get(snake) or ""

    def check_arguments(self, *known: str) -> None:
        """Raise ApiError 400 for query parameters that the method does not have."""
        for name in self.query:
            if name not in SYSTEM_PARAMETERS and name not in known:
                text = f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter.'
                raise invalid(f"{text} Field '{name}' could not be found in request message.")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is not just 200 with JSON."""

    body: bytes
    status: int = 200
    content_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict)
