"""Mappings of the catalogue that a site extends by what it has recorded (see `jobs.known_catalogue`)."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

Entry = TypeVar("Entry")
_forget: list[Callable[[], object]] = []


class Growing(Mapping[str, Entry]):
    """The entries of a data file, and those that this site has recorded, which replace entries of the same name."""

    def __init__(self, listed: Mapping[str, Entry]) -> None:
        self.listed = listed
        self.recorded: Mapping[str, Entry] = {}
        self._all = dict(listed)

    def __getitem__(self, name: str) -> Entry:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def record(self, recorded: Mapping[str, Entry]) -> None:
        """Replace the recorded entries, and discard what was computed from the earlier ones."""
        self.recorded, self._all = dict(recorded), {**self.listed, **recorded}
        for forget in _forget:
            forget()


def forget_when_recorded(forget: Callable[[], object]) -> None:
    """Call `forget`, such as the `cache_clear` of a cached function, whenever entries are recorded."""
    _forget.append(forget)
