"""Parse shell text to commands and their words, as a shell would split them, without running anything.

Known variables are replaced by their values, unknown ones become placeholders, and here-documents are kept with their
lines. Loops and conditions are not followed: what they change is unknown after them. Source: POSIX, "Shell Command
Language", 2.7 Redirection and 2.9 Shell Commands; bash's manual, "Looping Constructs".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.importer.files import Files
from jobs.importer.nodes import Notes
from jobs.importer.syntax.shell_words import CONTINUED, PLACEHOLDER, Word, Words
from jobs.spec import quoted
from jobs.texts import translatable as _

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2")
NEXT_FLAG = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)+(?=[ \t]*--[a-z])")
REDIRECT = re.compile(r"[<>&|]+[ \t]*")
PASSED = re.compile(r"[\\`^][ \t]*\n|[ \t]+|#[^\n]*|[0-9]+(?=[<>])")
"""Skipped parts: continued lines, spaces, comments, and the number of a redirected file descriptor."""
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
LOOPS = frozenset({"for", "while", "until", "select"})
BEFORE_COMMAND = frozenset({"if", "elif", "else", "then", "do", "while", "until", "!", "{"})
"""Reserved words that a command follows without a separator."""
SETTING = re.compile(r"\b([A-Za-z_]\w*)[ \t]*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)([A-Za-z_]\w*)")
"""A variable that an arithmetic expression changes."""
OPERATOR = re.compile(r"&&|\|\||;;|[;&|()]")
ARITHMETIC = re.compile(r"\(\(([^\n]*?)\)\)")
STDIN = ("-", "/dev/stdin", "")
MAX_VALUE, MAX_WORDS, MAX_INNER, MAX_DEPTH, MAX_OPEN = 200_000, 20_000, 20, 3, 50


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

    def begins_with(self, names: frozenset[str]) -> bool:
        """Return whether the first word is one of these."""
        return bool(self.words) and self.words[0].text in names


@dataclass
class Block:
    """A compound command that is not closed yet.

    `line` is where a loop begins, else 0. `before` has the values that variables had before the current branch changed
    them, None if they had none. `outcomes` has the values that each of them may have after the block.
    """

    line: int
    before: dict[str, str | None] = field(default_factory=dict)
    outcomes: dict[str, set[str]] = field(default_factory=dict)


class Blocks:
    """The open blocks of a script and its variables.

    A value that is set in a branch holds until the branch ends. After the block, a variable that may have one of
    several values is unknown: its value is its own name as a placeholder. One without a value before the block keeps
    the only value that the block gives it, because scripts set their defaults so.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self.open: list[Block] = []
        self.too_deep = self.header = 0
        self.is_elif = False

    def assign(self, name: str, value: str | None, *, is_conditional: bool = False) -> None:
        """Set a variable; None makes it unknown, and so does a condition that may leave it another value."""
        old = self.variables.get(name)
        if self.open:
            self.open[-1].before.setdefault(name, old)
        possible = {each for each in (value, old if is_conditional else None) if each is not None}
        self.variables[name] = one_of(name, possible) if value is not None else f"${{{name}}}"

    def read(self, words: list[str], line: int) -> None:
        """Open, change or close a block for a reserved word that may begin a command, and the two words after it."""
        first = words[0].lstrip("@-+")
        if first in LOOPS:
            self.header = line
            if first in ("for", "select") and len(words) > 1 and words[1].isidentifier():
                self.assign(words[1], None)
        elif first == "then" or (first == "do" and self.header) or (first == "case" and words[2:] == ["in"]):
            if self.is_elif and first != "case":
                pass  # the block is open already
            elif len(self.open) < MAX_OPEN:
                self.open.append(Block(self.header if first == "do" else 0))
            else:
                self.too_deep += 1
            self.header, self.is_elif = (self.header, self.is_elif) if first == "case" else (0, False)
        elif first in ("else", "elif"):
            self.is_elif = first == "elif"
            self.end_branch()
        elif first in ("fi", "done", "esac") and self.too_deep:
            self.too_deep -= 1
        elif first in ("fi", "done", "esac") and self.open:
            self.end_branch()
            for name, possible in self.open.pop().outcomes.items():
                self.assign(name, one_of(name, possible))

    def end_branch(self) -> None:
        """End a branch of the innermost block: its variables have the values from before it again."""
        if not self.open or self.too_deep:
            return
        block = self.open[-1]
        for name, old in block.before.items():
            possible = block.outcomes.setdefault(name, set() if old is None else {old})
            possible.add(self.variables.pop(name))
            if old is not None:
                self.variables[name] = old
        block.before.clear()


