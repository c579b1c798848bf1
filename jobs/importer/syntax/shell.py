"""Parse shell text to commands and their words, as a shell would split them, without running anything.

Known variables are replaced by their values, unknown ones become placeholders, and here-documents are kept with their
lines. Source: POSIX, "Shell Command Language", 2.7 Redirection and 2.9 Shell Commands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.importer.nodes import Notes
from jobs.importer.syntax.shell_words import CONTINUED, PLACEHOLDER, Word, Words
from jobs.texts import translatable as _

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2")
NEXT_FLAG = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)+(?=[ \t]*--[a-z])")
REDIRECT = re.compile(r"[<>&|]+[ \t]*")
PASSED = re.compile(r"[ \t]+|#[^\n]*|[0-9]+(?=[<>])")
"""Skipped parts: spaces, comments, and the number of a redirected file descriptor."""
IN_ARRAY = re.compile(r"[ \t\n;&|(<>]|#[^\n]*")
ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
CREATES = re.compile(r"gcloud\b[^\n]*\bai\b[^\n]*\bcreate\b")
AT_MARGIN = re.compile(r"^[ \t]*gcloud[ \t][^\n]*[ \t](?:custom-jobs|hp-tuning-jobs)[ \t]+create\b", re.MULTILINE)
SETTERS = frozenset({"export", "declare", "readonly", "local", "set", "env"})
OUTPUT = frozenset({"echo", "printf"})
STDIN = ("-", "/dev/stdin", "")
MAX_VALUE, MAX_WORDS, MAX_INNER, MAX_DEPTH = 200_000, 20_000, 20, 3


@dataclass
class Command:
    """The words of a command, its here-document, and the file that it writes."""

    words: list[Word] = field(default_factory=list)
    document: Word | None = None
    target: str = ""

    def is_output(self) -> bool:
        """Return whether the command is echo or printf."""
        return bool(self.words) and self.words[0].text in OUTPUT


class Shell(Words):
    """Reads the commands of a text. `bodies` are all here-documents, `documents` those written into files."""

    def __init__(self, text: str, first_line: int = 1, depth: int = 0) -> None:
        super().__init__(text, first_line)
        self.depth = depth
        self.documents: dict[str, Word] = {}
        self.bodies: list[Word] = []
        self.waiting: list[re.Match[str]] = []
        self.arrays: dict[str, list[Word]] = {}
        self.piped: Word | None = None
        self.taken = 0

    def file(self, name: str, given: Word | None) -> Word | None:
        """Return the text of a file: the input `given` to a command, or what the text itself writes into the file."""
        return given if given is not None and name in STDIN else self.documents.get(name.removeprefix("./"))

    def commands(self) -> Iterator[Command]:
        """Yield the commands in order; assignments before a command change variables for what follows."""
        command = Command()
        while self.at < len(self.text) and self.taken < MAX_WORDS:
            if self._step(command):
                yield from self._finish(command)
                command = Command()
        yield from self._finish(command)
        for text, line in self.inner[:MAX_INNER] if self.depth < MAX_DEPTH else []:
            inside = Shell(text, line, self.depth + 1)
            inside.variables, inside.arrays = self.variables, self.arrays
            yield from inside.commands()

    def _finish(self, command: Command) -> Iterator[Command]:
        written = command.document or self._output(command)
        if command.target and written is not None:
            self.documents[command.target] = written
        while command.words:
            setting = ASSIGNMENT.fullmatch(command.words[0].text)
            if setting is not None:
                self.variables[setting[1]] = setting[2][:MAX_VALUE]
            elif command.words[0].text not in SETTERS:
                yield command
                return
            command.words.pop(0)

    def _output(self, command: Command) -> Word | None:
        """Return the text that echo or printf prints."""
        return self._with_line(command.words[-1]) if command.is_output() and len(command.words) > 1 else None

    def _with_line(self, word: Word) -> Word:
        return Word(word.text, self.first_lines.get(word.text, word.line))

    def _step(self, command: Command) -> bool:
        """Read the next part of the text; return whether it ends the command."""
        text, at = self.text, self.at
        if (match := CONTINUED.match(text, at)) or (match := PASSED.match(text, at)):
            self.at = match.end()
        elif text[at] == "\n":
            return self._newline(command)
        elif match := HEREDOC.match(text, at):
            self.waiting.append(match)
            self.at = match.end()
        elif text[at] == "(" and command.words and text[at - 1] == "=" and self._array(command.words[-1].text):
            command.words.pop()
        elif text[at] in ";&|()":
            self.piped = self._output(command) if text[at] == "|" else None
            self.at += 1
            return True
        elif text[at] in "<>" and not PLACEHOLDER.match(text, at):
            self._redirect(command)
        else:
            self._word(command)
        return False

    def _word(self, command: Command) -> None:
        """Read a word; `"${NAME[@]}"` becomes the words of an array defined in the text."""
        command.document, self.piped = command.document or self.piped, None
        word = self.word()
        array = ARRAY.fullmatch(word.text)
        words = self.arrays.get(array[1]) if array and not command.is_output() else None
        command.words.extend([word] if words is None else words)
        self.taken += 1 + len(words or ())

    def _array(self, start: str) -> bool:
        """Read the words of NAME=(...) or NAME+=(...) at the current position; return False if it is something else."""
        setting = ASSIGNMENT.fullmatch(start)
        if setting is None or setting[2]:
            return False
        held = Command()
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != ")" and self.taken < MAX_WORDS:
            passed = CONTINUED.match(self.text, self.at) or IN_ARRAY.match(self.text, self.at)
            if passed and not PLACEHOLDER.match(self.text, self.at):
                self.at = passed.end()
            else:
                self._word(held)
        self.at += 1
        before = self.arrays.get(setting[1], []) if start.endswith("+=") else []
        self.arrays[setting[1]] = before + held.words
        return True

    def _newline(self, command: Command) -> bool:
        """Read the end of a line; a flag at the beginning of the next line continues the command."""
        at = self.at
        self.at += 1
        if self.waiting:
            self._documents(command)
        elif command.words and (follows := NEXT_FLAG.match(self.text, at)):
            self.at = follows.end()
            return False
        return True

    def _redirect(self, command: Command) -> None:
        sign = REDIRECT.match(self.text, self.at)
        self.at = sign.end() if sign else self.at + 1
        if self.at < len(self.text) and self.text[self.at] not in "\n;|()":
            word = self.word()
            if sign and sign[0].startswith("<<<"):
                command.document = self._with_line(word)
            else:
                command.target = command.target or word.text.removeprefix("./")

    def _documents(self, command: Command) -> None:
        """Read the here-documents whose marks are on the line that has just ended."""
        for mark in self.waiting:
            start, blanks = self.at, r"[^\S\n]*"
            last_line = rf"^{blanks if mark[1] else ''}{mark[3]}{blanks}$"
            end = re.compile(last_line, re.MULTILINE).search(self.text, start)
            stop = end.start() if end is not None else len(self.text)
            self.at = min(end.end() + 1, len(self.text)) if end is not None else stop
            body = self.text[start:stop].removesuffix("\n") + "\n"
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE) if mark[1] else body
            command.document = Word(body if mark[2] else self.fill(body), self.line(start))
            self.bodies.append(command.document)
            if CREATES.search(command.document.text):
                self.inner.append((command.document.text, self.line(start)))
        self.waiting.clear()


def refuse_unclosed(shell: Shell, notes: Notes) -> None:
    """Report an open quote that hides the command of a script; a sentence with an apostrophe is not a script."""
    if shell.unclosed and AT_MARGIN.search(shell.text):
        message = _("This quote, or one before it, is never closed, so the command cannot be read.")
        notes.error("unclosed_quote", shell.unclosed, message, _("Close the quote."))
