"""Parse JSON to nodes with lines. Invalid JSON as in documentation is read too, with a note for each kind of error.

These errors are comments, missing or extra commas, unquoted placeholders, single quotes, and text after the end.
"""

import json
import re
from collections.abc import Callable

from jobs.importer.nodes import Node, Notes
from jobs.spec import quoted
from jobs.spec.reading import MAX_DEPTH
from jobs.texts import translatable as _

BLANK = re.compile(r"[ \t\n\r\x0b\x0c\u00a0]+")
COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
SHORT_COMMENT = re.compile(r'//(?:(?!"[\w-]{1,80}"[ \t]*:)[^\n{}\[\]])*')
"""A comment in a text without line breaks: it ends before the next name or bracket."""
TEXT = {'"': re.compile(r'"((?:[^"\\\n]|\\.)*)"', re.DOTALL), "'": re.compile(r"'((?:[^'\\\n]|\\.)*)'", re.DOTALL)}
NAME = re.compile(r'"[\w-]{1,80}"[ \t]*:')
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=[\s,\]}]|\Z)")
WORD = re.compile(r"(?:\$?\{\{?[^{}\n]*\}\}?|[^,\[\]{}:\"'\s])(?:\$?\{\{?[^{}\n]*\}\}?|[^,\[\]{}:\"'\n])*")
WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
MAX_NUMBER_LENGTH, MAX_EARLY, MAX_DOCUMENTS = 320, 8, 1_000


class Broken(Exception):
    """The JSON cannot be read beyond a line; the arguments are a message, the line and a remedy."""


def read_json(text: str, notes: Notes, first_line: int = 1) -> list[Node]:
    """Return the values of a JSON text, one after another; stop with an error in `notes` if the rest cannot be read."""
    own = Notes()
    values = _read(Reader(text, own, first_line))
    if own.has("unreadable_json") and own.has("comments"):  # the line breaks may be lost, so that // hides the rest
        again = Notes()
        message = _("A comment with // would hide the rest of its line; it is read as ending before the next name.")
        again.note("comment_hides_rest", first_line, message, _("Put the comment on a line of its own."))
        shorter = Reader(text, again, first_line)
        shorter.comment = SHORT_COMMENT
        if (found := _read(shorter)) and not again.has("unreadable_json"):
            own, values = again, found
    notes.extend(own)
    return values


def _read(reader: "Reader") -> list[Node]:
    text, notes = reader.text, reader.notes
    values: list[Node] = []
    try:
        while len(values) < MAX_DOCUMENTS and reader.skip():
            reader.value(values.append, 0)
            if reader.skip() and reader.sign not in "{[":
                rest = text[reader.at :].strip().partition("\n")[0]
                message = _("The text after the end of the JSON, %(rest)s, is not read.", rest=quoted(rest))
                notes.note("trailing_text", reader.line(), message)
                break
    except Broken as error:
        message, line, *remedy = error.args
        notes.error("unreadable_json", line, message, *remedy)
    return values