def one_of(name: str, possible: set[str]) -> str:
    """Return a value that is one of several; what all begin with is known, as where a condition appends to it."""
    least = min(possible, key=len)
    if possible == {least}:
        return least
    is_appended = bool(least) and all(each.startswith((f"{least},", f"{least} ")) for each in possible - {least})
    mark = max(possible, key=len)[len(least)] if is_appended else ""
    return f"{least if is_appended else ''}{mark}${{{name}}}"


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

    def file(self, name: Word, given: Word | None, files: Files, notes: Notes, remedy: str) -> Word | None:
        """Return the text of a file: the input `given` to a command, or what the text itself writes into the file.

        One of the other `files` is on line 0. Add an error with a remedy if it is missing.
        """
        found = given if name.text in STDIN else None
        if (found := found or self.documents.get(name.text.removeprefix("./"))) is not None:
            return found
        if (text := files.get(name.text)) is not None:
            return Word(text, 0)
        message = _("The job itself is in the file %(name)s, which is not part of this text.", name=quoted(name.text))
        if name.text in STDIN:
            message = _("The job itself comes from another command, which is not part of this text.")
        notes.error("config_elsewhere", name.line, message, remedy)
        return None

    def commands(self) -> Iterator[Command]:
        """Yield the commands in order; assignments before a command change variables for what follows."""
        command = Command()
        while self.at < len(self.text) and self.taken < MAX_WORDS:
            if (end := self._step(command)) is not None:
                is_conditional = end == "||" or (end == "&&" and command.begins_with(TESTS))
                yield from self._finish(command)
                if end == ";;":
                    self.blocks.end_branch()
                command = Command(is_conditional=is_conditional)
        yield from self._finish(command)

    def _finish(self, command: Command) -> Iterator[Command]:
        """Carry out the assignments of a command; yield it, and the commands in its substitutions and documents."""
        written = command.document or self._output(command)
        if command.target and written is not None:
            self.documents[command.target] = written
        while command.words:
            words = [word.text for word in command.words[:3]]
            if (setting := ASSIGNMENT.fullmatch(words[0])) is not None:
                name, plus, value = setting.groups()
                before = self.variables.get(name, f"${{{name}}}") if plus else ""
                self.blocks.assign(name, f"{before}{value}"[:MAX_VALUE], is_conditional=command.is_conditional)
            elif words[0] in READERS:
                for name in filter(str.isidentifier, (word.text for word in command.words[1:])):
                    self.blocks.assign(name, None)
            elif words[0] not in SETTERS:
                self.blocks.read(words, command.words[0].line)
                command.loop = next((block.line for block in reversed(self.blocks.open) if block.line), 0)
                yield command
                break
            command.words.pop(0)
        while self.inner:
            text, line = self.inner.pop(0)
            self.inner_read += 1
            if self.depth < MAX_DEPTH and self.inner_read <= MAX_INNER:
                inside = Shell(text, line, self.depth + 1)
                inside.variables, inside.arrays, inside.blocks = self.variables, self.arrays, self.blocks
                yield from inside.commands()

    def _output(self, command: Command) -> Word | None:
        """Return the text that echo or printf prints."""
        is_output = command.begins_with(OUTPUT) and len(command.words) > 1
        return self._with_line(command.words[-1]) if is_output else None

    def _with_line(self, word: Word) -> Word:
        return Word(word.text, self.first_lines.get(word.text, word.line))

    def _step(self, command: Command) -> str | None:
        """Read the next part of the text; return the operator or line end that ends the command, else None."""
        text, at = self.text, self.at
        if match := PASSED.match(text, at) or HEREDOC.match(text, at):
            self.waiting += [match] if match.re is HEREDOC else []
            self.at = match.end()
        elif text[at] == "\n":
            self.at += 1
            if self.waiting:
                self._documents(command)
            elif command.words and (follows := NEXT_FLAG.match(text, at)):  # it continues the command
                self.at = follows.end()
                return None
            return "\n"
        elif text[at] == "(" and command.words and text[at - 1] == "=" and self._array(command):
            command.words.pop()
        elif (match := ARITHMETIC.match(text, at)) and (not command.words or command.words[0].text == "for"):
            for setting in SETTING.finditer(match[1]):
                self.blocks.assign(setting[1] or setting[2], None)
            self.at = match.end()
        elif match := OPERATOR.match(text, at):
            self.piped = self._output(command) if match[0] == "|" else None
            self.at = match.end()
            return match[0]
        elif text[at] in "<>" and not PLACEHOLDER.match(text, at):
            self._redirect(command)
        else:
            self._word(command)
            if len(command.words) == 1 and command.begins_with(BEFORE_COMMAND):
                # now, because it decides about values of the next words
                self.blocks.read([command.words[0].text], command.words.pop().line)
        return None

    def _word(self, command: Command) -> None:
        """Read a word; `"${NAME[@]}"` becomes the words of an array defined in the text."""
        command.document, self.piped = command.document or self.piped, None
        word = self.word()
        array = ARRAY.fullmatch(word.text)
        words = self.arrays.get(array[1]) if array and not command.begins_with(OUTPUT) else None
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
