"""Parse shell text to commands and their words, as a shell would split them, without running anything.

Known variables are replaced by their values, unknown ones become placeholders, and here-documents are kept with their
lines. Source: POSIX, "Shell Command Language", 2.7 Redirection and 2.9 Shell Commands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.importer.nodes import Notes
from jobs.importer.syntax.shell_blocks import BEFORE_COMMAND, Blocks
from jobs.importer.syntax.shell_words import CONTINUED, PLACEHOLDER, Word, Words
from jobs.texts import translatable as _

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2")
NEXT_FLAG = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)+(?=[ \t]*--[a-z])")
REDIRECT = re.compile(r"[<>&|]+[ \t]*")
PASSED = re.compile(r"[ \t]+|#[^\n]*|[0-9]+(?=[<>])")
"""Skipped parts: spaces, comments, and the number of a redirected file descriptor."""
IN_ARRAY = re.compile(r"[ \t\n;&|(<>]|#[^\n]*")
ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
CREATES = re.compile(r"^(?>[^\n]*?gcloud\b)(?>[^\n]*?\bai\b)[^\n]*\bcreate\b", re.MULTILINE)
AT_MARGIN = re.compile(r"^[ \t]*gcloud[ \t][^\n]*[ \t](?:custom-jobs|hp-tuning-jobs)[ \t]+create\b", re.MULTILINE)
SETTERS = frozenset({"export", "declare", "readonly", "local", "set", "env"})
OUTPUT = frozenset({"echo", "printf"})
REPEATING = frozenset({"xargs", "parallel"})
READERS = frozenset({"read", "unset", "mapfile", "readarray"})
"""Commands after which the variables that they name are unknown."""
TESTS = frozenset({"[", "[[", "test"})
OPERATOR = re.compile(r"&&|\|\||;;|[;&|()]")
ARITHMETIC = re.compile(r"\(\(([^\n]*?)\)\)")
STDIN = ("-", "/dev/stdin", "")
MAX_VALUE, MAX_WORDS, MAX_INNER, MAX_DEPTH = 200_000, 20_000, 20, 3


@dataclass
class Command:
    """The words of a command, its here-document, and the file that it writes.

    `loop` is the line of the loop that repeats it, or 0; `doubtful` a line that changes its words in a branch, or 0.
    """

    words: list[Word] = field(default_factory=list)
    document: Word | None = None
    target: str = ""
    loop: int = 0
    doubtful: int = 0
    is_conditional: bool = False

    def is_output(self) -> bool:
        """Return whether the command is echo or printf."""
        return bool(self.words) and self.words[0].text in OUTPUT

    def is_test(self) -> bool:
        """Return whether the command only tests something, so that what follows it after && depends on that."""
        return bool(self.words) and self.words[0].text in TESTS


class Shell(Words):
    """Reads the commands of a text. `bodies` are all here-documents, `documents` those written into files."""

    def __init__(self, text: str, first_line: int = 1, depth: int = 0) -> None:
        super().__init__(text, first_line)
        self.depth = depth
        self.blocks = Blocks(self.variables)
        self.documents: dict[str, Word] = {}
        self.bodies: list[Word] = []
        self.waiting: list[re.Match[str]] = []
        self.arrays: dict[str, list[Word]] = {}
        self.piped: Word | None = None
        self.taken = self.inner_read = 0
        self.doubtful: dict[str, int] = {}

    def file(self, name: str, given: Word | None) -> Word | None:
        """Return the text of a file: the input `given` to a command, or what the text itself writes into the file."""
        return given if given is not None and name in STDIN else self.documents.get(name.removeprefix("./"))

    def commands(self) -> Iterator[Command]:
        """Yield the commands in order; assignments before a command change variables for what follows."""
        command = Command()
        while self.at < len(self.text) and self.taken < MAX_WORDS:
            if (end := self._step(command)) is not None:
                is_conditional = end == "||" or (end == "&&" and command.is_test())
                yield from self._finish(command)
                if end == ";;":
                    self.blocks.end_branch()
                command = Command(is_conditional=is_conditional)
        yield from self._finish(command)

    def _finish(self, command: Command) -> Iterator[Command]:
        written = command.document or self._output(command)
        if command.target and written is not None:
            self.documents[command.target] = written
        while command.words:
            words = [word.text for word in command.words[:3]]
            setting = ASSIGNMENT.fullmatch(words[0])
            if setting is not None:
                name, plus, value = setting.groups()
                before = self.variables.get(name, f"${{{name}}}") if plus else ""
                self.blocks.assign(name, f"{before}{value}"[:MAX_VALUE], is_conditional=command.is_conditional)
            elif words[0] in READERS:
                for name in filter(str.isidentifier, (word.text for word in command.words[1:])):
                    self.blocks.assign(name, None)
            elif words[0] not in SETTERS:
                self.blocks.read(words, command.words[0].line)
                command.loop = self.blocks.loop
                yield command
                break
            command.words.pop(0)
        yield from self._inner()

    def _inner(self) -> Iterator[Command]:
        """Yield the commands inside the substitutions and here-documents that were read since the last call."""
        while self.inner:
            text, line = self.inner.pop(0)
            self.inner_read += 1
            if self.depth < MAX_DEPTH and self.inner_read <= MAX_INNER:
                inside = Shell(text, line, self.depth + 1)
                inside.variables, inside.arrays, inside.blocks = self.variables, self.arrays, self.blocks
                yield from inside.commands()

    def _output(self, command: Command) -> Word | None:
        """Return the text that echo or printf prints."""
        return self._with_line(command.words[-1]) if command.is_output() and len(command.words) > 1 else None

    def _with_line(self, word: Word) -> Word:
        return Word(word.text, self.first_lines.get(word.text, word.line))

    def _step(self, command: Command) -> str | None:
        """Read the next part of the text; return the operator or line end that ends the command, else None."""
        text, at = self.text, self.at
        if (match := CONTINUED.match(text, at)) or (match := PASSED.match(text, at)):
            self.at = match.end()
        elif text[at] == "\n":
            return self._newline(command)
        elif match := HEREDOC.match(text, at):
            self.waiting.append(match)
            self.at = match.end()
        elif text[at] == "(" and command.words and text[at - 1] == "=" and self._array(command):
            command.words.pop()
        elif (match := ARITHMETIC.match(text, at)) and (not command.words or command.words[0].text == "for"):
            self.blocks.change(match[1])
            self.at = match.end()
        elif match := OPERATOR.match(text, at):
            self.piped = self._output(command) if match[0] == "|" else None
            self.at = match.end()
            return match[0]
        elif text[at] in "<>" and not PLACEHOLDER.match(text, at):
            self._redirect(command)
        else:
            self._word(command)
            first = command.words[0] if len(command.words) == 1 else Word("", 0)
            if first.text in BEFORE_COMMAND:  # now, because it decides about values of the next words
                self.blocks.read([first.text], first.line)
                command.words.clear()
        return None

    def _word(self, command: Command) -> None:
        """Read a word; `"${NAME[@]}"` becomes the words of an array defined in the text."""
        command.document, self.piped = command.document or self.piped, None
        word = self.word()
        array = ARRAY.fullmatch(word.text)
        words = self.arrays.get(array[1]) if array and not command.is_output() else None
        command.words.extend([word] if words is None else words)
        command.doubtful = command.doubtful or (self.doubtful.get(array[1], 0) if array else 0)
        self.taken += 1 + len(words or ())

    def _array(self, command: Command) -> bool:
        """Read the words of NAME=(...) or NAME+=(...) at the current position; return False if it is something else."""
        setting = ASSIGNMENT.fullmatch(command.words[-1].text)
        if setting is None or setting[3]:
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
        before = self.arrays.get(setting[1], [])
        if before and (self.blocks.open or command.is_conditional):
            self.doubtful[setting[1]] = self.line(self.at - 1)
        self.arrays[setting[1]] = before + held.words if setting[2] else held.words
        return True

    def _newline(self, command: Command) -> str | None:
        """Read the end of a line; a flag at the beginning of the next line continues the command."""
        at = self.at
        self.at += 1
        if self.waiting:
            self._documents(command)
        elif command.words and (follows := NEXT_FLAG.match(self.text, at)):
            self.at = follows.end()
            return None
        return "\n"

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


def note_repetition(command: Command, notes: Notes) -> None:
    """Add findings for a command that a script runs several times, or with other words under a condition."""
    first = command.words[0]
    if first.text in REPEATING:
        message = _("%(name)s runs this command with words that are not in this text.", name=first.text)
        notes.error("repeated_command", first.line, message, _("Give the command of one job."))
    elif command.loop:
        message = _(
            "A loop in line %(line)s may run this command several times. One job is read; a value that the loop changes"
            " is a placeholder.",
            line=command.loop,
        )
        notes.note("command_in_loop", first.line, message, _("Import the text once for each job."))
    if command.doubtful:
        message = _("A condition decides whether these words belong to the command; they are read.")
        notes.note("conditional_words", command.doubtful, message, _("Check that the job needs them."))


def refuse_unclosed(shell: Shell, notes: Notes) -> None:
    """Report an open quote that hides the command of a script; a sentence with an apostrophe is not a script."""
    if shell.unclosed and AT_MARGIN.search(shell.text):
        message = _("This quote, or one before it, is never closed, so the command cannot be read.")
        notes.error("unclosed_quote", shell.unclosed, message, _("Close the quote."))
