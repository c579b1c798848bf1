"""Parse one shell word at a time: quotes, escapes, variables, substitutions. Nothing is run.

`shlex` does not support variables, substitutions or line numbers. Source: POSIX, "Shell Command Language", 2.2 Quoting;
bash's manual, "ANSI-C Quoting".
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

CONTINUED = re.compile(r"[\\`^][ \t]*\n")
PLACEHOLDER = re.compile(r"<[A-Za-z][\w .-]*>|\{\{[^{}\n]*\}\}")
PIECE = re.compile(
    r"""(?P<joined>\\\n) | (?P<mark><[A-Za-z][\w .-]*>|\{\{[^{}\n]*\}\}) | (?P<end>[ \t\n;&|()<>]|[\\`^][ \t]*\n)
    | \\(?P<escaped>.?) | '(?P<single>[^']*)(?P<closed>'?) | (?P<double>") | \$'(?P<ansi>(?:[^'\\]|\\.)*)'?
    | (?P<dollar>\$) | `(?P<ticks>(?:[^`\n\\]|\\.)+)` | (?P<plain>[^\\'"$ \t\n;&|()<>`^{]+|.)""",
    re.DOTALL | re.VERBOSE,
)
QUOTED = re.compile(
    r"""(?P<end>") | (?P<joined>\\\n) | \\(?P<escaped>["\\$`]) | (?P<dollar>\$) | `(?P<ticks>(?:[^`\n\\]|\\.)+)`
    | (?P<plain>[^"\\$`]+|.)""",
    re.DOTALL | re.VERBOSE,
)
"""The pieces of a word, and of a text in double quotes."""
ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))|\\\Z", re.DOTALL)
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
        self.inserted = self.unclosed = 0
        self.inner: list[tuple[str, int]] = []
        self.first_lines: dict[str, int] = {}

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
        word, start = Word("", self.line(self.at)), self.at
        word.text = self._pieces(PIECE, word.breaks, 0)
        self.at += self.at == start
        return word

    def _pieces(self, pattern: re.Pattern[str], breaks: list[int], size: int) -> str:
        """Read the pieces of a word from position `size` of it, or of a part in double quotes, up to its end."""
        parts: list[str] = []
        while (piece := pattern.match(self.text, self.at)) and piece.lastgroup != "end":
            kind, text = piece.lastgroup or "", piece[piece.lastgroup or 0]
            self.at = piece.end()
            if kind in ("double", "dollar", "ticks", "ansi"):
                before, count = piece.start(), len(breaks)
                text = self._expanded(kind, text, piece, breaks, size)
                if len(breaks) == count:  # lines within it begin after it
                    breaks += [size + len(text)] * self.text.count("\n", before, self.at)
            elif kind == "closed":
                text = piece["single"]
                self.unclosed = self.unclosed or (0 if piece["closed"] else self.line(piece.start()))
            if kind in ("plain", "closed"):
                breaks += [size + place + 1 for place, sign in enumerate(text) if sign == "\n"]
            elif kind == "joined":
                breaks.append(size)
                text = ""
            parts.append(text)
            size += len(text)
        return "".join(parts)

    def _expanded(self, kind: str, text: str, piece: re.Match[str], breaks: list[int], size: int) -> str:
        """Return what a piece stands for: a part in quotes, a variable, or what a command prints."""
        at = piece.start()
        if kind == "double":
            text = self._pieces(QUOTED, breaks, size)
            self.unclosed = self.unclosed or (0 if self.at < len(self.text) else self.line(at))
            self.at += 1
            return text
        if kind == "ansi":
            return ANSI.sub(_unescaped, text)
        if kind == "ticks":  # one that begins a word and creates a job is quoted in a sentence
            is_word = self.text[at - 1 : at].isspace()
            return unknown_output(text) if is_word else self._substituted(text, self.line(at + 1))
        if self.text.startswith("(", self.at):
            return self._substituted(self._balanced(self.at), self.line(at + 2))
        if self.text.startswith("{", self.at):
            inner = self._balanced(self.at)
            return f"${{{inner}}}" if inner.startswith("{") else self.parameter(inner)  # ${{ name }} of GitHub
        if name := NAME.match(self.text, self.at):
            self.at = name.end()
            return self.value(name[0], f"${{{name[0]}}}")
        return "$"

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


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1] or match[2] or match[3] or "0", 16)
    if match[4] is None and match[0] != "\\":
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return ESCAPES.get(match[4] or "", match[4] or "")
