"""JSON to nodes, with lines. Reads what documentation shows too, and says where it is no JSON: comments, commas too
many or too few, unquoted placeholders, single quotes, text after the end.
"""

import json
import re

from jobs.convert.texts.nodes import Node, Notes
from jobs.spec import quoted
from jobs.spec.reading import DEEPEST

BLANK = re.compile(r"[ \t\n\r\x0b\x0c\u00a0]+")
COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL)
SINGLE = re.compile(r"'(?:[^'\\\n]|\\.)*'", re.DOTALL)
NAME = re.compile(r'"[\w-]{1,80}"[ \t]*:')
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=[\s,\]}]|\Z)")
WORD = re.compile(r"(?:\$?\{\{?[^{}\n]*\}\}?|[^,\[\]{}:\"'\s])(?:\$?\{\{?[^{}\n]*\}\}?|[^,\[\]{}:\"'\n])*")
WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
LONGEST_NUMBER = 320
MAX_EARLY = 8


class Broken(Exception):
    """The JSON cannot be read beyond a line."""

    def __init__(self, message: str, line: int, remedy: str = "") -> None:
        super().__init__(message)
        self.line, self.remedy = line, remedy
        self.so_far: Node | None = None


def read_json(text: str, notes: Notes, first_line: int = 1) -> list[Node]:
    """Return the values of a JSON text, one after another; stops with a note where nothing more can be read."""
    reader = Reader(text, notes, first_line)
    found: list[Node] = []
    try:
        while reader.more():
            found.append(reader.value(0))
            if reader.more() and reader.peek() not in "{[":
                rest = text[reader.at :].strip().partition("\n")[0]
                message = f"The text after the end of the JSON, {quoted(rest)}, is not read."
                notes.advise("trailing_text", reader.line(), message)
                break
    except Broken as trouble:
        notes.refuse("unreadable_json", trouble.line, str(trouble), trouble.remedy)
        if trouble.so_far is not None:
            found.append(trouble.so_far)
    return found


