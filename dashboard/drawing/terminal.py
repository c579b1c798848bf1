"""Render a log line as a terminal shows it: colours become classes, overwritten text is removed, the rest is text.

Of the escape sequences only colours and weight are used (ECMA-48, SGR). Others, which move the cursor, set titles or
make links, are dropped, so that nothing affects other lines. Control characters of text direction are dropped too. The
stylesheet isolates each line, and right-to-left letters need no control characters.
"""

import re
from collections.abc import Iterator

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from dashboard.drawing.figures import thousands
from jobs.bounds import parse_digits

MAX_CHARACTERS = 2_000
"""Maximum characters of a line on a page. The download has all."""
MAX_MARKS = 20
"""Maximum search marks per piece of a line, so that a search for one letter does not multiply the size of the page."""
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")

_ESCAPE = re.compile(
    r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\|$)|[PX^_][^\x1b]*(?:\x1b\\|$)|.?)", re.S
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def render_line(message: str, words: str = "") -> SafeString:
    """Return the message of a log line as safe HTML, with the searched `words` marked."""
    text = overwritten(message)
    cut = len(text) - MAX_CHARACTERS
    pieces = mark_safe("".join(_pieces(text[:MAX_CHARACTERS], words)))  # noqa: S308 every piece is escaped
    if cut <= 0:
        return pieces
    return format_html(
        "{}… <small>{}</small>", pieces, _("%(number)s more characters in the download") % {"number": thousands(cut)}
    )


def overwritten(message: str) -> str:
    """Return the text that a terminal would show.

    Of each line this is the part after the last carriage return that text follows, without erased characters.
    """
    lines = []
    for line in message.replace("\r\n", "\n").split("\n"):
        parts = [part for part in line.split("\r") if part.strip()]
        lines.append(parts[-1] if parts else "")
    return _erased("\n".join(lines))


def _erased(text: str) -> str:
    """Return the text without the characters that backspaces erase, one character of the same line each."""
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
    """Yield HTML for each run of one colour."""
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
    # The pattern has a group, so every second part is a match. At most MAX_MARKS of them are marked.
    parts = re.split(f"({re.escape(words)})", clean, maxsplit=MAX_MARKS, flags=re.IGNORECASE) if words else [clean]
    html = "".join(f"<mark>{escape(part)}</mark>" if place % 2 else escape(part) for place, part in enumerate(parts))
    return f'<span class="{" ".join(look.values())}">{html}</span>' if look and html else html


def _followed(look: dict[str, str], parameters: str) -> dict[str, str]:
    """Return the look after a sequence of SGR parameters. Unknown parameters do not change it."""
    codes = [parse_digits(code, 3) or 0 for code in re.split("[;:]", parameters)]
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
        elif code in (38, 48):  # a colour of the 256-colour palette, or RGB
            skipped = {5: 2, 2: 4}.get(codes[0] if codes else 0, 0)
            if code == 38 and skipped == 2 and len(codes) > 1 and codes[1] < 16:
                look["colour"] = f"ansi-{COLOURS[codes[1] % 8]}"
            codes = codes[skipped:]
    return look
