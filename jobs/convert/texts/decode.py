"""Bytes to text: size, encoding, line ends. The first thing that happens to whatever somebody pastes or uploads."""

from jobs.convert.texts.nodes import Notes

MOST_BYTES = 2 * 1024 * 1024
ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
INVISIBLE = {"\u00a0": " ", "\u200b": "", "\ufeff": "", "\x0c": " "}


def decode(given: str | bytes, notes: Notes) -> str | None:
    """Return the text with `\\n` at line ends and without byte order mark; None when it is no text, which is noted."""
    if len(given) > MOST_BYTES:
        notes.refuse("too_large", None, f"The text is larger than {MOST_BYTES // 1024 // 1024} MiB.", "Give one job.")
        return None
    text = _text(given) if isinstance(given, bytes) else given
    if text is None or "\0" in text:
        notes.refuse("not_text", None, "This is no text but binary data.", "Give YAML, JSON, a command or Python.")
        return None
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        notes.refuse("not_text", None, "The text holds half characters (lone surrogates).", "Save it as UTF-8.")
        return None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        notes.refuse("empty", None, "There is nothing to read.", "Give YAML, JSON, a command or Python.")
        return None
    return _visible(text, notes)


def _text(given: bytes) -> str | None:
    encoding = next((name for mark, name in ENCODINGS if given.startswith(mark)), "utf-8")
    try:
        return given.decode(encoding)
    except UnicodeDecodeError:
        return None


def _visible(text: str, notes: Notes) -> str:
    """Replace blanks that only look like blanks, as web pages and chats put them between words, outside quotes too."""
    lines = text.split("\n")
    changed = 0
    for index, line in enumerate(lines):
        indent = len(line) - len(line.lstrip("\u00a0\u200b\ufeff\x0c \t"))
        if any(sign in INVISIBLE for sign in line[:indent]):
            start = "".join(INVISIBLE.get(sign, sign) for sign in line[:indent])
            lines[index] = start + line[indent:]
            changed = changed or index + 1
    if changed:
        notes.advise("invisible_blanks", changed, "Indents hold blanks of another sort; they are read as blanks.")
    return "\n".join(lines)
