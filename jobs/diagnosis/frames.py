"""Frames of stacks as Python, Java and JavaScript print them, and which of them are of the user's code."""

import re

Frame = tuple[str, int]
"""(file, line)"""
_FRAME = re.compile(
    r'\s*(?:> )?File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,7})|│ (?P<rich>\S{1,400}\.py):(?P<at>\d{1,7}) in '
)
_LIBRARY = re.compile(r"site-packages|dist-packages|/lib/python\d|/lib64/python\d|\A<|/conda/lib/|\.px[id]\Z|\.pyx\Z")
_PACKAGE = re.compile(r".{0,200}/\.local/lib/python\S{1,9}/site-packages/\w{1,80}/")
_CALL = re.compile(
    r"\s+at (?:async )?(?!(?:java|jdk|sun|scala|kotlin|py4j|org\.apache|node:\w{1,40})[./])(?:[^()\s]{1,200} ?\()?"
    r"(?P<file>[^\s()]{1,200}\.(?:java|scala|kt|m?[jt]s)):(?P<line>\d{1,7})"
)


def frame_of(text: str) -> Frame | None:
    """Return file and line of a line of a traceback."""
    found = _FRAME.match(text)
    return (found["file"] or found["rich"], int(found["line"] or found["at"])) if found is not None else None


def call_of(text: str) -> Frame | None:
    """Return file and line of a frame of the user's code that Java or JavaScript wrote."""
    found = _CALL.match(text)
    return (found["file"], int(found["line"])) if found is not None else None


def is_of_library(file: str) -> bool:
    """Return whether a file is none of the user's."""
    return _LIBRARY.search(file) is not None


def of_user(frames: list[Frame]) -> list[Frame]:
    """Return the frames of the user's code, else all. Vertex AI installs a Python package with `pip --user`."""
    own = [frame for frame in frames if not is_of_library(frame[0])]
    package = next((found[0] for file, _line in frames if (found := _PACKAGE.match(file))), None)
    return own or [frame for frame in frames if package and frame[0].startswith(package)] or frames


def is_installed(frames: list[Frame]) -> bool:
    """Return whether the innermost frame is of an installed library, and not of a package that Vertex AI installed."""
    return bool(frames) and "-packages/" in frames[-1][0] and _PACKAGE.match(frames[-1][0]) is None