class Reader:
    """Walks through the text once."""

    def __init__(self, text: str, notes: Notes, first_line: int) -> None:
        self.text, self.notes, self.at = text, notes, 0
        self.counted, self.lines = 0, first_line
        self.said: set[str] = set()
        self.early = 0

    def line(self) -> int:
        """Return the line of the current place."""
        self.lines += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.lines

    def say(self, code: str, message: str, remedy: str = "") -> None:
        """Note what is no JSON, once for each sort of it."""
        if code not in self.said:
            self.said.add(code)
            self.notes.advise(code, self.line(), message, remedy)

    def more(self) -> bool:
        """Step over blanks and comments; tell whether anything follows."""
        while True:
            if found := BLANK.match(self.text, self.at):
                self.at = found.end()
            elif (found := COMMENT.match(self.text, self.at)) is not None:
                self.say("comments", "JSON has no comments; they are not kept.")
                self.at = found.end()
            else:
                return self.at < len(self.text)

    def peek(self) -> str:
        """Return the next character."""
        return self.text[self.at]

    def value(self, depth: int) -> Node:
        """Read one value; the place is at its first character."""
        if depth > DEEPEST:
            raise Broken(f"It is nested more than {DEEPEST} levels deep.", self.line())
        line, sign = self.line(), self.peek()
        if sign == "{" and not self.text.startswith("{{", self.at):
            return self._object(line, depth)
        if sign == "[":
            return self._list(line, depth)
        if sign in "\"'":
            return Node(self._string(), line)
        if found := NUMBER.match(self.text, self.at):
            self.at = found.end()
            return Node(_number(found[0]), line, found[0])
        return self._word(line)

    def _object(self, line: int, depth: int) -> Node:
        entries: dict[str, Node] = {}
        self.at += 1
        try:
            is_first = True
            while self._inside("}", line, is_first=is_first):
                self._entry(entries, depth)
                is_first = False
        except Broken as trouble:
            trouble.so_far = Node(entries, line)
            raise
        return Node(entries, line)

    def _entry(self, entries: dict[str, Node], depth: int) -> None:
        """Read a name and its value; what was read of a broken value is kept."""
        here = self.line()
        name = self._name()
        if self.more() and self.peek() == '"':
            self.say(
                "stray_quote", f"A quote closes the name {quoted(name)} that none opens.", "Quote it on both sides."
            )
            self.at += 1
        if self.more() and self.peek() in ",}":
            message = f"{quoted(name)} stands where a name and a value belong; it is not carried."
            self.notes.advise("not_carried", here, message, "Write the fields there.")
            return
        if not self.more() or self.peek() != ":":
            raise Broken(f"A colon is missing after the name {quoted(name)}.", self.line())
        self.at += 1
        if not self.more():
            raise Broken(f"The value of {quoted(name)} is missing.", self.line())
        try:
            node = self.value(depth + 1)
        except Broken as trouble:
            if trouble.so_far is not None:
                entries.setdefault(name, trouble.so_far)
            raise
        if name in entries:
            message = f"{quoted(name)} is given twice, first on line {entries[name].line}; the first is read."
            self.notes.refuse("given_twice", here, message, "Keep one of them.")
        else:
            entries[name] = Node(node.value, here, node.raw)

    def _list(self, line: int, depth: int) -> Node:
        items: list[Node] = []
        self.at += 1
        try:
            while self._inside("]", line, is_first=not items):
                if not (items and self._goes_on(items[-1], depth)):
                    items.append(self.value(depth + 1))
        except Broken as trouble:
            if trouble.so_far is not None:
                items.append(trouble.so_far)
            trouble.so_far = Node(items, line)
            raise
        return Node(items, line)

    def _goes_on(self, before: Node, depth: int) -> bool:
        """Read on in the object before, where a name follows its brace, as on Google's page on Spot VMs."""
        if not isinstance(before.value, dict) or not NAME.match(self.text, self.at) or self.early >= MAX_EARLY:
            return False
        self.early += 1
        self.say("early_brace", "A brace closes the object before too early; what follows is read as part of it.")
        self._entry(before.value, depth)
        while self._inside("}", before.line, is_first=False):
            self._entry(before.value, depth)
        return True

    def _inside(self, end: str, start: int, *, is_first: bool) -> bool:
        """Step to the next entry; False after the end of the object or list."""
        commas, wanted, is_whole = 0, 0 if is_first else 1, True
        while True:
            if not self.more():
                raise Broken(f"The text ends before the {end} of what begins on line {start}.", self.line())
            if self.peek() == ",":
                commas += 1
                self.at += 1
            elif self.peek() == end:
                if is_whole:
                    self._judge(commas, 0)
                self.at += 1
                return False
            elif self.text.startswith("...", self.at):
                self.say("left_out", "The dots stand for something that is left out; they are not read.")
                self.at += 3
                is_whole = False
            elif self.peek() in "}]:":
                raise Broken(f"{quoted(self.peek())} does not fit here.", self.line(), f"Close with {end} first?")
            else:
                if is_whole:
                    self._judge(commas, wanted)
                return True

    def _judge(self, commas: int, wanted: int) -> None:
        if commas < wanted:
            self.say("missing_comma", "A comma is missing before this.", "JSON wants one between two entries.")
        elif commas > wanted:
            self.say("stray_comma", "A comma before this separates nothing.", "JSON allows none here.")

    def _name(self) -> str:
        if self.peek() in "\"'":
            return self._string()
        return self._word(self.line()).text()

    def _string(self) -> str:
        single = self.peek() == "'"
        found = (SINGLE if single else STRING).match(self.text, self.at)
        if found is None:
            raise Broken("A text in quotes does not end on its line.", self.line(), "Close the quotes.")
        if single:
            self.say("single_quotes", 'JSON quotes text with "; single quotes are read all the same.')
        inner = found[0][1:-1]
        self.at = found.end()
        try:
            text = str(json.loads('"' + (inner.replace("\\'", "'").replace('"', '\\"') if single else inner) + '"'))
        except ValueError:
            self.say("odd_escape", "A text holds an escape that JSON does not know; it is kept as written.")
            return inner
        return text

    def _word(self, line: int) -> Node:
        found = WORD.match(self.text, self.at)
        if found is None:
            raise Broken(f"{quoted(self.peek())} does not fit here.", line)
        word = re.split(r"\s(?://|#)", found[0])[0].rstrip()
        self.at += len(word)
        if word in WORDS:
            if word[0].isupper():
                self.say("python_word", f"{word} is Python; JSON writes it small.")
            return Node(WORDS[word], line, word)
        self.say("unquoted", f"{quoted(word)} stands without quotes, which JSON does not allow.", "Quote it.")
        return Node(word, line, word)


def _number(text: str) -> int | float | str:
    if len(text) > LONGEST_NUMBER:
        return text
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    number = float(text)
    return number if abs(number) < float("inf") else text
