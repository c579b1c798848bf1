"""One shell word at a time: quotes, escapes, variables, substitutions. Nothing is run.

Source: POSIX, "Shell Command Language", 2.2 Quoting; bash's manual, "ANSI-C Quoting".
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

NAME = re.compile(r"[A-Za-z_]\w*")
CONTINUED = re.compile(r"[\\`^][ \t]*\n")
PLAIN = re.compile(r"[^\\'\"$ \t\n;&|()<>`^{]+|.")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
CODE = re.compile(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})")
HOLE = re.compile(r"<[A-Za-z][\w .-]*>|\{\{[^{}\n]*\}\}")
PARAMETER = re.compile(r"(\w+)(?:(:?[-=?+])(.*))?", re.DOTALL)
VARIABLE = re.compile(r"\\\$|\$(?:\{((?:[^{}$]|\$(?!\{)|\$?\{[^{}]*\})*)\}|([A-Za-z_]\w*))")
CAT = re.compile(r"\s*cat\s+<<(-?)[ \t]*(['\"]?)(\w+)\2[ \t]*\n")
MOST_PUT_IN = 2_000_000


@dataclass
class Word:
    """A word of a command; `breaks` are the places in `text` where a new line of the file began."""

    text: str
    line: int
    breaks: list[int] = field(default_factory=list)

    def line_at(self, place: int) -> int:
        """Return the line on which the character at `place` stands."""
        return self.line + bisect_right(self.breaks, place)


class Words:
    """Walks through a text. `variables` are put in, at most MOST_PUT_IN characters of them; `inner` are the $(commands)
    that create jobs, each with its line; `begun` are the lines on which here-documents began that became values;
    `unclosed` is the line of a quote that nothing closes.
    """

    def __init__(self, text: str, first_line: int) -> None:
        self.text, self.at, self.first_line = text, 0, first_line
        self.newlines = [place for place, sign in enumerate(text) if sign == "\n"]
        self.variables: dict[str, str] = {}
        self.put_in = 0
        self.inner: list[tuple[str, int]] = []
        self.inside: list[int] = []
        self.begun: dict[str, int] = {}
        self.unclosed = 0

    def line(self, place: int) -> int:
        """Return the line of a place in the text."""
        return self.first_line + bisect_right(self.newlines, place - 1)

    def known(self, name: str, otherwise: str) -> str:
        """Return the value of a variable, or `otherwise` where it is unknown or too much was put in already."""
        value = self.variables.get(name)
        if value is None or self.put_in > MOST_PUT_IN:
            return otherwise
        self.put_in += len(value)
        return value

    def word(self) -> Word:
        """Read one word; the place is at its first character."""
        parts: list[str] = []
        breaks: list[int] = []
        start, length = self.at, 0
        while self.at < len(self.text):
            sign = self.text[self.at]
            before = self.at
            self.inside.clear()
            if (found := CONTINUED.match(self.text, self.at)) and sign == "\\" and found[0] == "\\\n":
                self.at = found.end()
                piece = ""
            elif found := HOLE.match(self.text, self.at):
                self.at = found.end()
                piece = found[0]
            elif sign in " \t\n;&|()<>" or CONTINUED.match(self.text, self.at):
                break
            else:
                piece = self._piece(sign)
            if self.inside:
                breaks.extend(length + place for place in self.inside)
            else:
                breaks.extend(length + len(piece) for _ in range(self.text.count("\n", before, self.at)))
            parts.append(piece)
            length += len(piece)
        if self.at == start:
            self.at += 1
        return Word("".join(parts), self.line(start), breaks)

    def _piece(self, sign: str) -> str:
        if sign == "\\":
            self.at += 2
            return self.text[self.at - 1 : self.at]
        if sign == "'":
            return self._single()
        if sign == '"':
            return self._double()
        if sign == "$":
            return self._dollar(quoted=False)
        found = PLAIN.match(self.text, self.at)
        self.at = found.end() if found else self.at + 1
        return found[0] if found else ""

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.unclosed, end = self.unclosed or self.line(self.at), len(self.text)
        piece = self.text[self.at + 1 : end]
        self.inside.extend(place + 1 for place, sign in enumerate(piece) if sign == "\n")
        self.at = end + 1
        return piece

    def _double(self) -> str:
        began = self.at
        self.at += 1
        parts: list[str] = []
        size = 0
        plain = re.compile(r'[^"\\$]+')
        while self.at < len(self.text) and self.text[self.at] != '"':
            sign = self.text[self.at]
            if sign == "$":
                parts.append(self._dollar(quoted=True))
            elif sign == "\\":
                follows = self.text[self.at + 1 : self.at + 2]
                if follows == "\n":
                    self.inside.append(size)
                parts.append("" if follows == "\n" else follows if follows in '"\\$`' else sign + follows)
                self.at += 2
            elif found := plain.match(self.text, self.at):
                self.inside.extend(size + place + 1 for place, sign in enumerate(found[0]) if sign == "\n")
                parts.append(found[0])
                self.at = found.end()
            size += len(parts[-1])
        if self.at >= len(self.text):
            self.unclosed = self.unclosed or self.line(began)
        self.at += 1
        return "".join(parts)

    def _dollar(self, *, quoted: bool) -> str:
        """Read what begins with a dollar: a variable, $(command), or $'text with escapes'."""
        text, at = self.text, self.at
        if text.startswith("$'", at) and not quoted:
            return self._escaped()
        if text.startswith("$(", at):
            inside = self._balanced(at + 1, "(", ")")[1:-1]
            if found := CAT.match(inside):
                *lines, last = inside[found.end() :].rstrip().split("\n")
                if last.strip() == found[3]:
                    return self._cat(found, lines, self.line(at + 2 + found.end()))
            if "gcloud" in inside and "create" in inside:
                self.inner.append((inside, self.line(at + 2)))
            return "${" + re.sub(r"[{}\n]", " ", inside[:80]).strip() + "}"
        if text.startswith("${", at):
            inner = self._balanced(at + 1, "{", "}")[1:-1]
            if inner.startswith("{"):  # ${{ name }} of GitHub's workflows
                return "${" + inner + "}"
            return self.parameter(inner)
        if found := NAME.match(text, at + 1):
            self.at = found.end()
            return self.known(found[0], "${" + found[0] + "}")
        if text[at + 1 : at + 2].isdigit():
            self.at += 2
            return self.known(text[at + 1], "${" + text[at + 1] + "}")
        self.at += 1
        return "$"

    def parameter(self, inner: str) -> str:
        """Return the value of `${inner}`: of the name, or the default that stands there, or a hole."""
        found = PARAMETER.fullmatch(inner)
        if found is None or (found[2] or "").endswith("+"):
            return "${" + inner + "}"
        if found[2] is None or found[2].endswith("?"):
            return self.known(found[1], "${" + found[1] + "}")
        default = found[3][1:-1] if re.fullmatch(r"([\"']).*\1", found[3], re.DOTALL) else found[3]
        return self.known(found[1], self.filled(default) or "${" + inner + "}")

    def filled(self, text: str) -> str:
        """Put the variables into the text of a here-document or a default."""

        def put(found: re.Match[str]) -> str:
            if found[0] == "\\$" or (found[1] or "").startswith("{"):
                return found[0].removeprefix("\\")
            return self.parameter(found[1]) if found[1] is not None else self.known(found[2], found[0])

        return VARIABLE.sub(put, text)

    def _cat(self, found: re.Match[str], lines: list[str], line: int) -> str:
        """Read $(cat <<EOF ... EOF) as the text between."""
        text = "\n".join(part.lstrip("\t") if found[1] else part for part in lines)
        text = text if found[2] else self.filled(text)
        self.begun[text] = line
        return text

    def _balanced(self, at: int, opening: str, closing: str) -> str:
        depth, place = 0, at
        while place < len(self.text):
            depth += (self.text[place] == opening) - (self.text[place] == closing)
            place += 1
            if depth == 0:
                break
        self.at = place
        return self.text[at:place]

    def _escaped(self) -> str:
        self.at += 2
        parts: list[str] = []
        while self.at < len(self.text) and self.text[self.at] != "'":
            sign = self.text[self.at]
            self.at += 1
            if sign != "\\":
                parts.append(sign)
            elif found := CODE.match(self.text, self.at):
                code = int(found[1] or found[2] or found[3], 16)
                parts.append(chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd")
                self.at = found.end()
            else:
                follows = self.text[self.at : self.at + 1]
                parts.append(ESCAPES.get(follows, follows))
                self.at += 1
        self.at += 1
        return "".join(parts)
