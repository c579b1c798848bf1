"""Shell text to commands and their words, as a shell would split them, without running anything.

Known variables are put in, unknown ones stay as holes; here-documents are kept with their lines. Source: POSIX, "Shell
Command Language", 2.7 Redirection and 2.9 Shell Commands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.convert.commands.shell_words import CONTINUED, HOLE, Word, Words
from jobs.convert.texts.nodes import Notes

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2")
NEXT_FLAG = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)+(?=[ \t]*--[a-z])")
REDIRECT = re.compile(r"[<>&|]+[ \t]*")
ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
NUMBERED = re.compile(r"[0-9]+(?=[<>])")
CREATES = re.compile(r"gcloud\b[^\n]*\bai\b[^\n]*\bcreate\b")
AT_MARGIN = re.compile(r"^[ \t]*gcloud[ \t][^\n]*[ \t](?:custom-jobs|hp-tuning-jobs)[ \t]+create\b", re.MULTILINE)
SETTERS = frozenset({"export", "declare", "readonly", "local", "set", "env"})
SHOWING = frozenset({"echo", "printf"})
LONGEST_VALUE = 200_000
MOST_WORDS = 20_000
MOST_INNER = 20
DEEPEST = 3


@dataclass
class Command:
    """Words up to the end of a command, the here-document it was given, and the file that it writes."""

    words: list[Word] = field(default_factory=list)
    document: Word | None = None
    target: str = ""


class Shell(Words):
    """Walks through a text once. `documents` are here-documents that commands wrote into files, `bodies` are all."""

    def __init__(self, text: str, first_line: int = 1, depth: int = 0) -> None:
        super().__init__(text, first_line)
        self.depth = depth
        self.documents: dict[str, Word] = {}
        self.bodies: list[Word] = []
        self.waiting: list[tuple[str, bool, bool]] = []
        self.arrays: dict[str, list[Word]] = {}
        self.piped: Word | None = None
        self.taken = 0

    def commands(self) -> Iterator[Command]:
        """Yield the commands in order; assignments before a command change the variables of what follows."""
        command = Command()
        while self.at < len(self.text) and self.taken < MOST_WORDS:
            if self._step(command):
                yield from self._finish(command)
                command = Command()
        yield from self._finish(command)
        for text, line in self.inner[:MOST_INNER] if self.depth < DEEPEST else []:
            inside = Shell(text, line, self.depth + 1)
            inside.variables, inside.arrays = self.variables, self.arrays
            yield from inside.commands()

    def _finish(self, command: Command) -> Iterator[Command]:
        if command.document is not None and command.target:
            self.documents[command.target] = command.document
        elif command.target and (written := self._shown(command)) is not None:
            self.documents[command.target] = written
        while command.words:
            word = command.words[0]
            found = ASSIGNMENT.fullmatch(word.text)
            if found is None and word.text not in SETTERS:
                break
            if found is not None:
                self.variables[found[1]] = found[2][:LONGEST_VALUE]
            command.words.pop(0)
        if command.words:
            yield command

    def _shown(self, command: Command) -> Word | None:
        """Return the text that echo or printf puts out."""
        if len(command.words) < 2 or command.words[0].text not in SHOWING:
            return None
        word = command.words[-1]
        return Word(word.text, self.begun.get(word.text, word.line))

    def _step(self, command: Command) -> bool:
        """Take what comes next; tell whether it ends the command."""
        text, at = self.text, self.at
        sign = text[at]
        if found := CONTINUED.match(text, at):
            self.at = found.end()
        elif sign == "\n":
            return self._newline(command)
        elif sign in " \t":
            self.at += 1
        elif sign == "#":
            self.at = self._line_end(at)
        elif found := HEREDOC.match(text, at):
            self.waiting.append((found[3], bool(found[1]), bool(found[2])))
            self.at = found.end()
        elif sign == "(" and command.words and text[at - 1] == "=" and not self._array(command.words[-1].text):
            command.words.pop()
        elif sign in ";&|()":
            self.piped = self._shown(command) if sign == "|" else None
            self.at += 1
            return True
        elif sign in "<>" and not HOLE.match(text, at):
            self._redirect(command)
        elif found := NUMBERED.match(text, at):
            self.at = found.end()
        else:
            self._word(command)
        return False

    def _word(self, command: Command) -> None:
        """Take a word; `"${NAME[@]}"` stands for the words of an array that the text gives."""
        self.taken += 1
        command.document, self.piped = command.document or self.piped, None
        word = self.word()
        found = ARRAY.fullmatch(word.text)
        if found and found[1] in self.arrays and not (command.words and command.words[0].text in SHOWING):
            command.words.extend(self.arrays[found[1]])
            self.taken += len(self.arrays[found[1]])
        else:
            command.words.append(word)

    def _array(self, start: str) -> bool:
        """Keep the words of NAME=(...) or NAME+=(...) at the place; tell whether it is something else."""
        found = ASSIGNMENT.fullmatch(start)
        if found is None or found[2]:
            return True
        held = Command()
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != ")" and self.taken < MOST_WORDS:
            if self.text[self.at] == "#":
                self.at = self._line_end(self.at)
            elif self.text[self.at] in " \t\n;&|(<>" and not HOLE.match(self.text, self.at):
                self.at += 1
            elif found_end := CONTINUED.match(self.text, self.at):
                self.at = found_end.end()
            else:
                self._word(held)
        self.at += 1
        before = self.arrays.get(found[1], []) if start.endswith("+=") else []
        self.arrays[found[1]] = before + held.words
        return False

    def _newline(self, command: Command) -> bool:
        """Step over the end of a line; a flag that begins the next line continues the command all the same."""
        at = self.at
        self.at += 1
        if self.waiting:
            self._documents(command)
        elif command.words and (found := NEXT_FLAG.match(self.text, at)):
            self.at = found.end()
            return False
        return True

    def _redirect(self, command: Command) -> None:
        found = REDIRECT.match(self.text, self.at)
        self.at = found.end() if found else self.at + 1
        if self.at < len(self.text) and self.text[self.at] not in "\n;|()":
            word = self.word()
            if found and found[0].startswith("<<<"):
                command.document = Word(word.text, self.begun.get(word.text, word.line))
            else:
                command.target = command.target or word.text.removeprefix("./")

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _documents(self, command: Command) -> None:
        for mark, stripped, literal in self.waiting:
            start = self.at
            lines: list[str] = []
            while self.at < len(self.text):
                end = self._line_end(self.at)
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip() if stripped else line).rstrip() == mark:
                    break
                lines.append(line.lstrip("\t") if stripped else line)
            body = "\n".join(lines) + "\n"
            if not literal:
                body = self.filled(body)
            command.document = Word(body, self.line(start))
            self.bodies.append(command.document)
            if CREATES.search(body):
                self.inner.append((body, self.line(start)))
        self.waiting.clear()


def tell_unclosed(shell: Shell, notes: Notes) -> None:
    """Say that an open quote hides the command of a script; a sentence with an apostrophe is no script."""
    if shell.unclosed and AT_MARGIN.search(shell.text):
        message = "A quote is open from here to the end, so that the command is no command: this one or one before it."
        notes.refuse("unclosed_quote", shell.unclosed, message, "Close the quote.")
