"""A request as passed to methods, and their response."""

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
    """One request.

    `params` are the variables of the path (project, location, id), `query` has the last value of each name.
    """

    method: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    address: str = ""
    is_answered: bool = True
    """Whether the client receives the whole response."""
    lag_seconds: float = 0.0
    """A list omits resources created in the last `lag_seconds`."""

    pairs: tuple[tuple[str, str], ...] = ()
    """All query parameters, for those that may occur several times."""

    def all(self, name: str) -> list[str]:
        """Return all values of a query parameter."""
        return [value for key, value in self.pairs if key == name]

    @property
    def version(self) -> str:
        """The version in the path, "v1" or "v1beta1"; "" if there is none (`/ui/`, our own paths)."""
        return version if (version := self.params.get("version", "")) != "ui" else ""

    @property
    def fields(self) -> str:
        """The selector of a partial response, "" for everything."""
        return self.argument("$fields", "fields")

    @property
    def wants_numbers(self) -> bool:
        """Whether enums are requested as numbers."""
        return "enum-encoding=int" in (self.query.get("$alt") or self.query.get("alt") or "")

    def json(self) -> Any:
        """Return the body as JSON, {} for an empty body. Raise ApiError 400 if it is invalid."""
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
    """A response other than status 200 with JSON."""

    body: bytes
    status: int = 200
    content_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict)
