"""A line of a log as a terminal shows it: colours become classes, what was overwritten is gone, all else is text.

Of escape sequences only colours and weight are followed (ECMA-48, SGR); the others, which move the cursor, set titles
or make links, are dropped, so nothing leaves its line. Controls of text direction are dropped too: a line is isolated
by the stylesheet, and right-to-left letters need none.
"""

import re
from collections.abc import Iterator

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

MAX_CHARACTERS = 2_000
"""Of one line on a page; the download has all."""
MAX_MARKS = 20
"""Of one piece of a line, so that a search for a letter does not make the page several times as large."""
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")

_ESCAPE = re.compile(
    r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\|$)|[PX^_][^\x1b]*(?:\x1b\\|$)|.?)", re.S
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def render_line(message: str, words: str = "") -> SafeString:
    """Return the safe HTML of a log line's message, with the `words` that were searched for marked in it."""
    text = overwritten(message)
    cut = len(text) - MAX_CHARACTERS
    pieces = mark_safe("".join(_pieces(text[:MAX_CHARACTERS], words)))  # noqa: S308 every piece is escaped
    if cut <= 0:
        return pieces
    return format_html(
        "{}… <small>{}</small>", pieces, _("%(number)s more characters in the download") % {"number": f"{cut:,}"}
    )


def overwritten(message: str) -> str:
    """Return what a terminal would leave: behind the last carriage return that text follows, and no erased letters."""
    lines = []
    for line in message.replace("\r\n", "\n").split("\n"):
        parts = [part for part in line.split("\r") if part.strip()]
        lines.append(parts[-1] if parts else "")
    return _erased("\n".join(lines))


def _erased(text: str) -> str:
    """Return the text without what backspaces take away, each one letter of its line."""
    if "\b" not in text:
        return text
    left: list[str] = []
    for letter in text:
        if letter != "\b":
            left.append(letter)
        elif left and left[-1] != "\n":
            left.pop()
    return "".join(left)


def _pieces(text: str, words: str) -> Iterator[str]:
    """Yield the runs of one colour as HTML."""
    look: dict[str, str] = {}
    at = 0
    for found in _ESCAPE.finditer(text):
        yield _piece(text[at : found.start()], look, words)
        if found[2] == "m":
            look = _followed(look, found[1] or "0")
        at = found.end()
    yield _piece(text[at:], look, words)


def _piece(text: str, look: dict[str, str], words: str) -> str:
    clean = _CONTROLS.sub("", text)
    # With a group in the pattern, every second part is what was found; at most MAX_MARKS of them are marked.
    parts = re.split(f"({re.escape(words)})", clean, maxsplit=MAX_MARKS, flags=re.IGNORECASE) if words else [clean]
    html = "".join(f"<mark>{escape(part)}</mark>" if place % 2 else escape(part) for place, part in enumerate(parts))
    return f'<span class="{" ".join(look.values())}">{html}</span>' if look and html else html


def _followed(look: dict[str, str], parameters: str) -> dict[str, str]:
    """Return the look after a sequence of SGR parameters; what they do not know is left as it was."""
    codes = [int(code) if code.isdecimal() and len(code) < 4 else 0 for code in re.split("[;:]", parameters)]
    look = dict(look)
    while codes:
        code = codes.pop(0)
        if code == 0:
            look = {}
        elif code == 1:
            look["weight"] = "bold"
        elif code == 22:
            look.pop("weight", None)
        elif code == 39:
            look.pop("colour", None)
        elif code in range(30, 38) or code in range(90, 98):
            look["colour"] = f"ansi-{COLOURS[code % 10]}"
        elif code in (38, 48):  # of 256 colours, or of all
            skipped = {5: 2, 2: 4}.get(codes[0] if codes else 0, 0)
            if code == 38 and skipped == 2 and len(codes) > 1 and codes[1] < 16:
                look["colour"] = f"ansi-{COLOURS[codes[1] % 8]}"
            codes = codes[skipped:]
    return look
