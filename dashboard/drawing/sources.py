"""Sources as numbered notes: a table names the number, the list below it says where and when that was read."""

from datetime import date


class Sources:
    """Numbers sources in the order in which a page first names them."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, date | None], int] = {}

    def number(self, source: str, read: date | None) -> int:
        """Return the number of a source, counted from 1."""
        return self._numbers.setdefault((source, read), len(self._numbers) + 1)

    def listed(self) -> list[tuple[int, str, date | None]]:
        """Return every source named so far: its number, the source, the day on which it was read."""
        return [(number, source, read) for (source, read), number in self._numbers.items()]
