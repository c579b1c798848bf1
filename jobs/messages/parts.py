"""The texts of a message before they are cleaned, with links as paths of the site."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Parts:
    """Subject, sentences, facts as (label, value), links as (label, path), and extra data for a webhook."""

    subject: str
    lines: tuple[str, ...]
    facts: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
