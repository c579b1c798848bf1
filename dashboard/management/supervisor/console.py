"""One log for all parts, with the name of the part before each line."""

import sys
from collections.abc import Sequence
from typing import TextIO

COLOURS = (36, 32, 33, 35, 34, 96, 92)
OURS = "up"
MAX_LINE_LENGTH = 16384


class Console:
    """Prints whole lines with aligned names, on a terminal in colour."""

    def __init__(self, names: Sequence[str], stream: TextIO = sys.stdout) -> None:
        """Prepare for parts with these names."""
        self.stream = stream
        self.width = max(len(name) for name in [OURS, *names])
        self.unfinished: dict[str, bytes] = {}
        self.is_lost = False
        self.colours = dict(zip([OURS, *names], COLOURS, strict=False)) if stream.isatty() else {}

    def log(self, message: str) -> None:
        """Print a line of our own."""
        self._print(OURS, message)

    def log_output(self, name: str, output: bytes, hushed: Sequence[str] = ()) -> None:
        """Print the complete lines of a part's output except `hushed` ones. Keep an incomplete last line for later."""
        *lines, self.unfinished[name] = (self.unfinished.get(name, b"") + output).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace").rstrip()
            if not any(phrase in text for phrase in hushed):
                self._print(name, text)
        if len(self.unfinished[name]) > MAX_LINE_LENGTH:
            self.finish(name)

    def finish(self, name: str) -> None:
        """Print the incomplete last line of a part that has ended."""
        if rest := self.unfinished.pop(name, b""):
            self._print(name, rest.decode(errors="replace").rstrip())

    def _print(self, name: str, line: str) -> None:
        if not line or self.is_lost:
            return
        label = f"{name:<{self.width}} |"
        if colour := self.colours.get(name):
            label = f"\033[{colour}m{label}\033[0m"
        try:
            self.stream.write(f"{label} {line}\n")
            self.stream.flush()
        except OSError:  # the terminal or the reader of a pipe is gone; the keeper then stops
            self.is_lost = True
