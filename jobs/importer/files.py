"""Files that an imported text may refer to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath


@dataclass(frozen=True)
class Files:
    """The texts of files that another text may refer to, by name.

    `otherwise` is the text for any other name. `used` collects the names that were found, `missing` those that were
    not. `variables` are those that are set around the text.
    """

    texts: Mapping[str, str]
    otherwise: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)

    def get(self, name: str) -> str | None:
        """Return the text of the file of this name; a name with a placeholder means the only file."""
        same = [text for text in self.texts if text == name]
        same = same or [text for text in self.texts if PurePath(text).name == PurePath(name).name]
        same = same or (list(self.texts) if "${" in name else [])
        if len(same) != 1:
            self.missing.add(name)
            return self.otherwise
        self.used.add(same[0])
        return self.texts[same[0]]
