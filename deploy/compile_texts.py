"""Compile translations with Babel, for make and the image: `compile_texts.py FILE.po...` writes FILE.mo beside each.

`pybabel compile` does the same, but takes a percent sign in a sentence for a placeholder. What placeholders there are
is checked by tests/test_translations.py.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po


def main(paths: Sequence[str]) -> None:
    """Compile these files. A file is replaced as a whole, so a running site never reads half of it."""
    for source in map(Path, paths):
        with source.open("rb") as file:
            catalog = read_po(file)
        unfinished = source.with_suffix(f".new{os.getpid()}")  # two may compile at once
        with unfinished.open("wb") as file:
            write_mo(file, catalog)
        unfinished.replace(source.with_suffix(".mo"))


if __name__ == "__main__":
    main(sys.argv[1:])