class Reader:
    """Reads the values of a text from start to end."""

    def __init__(self, text: str, notes: Notes, first_line: int) -> None:
        self.text, self.notes, self.at = text, notes, 0
        self.comment = COMMENT
        self.counted, self.lines = 0, first_line
        self.advised: set[str] = set()
        self.early = 0

    @property
    def sign(self) -> str:
        """The next character; "" at the end."""
        return self.text[self.at : self.at + 1]

    def line(self) -> int:
        """Return the current line."""
        self.lines += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.lines

    def note(self, code: str, message: str, remedy: str = "") -> None:
        """Add a note about invalid JSON, once for each kind of error."""
        if code not in self.advised:
            self.advised.add(code)
            self.notes.note(code, self.line(), message, remedy)

    def skip(self) -> bool:
        """Skip blanks and comments; return whether anything follows."""
        while passed := BLANK.match(self.text, self.at) or self.comment.match(self.text, self.at):
            if passed.re is self.comment:
                self.note("comments", _("JSON has no comments; they are not kept."))
            self.at = passed.end()
        return self.at < len(self.text)

    def value(self, keep: Callable[[Node], object], depth: int) -> None:
        """Read the value at the current position. `keep` gets it before its parts are read, which may fail."""
        line, sign = self.line(), self.sign
        if depth > MAX_DEPTH:
            raise Broken(_("It is nested more than %(limit)s levels deep.", limit=MAX_DEPTH), line)
        if sign == "{" and not self.text.startswith("{{", self.at):
            keep(node := Node({}, line))
            self.at += 1
            self._object(node, depth)
        elif sign == "[":
            keep(node := Node([], line))
            self._list(node, depth)
        elif sign in TEXT:
            keep(Node(self._string(), line))
        elif number := NUMBER.match(self.text, self.at):
            self.at = number.end()
            keep(Node(_number(number[0]), line, number[0]))
        else:
            keep(self._word(line))

    def _object(self, node: Node, depth: int) -> None:
        is_first = True
        while self._inside("}", node.line, is_first=is_first):
            self._entry(node.value, depth)
            is_first = False

    def _entry(self, entries: dict[str, Node], depth: int) -> None:
        """Read a name and its value; of a repeated name, the first value is kept."""
        here = self.line()
        name = self._string() if self.sign in TEXT else self._word(here).text()
        if self.skip() and self.sign == '"':
            message = _("The name %(name)s has a closing quote but no opening quote.", name=quoted(name))
            self.note("stray_quote", message, _("Quote it on both sides."))
            self.at += 1
        if self.skip() and self.sign in ",}":
            message = _("%(name)s is where a name and a value belong; it is left out.", name=quoted(name))
            self.notes.note("not_carried", here, message, _("Write the fields there."))
            return
        if self.sign != ":":
            raise Broken(_("A colon is missing after the name %(name)s.", name=quoted(name)), self.line())
        self.at += 1
        if not self.skip():
            raise Broken(_("The value of %(name)s is missing.", name=quoted(name)), self.line())
        first = entries.get(name)
        self.value(lambda node: entries.setdefault(name, Node(node.value, here, node.raw)), depth + 1)
        if first is not None:
            self.notes.given_twice(name, first, here)

    def _list(self, node: Node, depth: int) -> None:
        self.at += 1
        while self._inside("]", node.line, is_first=not node.value):
            if not (node.value and self._goes_on(node.value[-1], depth)):
                self.value(node.value.append, depth + 1)

    def _goes_on(self, before: Node, depth: int) -> bool:
        """Continue the previous object if a name follows its closing brace, as on Google's page on Spot VMs."""
        if not isinstance(before.value, dict) or not NAME.match(self.text, self.at) or self.early >= MAX_EARLY:
            return False
        self.early += 1
        self.note("early_brace", _("A brace closes the object before too early; what follows is read as part of it."))
        self._object(before, depth)
        return True

    def _inside(self, end: str, start: int, *, is_first: bool) -> bool:
        """Move to the next entry; return False after the end of the object or list."""
        commas, is_whole = 0, True
        while self.skip():
            if self.sign == ",":
                commas += 1
                self.at += 1
            elif self.text.startswith("...", self.at):
                self.note("left_out", _("The dots are ignored; they stand for omitted fields."))
                self.at += 3
                is_whole = False
            elif self.sign != end and self.sign in "}]:":
                raise Broken(
                    _("%(sign)s is not allowed here.", sign=quoted(self.sign)),
                    self.line(),
                    _("Close with %(end)s first?", end=end),
                )
            else:
                is_end = self.sign == end
                wanted = 0 if is_end or is_first else 1
                if is_whole and commas < wanted:
                    message = _("A comma is missing before this.")
                    self.note("missing_comma", message, _("JSON needs one between two entries."))
                elif is_whole and commas > wanted:
                    self.note("stray_comma", _("There is an extra comma before this."), _("JSON allows none here."))
                self.at += is_end
                return not is_end
        raise Broken(
            _("The text ends before the %(end)s of what begins on line %(start)s.", end=end, start=start), self.line()
        )

    def _string(self) -> str:
        quote = self.sign
        text = TEXT[quote].match(self.text, self.at)
        if text is None:
            raise Broken(_("A string in quotes does not end on its line."), self.line(), _("Close the quotes."))
        inner = text[1]
        if quote == "'":
            self.note("single_quotes", _('JSON strings use "; single quotes are accepted here.'))
            inner = inner.replace("\\'", "'").replace('"', '\\"')
        self.at = text.end()
        try:
            return str(json.loads(f'"{inner}"'))
        except ValueError:
            self.note("odd_escape", _("A string contains an escape that JSON does not have; it is kept as written."))
            return text[1]

    def _word(self, line: int) -> Node:
        match = WORD.match(self.text, self.at)
        if match is None:
            raise Broken(_("%(sign)s is not allowed here.", sign=quoted(self.sign)), line)
        word = re.split(r"\s(?://|#)", match[0])[0].rstrip()
        self.at += len(word)
        if word not in WORDS:
            message = _("%(word)s is not in quotes, which JSON requires.", word=quoted(word))
            self.note("unquoted", message, _("Quote it."))
        elif word[0].isupper():
            self.note("python_word", _("%(word)s is Python; JSON uses lower case.", word=word))
        return Node(WORDS.get(word, word), line, word)


def _number(text: str) -> int | float | str:
    number: int | float | str = json.loads(text) if len(text) <= MAX_NUMBER_LENGTH else text
    return text if number in (float("inf"), float("-inf")) else number
