"""Parse a Dockerfile, as far as this project's needs it."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    """One instruction of a stage: keyword and arguments, with continued lines joined."""

    keyword: str
    rest: str

    def words(self) -> list[str]:
        """Return the arguments in a JSON array or a shell line."""
        return list(json.loads(self.rest)) if self.rest.startswith("[") else shlex.split(self.rest)


def stages(path: Path) -> list[list[Instruction]]:
    """Return the instructions of each stage. The first one of each is FROM."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        keyword, _, rest = line.partition(" ")
        if keyword == "FROM":
            found.append([])
        found[-1].append(Instruction(keyword, rest.strip()))
    return found


def environment(stage: list[Instruction]) -> dict[str, str]:
    """Return the variables set by ENV."""
    pairs = [word.partition("=") for each in stage if each.keyword == "ENV" for word in each.words()]
    return {name: value for name, _, value in pairs}


def copies(stage: list[Instruction]) -> list[tuple[list[str], str]]:
    """Return (sources, target) of each COPY from the build context."""
    found = [each.words() for each in stage if each.keyword == "COPY"]
    return [(words[:-1], words[-1]) for words in found if not words[0].startswith("--from")]


def last(stage: list[Instruction], keyword: str) -> Instruction:
    """Return the last instruction with a keyword."""
    return next(each for each in reversed(stage) if each.keyword == keyword)
