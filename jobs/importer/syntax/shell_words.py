"""Parse one shell word at a time: quotes, escapes, variables, substitutions. Nothing is run.

`shlex` does not support variables, substitutions or line numbers. Source: POSIX, "Shell Command Language", 2.2 Quoting;
bash's manual, "ANSI-C Quoting".
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

CONTINUED = re.compile(r"[\\`^][ \t]*\n")
PLACEHOLDER = re.compile(r"<[A-Za-z][\w .-]*>|\{\{[^{}\n]*\}\}")
PLAIN = re.compile(r"[^\\'\"$ \t\n;&|()<>`^{]+|.")
IN_DOUBLE = re.compile(r'[^"\\$`]+|`')
BACKTICKS = re.compile(r"`((?:[^`\n\\]|\\.)+)`", re.DOTALL)
ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))|\\\Z", re.DOTALL)
IN_ANSI = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
NAME = re.compile(r"[A-Za-z_]\w*|[0-9]")
PARAMETER = re.compile(r"(\w+)(?:(:?[-=?+])(.*))?", re.DOTALL)
VARIABLE = re.compile(
    r"\\[$`]|\$(?:\{((?:[^{}$]|\$(?!\{)|\$?\{[^{}]*\})*)\}|([A-Za-z_]\w*))"
    r"|(?m:(?<=\S)[ \t]*(?:\$\(((?:[^()\n]|\([^()\n]*\))*)\)|`([^`\n]+)`))"
)
"""An escape, a variable, or a command on a line with other text; a reader leaves out a line that is only a command."""
CAT = re.compile(r"\s*cat\s+<<(-?)[ \t]*(['\"]?)(\w+)\2[ \t]*\n")
BRACKETS = {"(": ")", "{": "}"}
MAX_INSERTED = 2_000_000


@dataclass
class Word:
    """A word of a command; `breaks` are the positions in `text` where a new line of the file began."""

    text: str
    line: int
    breaks: list[int] = field(default_factory=list)

    def line_at(self, place: int) -> int:
        """Return the line of the character at `place`."""
        return self.line + bisect_right(self.breaks, place)

    def part(self, start: int, before: str = "") -> "Word":
        """Return the rest of the word from a position, after another text."""
        return Word(before + self.text[start:], self.line, [place - start + len(before) for place in self.breaks])


def unknown_output(command: str) -> str:
    """Return the placeholder for what a command prints."""
    return "${" + re.sub(r"[{}\n]", " ", command[:80]).strip() + "}"


class Words:
    """Reads a text word by word. Values of `variables` are inserted, at most MAX_INSERTED characters in total.

    `inner` are the $(commands) that create jobs, with their lines. `first_lines` are the lines where here-documents
    that became values begin. `unclosed` is the line of an unclosed quote.
    """

    def __init__(self, text: str, first_line: int) -> None:
        self.text, self.at, self.first_line = text, 0, first_line
        self.newlines = [place for place, sign in enumerate(text) if sign == "\n"]
        self.variables: dict[str, str] = {}
        self.inserted = 0
        self.inner: list[tuple[str, int]] = []
        self.first_lines: dict[str, int] = {}
        self.unclosed = 0

    def line(self, place: int) -> int:
        """Return the line of a position in the text."""
        return self.first_line + bisect_right(self.newlines, place - 1)

    def value(self, name: str, otherwise: str) -> str:
        """Return the value of a variable, or `otherwise` if it is unknown or too much was inserted already."""
        value = self.variables.get(name)
        if value is None or self.inserted > MAX_INSERTED:
            return otherwise
        self.inserted += len(value)
        return value

    def word(self) -> Word:
        """Read one word; the current position is its first character."""
        word = Word("", self.line(self.at))
        parts: list[str] = []
        start, size = self.at, 0
        while self.at < len(self.text):
            sign, before = self.text[self.at], self.at
            inside: list[int] = []
            if sign == "\\" and self.text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
                piece = ""
            elif mark := PLACEHOLDER.match(self.text, self.at):
                self.at = mark.end()
                piece = mark[0]
            elif sign in " \t\n;&|()<>" or CONTINUED.match(self.text, self.at):
                break
            else:
                piece = self._piece(sign, inside)
            # A line that begins inside quotes begins at its position; one before or after the piece, at its end.
            begins = inside or [len(piece)] * self.text.count("\n", before, self.at)
            word.breaks.extend(size + place for place in begins)
            parts.append(piece)
            size += len(piece)
        self.at += self.at == start
        word.text = "".join(parts)
        return word

    def _piece(self, sign: str, inside: list[int]) -> str:
        """Read to the end of a quoted piece; `inside` collects the positions where lines begin."""
        if sign == "\\":
            self.at += 2
            return self.text[self.at - 1 : self.at]
        if sign == "'":
            return self._single(inside)
        if sign == '"':
            return self._double(inside)
        if sign == "$":
            return self._ansi() if self.text.startswith("$'", self.at) else self._dollar()
        if sign == "`" and (command := BACKTICKS.match(self.text, self.at)):
            return self._backticks(command)
        plain = PLAIN.match(self.text, self.at)
        self.at = plain.end() if plain else self.at + 1
        return plain[0] if plain else ""

    def _single(self, inside: list[int]) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.unclosed, end = self.unclosed or self.line(self.at), len(self.text)
        piece = self.text[self.at + 1 : end]
        inside.extend(place + 1 for place, sign in enumerate(piece) if sign == "\n")
        self.at = end + 1
        return piece

    def _double(self, inside: list[int]) -> str:
        began, size = self.at, 0
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text) and (sign := self.text[self.at]) != '"':
            piece = ""
            if sign == "$":
                piece = self._dollar()
            elif sign == "`" and (command := BACKTICKS.match(self.text, self.at)):
                piece = self._backticks(command)
            elif sign == "\\":
                follows = self.text[self.at + 1 : self.at + 2]
                piece = "" if follows == "\n" else follows if follows in '"\\$`' else sign + follows
                inside.extend([size] if follows == "\n" else [])
                self.at += 2
            elif plain := IN_DOUBLE.match(self.text, self.at):
                piece, self.at = plain[0], plain.end()
                inside.extend(size + place + 1 for place, sign in enumerate(piece) if sign == "\n")
            parts.append(piece)
            size += len(piece)
        if self.at >= len(self.text):
            self.unclosed = self.unclosed or self.line(began)
        self.at += 1
        return "".join(parts)

    def _ansi(self) -> str:
        """Read $'text with escapes'."""
        text = IN_ANSI.match(self.text, self.at + 2)
        self.at = (text.end() if text else self.at + 1) + 1

        def unescape(match: re.Match[str]) -> str:
            code = int(match[1] or match[2] or match[3] or "0", 16)
            if match[4] is None and match[0] != "\\":
                return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
            return ESCAPES.get(match[4] or "", match[4] or "")

        return ANSI.sub(unescape, text[0] if text else "")

    def _dollar(self) -> str:
        """Read an expression that begins with a dollar: a variable or $(command)."""
        at = self.at
        if self.text.startswith("$(", at):
            return self._substituted(self._balanced(at + 1), self.line(at + 2))
        if self.text.startswith("${", at):
            inner = self._balanced(at + 1)
            return f"${{{inner}}}" if inner.startswith("{") else self.parameter(inner)  # ${{ name }} of GitHub
        if name := NAME.match(self.text, at + 1):
            self.at = name.end()
            return self.value(name[0], f"${{{name[0]}}}")
        self.at += 1
        return "$"

    def _backticks(self, command: re.Match[str]) -> str:
        """Read `command`; one that begins a word and creates a job is quoted in a sentence."""
        self.at = command.end()
        if self.text[command.start() - 1 : command.start()].isspace():
            return unknown_output(command[1])
        return self._substituted(command[1], self.line(command.start(1)))

    def _substituted(self, command: str, line: int) -> str:
        """Return the result of $(command): the text of a here-document that cat prints, else a placeholder."""
        if shown := CAT.match(command):
            *lines, last = command[shown.end() :].rstrip().split("\n")
            if last.strip() == shown[3]:
                text = "\n".join(part.lstrip("\t") if shown[1] else part for part in lines)
                text = text if shown[2] else self.fill(text)
                self.first_lines[text] = line + shown[0].count("\n")
                return text
        if ("gcloud" in command and "create" in command) or "curl " in command:
            self.inner.append((command, line))
        return unknown_output(command)

    def parameter(self, inner: str) -> str:
        """Return the value of `${inner}`: the variable's value, else its default, else a placeholder."""
        match, unknown = PARAMETER.fullmatch(inner), f"${{{inner}}}"
        if match is None or (match[2] or "").endswith("+"):
            return unknown
        if match[2] is None or match[2].endswith("?"):
            return self.value(match[1], f"${{{match[1]}}}")
        default = match[3][1:-1] if re.fullmatch(r"([\"']).*\1", match[3], re.DOTALL) else match[3]
        value = self.value(match[1], self.fill(default) or unknown)
        if match[2].endswith("="):  # ${NAME:=default} sets the variable too
            self.variables.setdefault(match[1], value)
        return value

    def fill(self, text: str) -> str:
        """Insert variables into the text of a here-document or a default."""

        def replacement(match: re.Match[str]) -> str:
            if match[0][0] == "\\" or (match[1] or "").startswith("{"):
                return match[0].removeprefix("\\")
            if command := match[3] or match[4]:
                blanks = match[0][: -len(match[0].lstrip())]
                return blanks + unknown_output(re.sub(r"[\"'\\:#]", " ", command))  # signs of YAML and JSON
            return self.parameter(match[1]) if match[1] is not None else self.value(match[2], match[0])

        return VARIABLE.sub(replacement, text)

    def _balanced(self, at: int) -> str:
        """Return the text between the bracket at a position and its closing bracket."""
        opening, depth, place = self.text[at], 0, at
        while place < len(self.text):
            depth += (self.text[place] == opening) - (self.text[place] == BRACKETS[opening])
            place += 1
            if depth == 0:
                break
        self.at = place
        return self.text[at + 1 : place - 1]
