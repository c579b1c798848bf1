"""Find the failure that ended a job's program in the lines that its replicas wrote.

A program that fails on several processes writes much: each process its own traceback, and those that lose the failed
one complain too. Here each process is read on its own, and of the exceptions that ended a process the first is taken
that is no consequence of another. Rules about causes (`cues`) then see only this failure, never the whole log.

Source of the formats: Python's traceback module; torch.distributed.elastic ("Root Cause (first observed failure)"),
read 2026-11-26.
"""

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from jobs.diagnosis.consequences import follows, is_consequence
from jobs.diagnosis.cues.lines import Line, fold
from jobs.diagnosis.cues.own_words import has_form, is_readable
from jobs.diagnosis.frames import Frame, call_of, frame_of, is_installed, is_of_library, of_user
from jobs.diagnosis.output_lines import TRACEBACK, Output, Text, clean

MAX_LINES = 20
"""Lines of a failure that are kept: its beginning and its end."""
MAX_MORE = 16  # lines after an exception that may belong to its message
MAX_SEEN = 80  # lines in which these are looked for, between frames
MAX_OTHERS = 8
HANDLED_AFTER = 40
"""A process that writes more lines than this after an exception has survived it."""
_EXCEPTION = re.compile(
    r"(?:E\s{1,4})?(?P<name>[A-Za-z_](?:[\w.]{0,200}\w)?)\.?(?:\(\w{1,80}\))?(?::\s?(?P<message>.*))?\Z"
)
_NAMED = re.compile(r"(?:Error|Exception|Interrupt|Exit|Warning)\Z|\.exceptions\.[A-Z]")
_DIRECT, _HANDLING = "The above exception was the direct cause", "During handling of the above exception"
_SPAWNED = "terminated with the following error"
_BEGINS = re.compile(rf".{{0,200}}?{re.escape(TRACEBACK)}|ray::")
_NESTED = re.compile(r"Original Traceback |Traceback [^:]{1,40}: \(RANK ")
_ROOT_CAUSE = "Root Cause (first observed failure)"
_RANK_FIELD = re.compile(r"\s*rank\s*:\s*(\d{1,6})")
_QUIET = frozenset({"DEBUG", "INFO", "WARNING", "WARN", "I", "W"})
_FATAL = re.compile(
    r"Fatal Python error: |terminate called after throwing|Segmentation fault|Bus error|Illegal instruction|Aborted\b"
    r"|Killed\b|panic: |\*\*\* (?:SIG|stack|buffer)|double free|corrupted (?:size|double)|Check failed: "
    r"|KALDI_ASSERT|ASSERTION_FAILED "
    r"|\w{4,20}\(\): (?:invalid|corrupted|mismatching|unaligned)|(?:/\S{1,80}/)?(?:ba|da|z)?sh: "
    r"|\S{1,80}: error: |\S{1,80}: line \d{1,6}: +\d{1,9} Killed "
    r"|(?!.{0,300} block: \[).{1,300}: Assertion .{1,300} failed\.?\Z"
)
_UNTOLD = re.compile(
    r"\s*(?:\Z|[=-]{8}|Exception ignored |Process \S{1,80}:|Detected at |Node: |File |<stack traces|\[\["
    r"|The above |During handling |\d+ root error|From /job:)"
)
_MEANINGFUL = re.compile(
    r"abort|fatal|diverg|\bnan\b|\bis inf\b|non-?finite|exiting|giving up|fail|error|not found|no such|no module|killed"
    r"|denied|cannot|can't|could not|couldn't|unable|invalid|missing|mismatch|unknown|unsupported|unbound|point exc",
    re.IGNORECASE,
)
_STACK = re.compile(
    r"\s*(?:\[(?:0x|bt\]|call stack)|@ +0x|#\d|stack trace|(?:\w{1,80}::)+~?\w{1,80}(?:[<(]|\Z)"
    r"|\S{1,200}\(\S{0,200}\) ?\[0x|\[C\]: |\S{1,200}:\d{1,7}: in (?:main chunk|function))",
    re.IGNORECASE,
)
_WHAT = re.compile(r"terminate called after throwing an instance of '([\w:]{1,200})'")
_SHUTDOWN = re.compile(r".{0,200}(?:Exception ignored in|Error in (?:atexit|sys\.excepthook))")
_RULER = re.compile(r"\W*\Z")


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """The failure that ended a program.

    `exception` is its name with its module, "" if the program ended without one; `message` is then its last meaningful
    line. `file` and `line` are the innermost frame of the user's code, "" and 0 if none is shown. `lines` are at most
    MAX_LINES that show it, and `key` is that of the first. `is_certain` means that the exception ended its process.
    `others` are the processes that failed after it, in their order.
    """

    exception: str
    message: str
    file: str = ""
    line: int = 0
    replica: str = ""
    rank: int | None = None
    lines: tuple[str, ...] = ()
    key: int = 0
    is_certain: bool = True
    others: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The exception as Python writes it, or the last meaningful line."""
        name = self.exception.rpartition(".")[2] if self.exception else ""
        return ": ".join(filter(None, (name, self.message)))

    @property
    def place(self) -> str:
        """File name and line, such as "model.py:19", or ""."""
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else ""


@dataclass(slots=True)
class _Found:
    """A failure in the lines of one process; `cues` are the lines of it that a rule about causes may read."""

    record: FailureRecord
    first: Text
    until: int
    cues: list[str] = field(default_factory=list)
    is_consequence: bool = False


def find_failure(output: Sequence[Output]) -> tuple[FailureRecord, list[Line]] | None:
    """Return the failure that ended a program, and its lines for `cues`; None if the output shows nothing.

    `output` are the lines of one attempt of all its replicas, in order of time.
    """
    texts = list(clean(output))
    root = _root_rank(texts)
    processes: dict[tuple[str, str], list[Text]] = {}
    for text in _before_restarts(texts):
        processes.setdefault(text.process, []).append(text)
    ends = [end for lines in processes.values() if (end := _end_of(lines)) is not None]
    ends = list(_without_survived(sorted(ends, key=lambda end: end.first.order), processes))
    if not ends:
        return _last_words(texts)
    causes = [end for end in ends if not end.is_consequence] or ends
    of_root = [end for end in causes if root is not None and end.record.rank == root]
    first = (of_root or causes)[0]
    others = [" ".join(filter(None, end.first.process)) for end in ends if end is not first]
    rank = root if all(end.record.rank is None for end in causes) else first.record.rank
    record = replace(first.record, rank=rank, others=tuple(dict.fromkeys(others))[:MAX_OTHERS])
    has_run = any(each.order < first.first.order and each.process[0] == record.replica for each in texts)
    faults = [each.text for each in texts if "NVRM: Xid" in each.text] if "CUDA error" in record.words else []
    clues = [Line(text, folded) for text in [*first.cues, *faults] if (folded := fold(text))]
    # A program that wrote before is not built for another processor.
    return record, [each for each in clues if not (has_run and "illegal instruction" in each.folded)]


def _without_survived(ends: list[_Found], processes: dict[tuple[str, str], list[Text]]) -> Iterator[_Found]:
    """Yield the failures, which are in order, without those that the process that failed last outlived for long."""
    last = {end.first.process[0]: end.first for end in ends}
    for end in ends:
        final = last[end.first.process[0]]
        orders = [each.order for each in processes[final.process]]
        if bisect(orders, final.order) - bisect(orders, end.first.order) <= HANDLED_AFTER:
            yield end


def _root_rank(texts: Sequence[Text]) -> int | None:
    """Return the rank that torchrun names as the first that failed, None if it names none."""
    at = next((place for place, each in enumerate(texts) if _ROOT_CAUSE in each.text), None)
    found = (_RANK_FIELD.match(each.text) for each in texts[at : at + 10]) if at is not None else ()
    return next((int(match[1]) for match in found if match), None)


def _before_restarts(texts: Sequence[Text]) -> Iterator[Text]:
    """Yield the lines of each replica until its container starts again: then its first two lines are repeated."""
    began: dict[str, list[str]] = {}
    last: dict[str, str] = {}
    has_failed, is_over = set[str](), set[str]()
    for each in texts:
        replica = each.process[0]
        if not _RULER.match(each.text):
            first = began.setdefault(replica, [])
            if len(first) < 2:
                first.append(each.text)
            elif replica in has_failed and first == [last[replica], each.text] and TRACEBACK not in first[0]:
                is_over.add(replica)
            last[replica] = each.text
        if TRACEBACK in each.text or _exception_of(each.text) is not None:
            has_failed.add(replica)
        if replica not in is_over:
            yield each


def _end_of(lines: Sequence[Text]) -> _Found | None:
    """Return the failure that ended a process: its last one, or the last before its consequences."""
    found = list(_failures(lines))
    survived = len(lines) - HANDLED_AFTER
    found = [each for each in found if each.until >= survived or each is found[-1]]
    if not found:
        return None
    causes = [each for each in found if not each.is_consequence]
    end = causes[-1] if causes else found[0]
    aborted = end.record.exception.count("::") and len(causes) > 1 and end.until - 10 <= causes[-2].until
    end = causes[-2] if aborted and causes[-2].record.file else end  # its traceback comes before
    end.is_consequence = end.is_consequence and is_consequence(end.record.words)
    if end.record.exception and (not end.record.file or is_of_library(end.record.file)):
        # The user's code is shown by the same failure elsewhere, or by what follows from it.
        later = found[found.index(end) :]
        others = [each.record for each in found if each in later or each.record.words == end.record.words]
        places = [(each.file, each.line) for each in others if each.file and not is_of_library(each.file)]
        file, line = (places or [(end.record.file, end.record.line)])[0]
        end.record = replace(end.record, file=file, line=line)
    elif not causes and not end.record.exception:  # what was written before a process aborted
        written = [at for at in range(max(end.until - 40, 0), end.until - 1) if _has_meaning(lines[at])]
        written = [at for at in written if not is_consequence(lines[at].text)]
        end = replace(_plain(lines, written[-1]), is_consequence=True) if written else end
    if end.until < survived:
        meaningful = [at for at in range(end.until, len(lines)) if _has_meaning(lines[at])]
        if meaningful:
            return _plain(lines, meaningful[-1])
        end.record = replace(end.record, is_certain=False)
    return end


def _failures(lines: Sequence[Text]) -> Iterator[_Found]:
    """Yield the failures in the lines of one process, in order. Chained tracebacks are one."""
    place = 0
    while place < len(lines):
        each = lines[place]
        if (is_whole := TRACEBACK in each.text) or frame_of(each.text) is not None:  # its first lines may be lost
            found = _traceback(lines, place if is_whole else place - 1)
            place = found.until
            if (is_whole and (found.record.words or found.record.file)) or _NAMED.search(found.record.exception):
                yield found
        elif each.level not in _QUIET and (named := _exception_of(each.text)) is not None:
            yield _plain(lines, place, *named)
            place += 1
        elif each.level == "F" or _FATAL.match(each.text):
            yield _plain(lines, place)
            place += 1
        else:
            place += 1


def _exception_of(text: str) -> tuple[str, str] | None:
    """Return name and message of a line that reports an exception outside a traceback, else None."""
    found = _EXCEPTION.match(text)
    if found is None or not _NAMED.search(found["name"]) or found["name"].endswith("Warning"):
        return None
    if found["name"][0].islower() and "." not in found["name"]:  # a part of a message, as NCCL's ncclSystemError
        return None
    return (found["name"], found["message"] or "") if found["name"] not in {"Error", "Exception"} else None


def _plain(lines: Sequence[Text], at: int, name: str = "", message: str = "") -> _Found:
    """Return a failure that is one line, with the lines before it."""
    each, near = lines[at], tuple(other.text for other in lines[max(at - 5, 0) : at + 5])
    words = each.text.strip()
    if (thrown := _WHAT.match(words)) is not None:
        what = next((other.text.strip() for other in lines[at + 1 : at + 4] if "what():" in other.text), "")
        name, message = thrown[1], what.partition("what():")[2].strip()
    record = FailureRecord(name, message if name else words, is_certain=bool(name))
    calls = (call_of(other.text) for other in lines[at + 1 : at + 60]) if name else ()
    if (call := next(filter(None, calls), None)) is not None:
        record = replace(record, file=call[0], line=call[1])
    if not name or name == "SyntaxError":  # their place is in the lines around them
        around = [other.text for other in lines[max(at - 5, 0) : at + 60]]
        current = next((place for place, text in enumerate(around) if text.startswith("Current thread")), None)
        near = tuple(around[current : current + 5]) if current is not None and words.startswith("Fatal Py") else near
        frames = [frame for text in near if (frame := frame_of(text)) is not None]
        file, number = (of_user(frames) or [("", 0)])[0]
        record = replace(record, file=file, line=number)
    record = replace(record, replica=each.process[0], rank=each.rank, lines=near, key=each.key)
    is_late = at > 0 and _SHUTDOWN.match(lines[at - 1].text) is not None
    cues = [words, *_more(lines, at + 1)] if name and not thrown else [other.text for other in lines[at : at + 3]]
    cues = cues if thrown or is_readable(name, words) else list(filter(has_form, cues))
    return _Found(record, each, at + 1, cues, is_consequence=follows(f"{words} {message}") or is_late)


def has_reason(words: str) -> bool:
    """Return whether the last words of a process without an exception have the reason why it ended."""
    return (_FATAL.match(words) or _MEANINGFUL.search(words)) is not None and not is_consequence(words)


def _traceback(lines: Sequence[Text], start: int) -> _Found:
    """Return the failure of a traceback, with those that are chained to it.

    Of an exception raised `from` another, the other is the cause. An exception raised while another was handled is a
    new failure, and ends the program.
    """
    place, link = start, ""
    cause: tuple[str, str, str] | None = None
    chain: list[tuple[str, bool]] = []
    frames, outer = list[Frame](), list[Frame]()
    while True:
        own, place, name, message = _block(lines, place)
        words = ": ".join(filter(None, (name, message)))
        chain.append((words, is_readable(name, words, is_of_library=is_installed(own))))
        if cause is None or link != _DIRECT or is_consequence(cause[2]):
            frames, cause = own, (name, message, words)
        else:
            frames = own + frames
        if place < len(lines) and frame_of(lines[place].text) is not None:  # Ray: the traceback of the task itself
            place, link = place - 1, _DIRECT
            cause, outer, frames = None, outer + frames, []
            continue
        is_first = True
        while place < len(lines) and _NESTED.match(lines[place].text):  # of a data loader's worker, or of each rank
            inner, place, name, message = _block(lines, place)
            words = ": ".join(filter(None, (name, message)))
            chain.append((words, is_readable(name, words, is_of_library=is_installed(inner))))
            if is_first:
                outer, frames, cause, is_first = outer + frames, inner, (name, message, words), False
        after = place
        while after < len(lines) and after < place + 6 and lines[after].text.strip() in ("", '"""'):
            after += 1
        link = next(
            (each for each in (_DIRECT, _HANDLING, _SPAWNED) if after < len(lines) and each in lines[after].text), ""
        )
        following = next((at for at in range(after, min(after + 4, len(lines))) if _BEGINS.match(lines[at].text)), None)
        if not link or following is None:
            break
        place = following
    name, message, words = cause
    file, number = (of_user(outer + frames) or [("", 0)])[-1]
    shown = [each.text for each in lines[start:place] if each.text.strip()]
    shown = shown if len(shown) <= MAX_LINES else [*shown[:2], "...", *shown[3 - MAX_LINES :]]
    first = lines[start]
    record = FailureRecord(name, message, file, number, first.process[0], first.rank, tuple(shown), first.key)
    is_of_pipe = bool(frames) and frames[-1][0].endswith("multiprocessing/connection.py")  # to a process of its own
    own_words = {each for each, is_clue in chain if is_of_pipe or not is_clue}
    cues = [each for each, _is_clue in sorted(chain, key=lambda each: each[0] != words) if each not in own_words]
    more = [each for each in _more(lines, place) if chain[-1][1] or has_form(each)]
    is_late = start > 0 and _SHUTDOWN.match(lines[start - 1].text) is not None
    is_consequent = is_late or is_of_pipe or all(follows(each) for each, _is_clue in chain)
    return _Found(record, first, place, cues + more, is_consequence=is_consequent)


def _block(lines: Sequence[Text], start: int) -> tuple[list[Frame], int, str, str]:
    """Return the frames of a traceback, the place after it, and name and message of its exception."""
    indent = len(lines[start].text) - len(lines[start].text.lstrip()) if TRACEBACK in lines[start].text else 0
    frames, place, code = list[Frame](), start + 1, 0
    while place < len(lines):
        text = lines[place].text
        if text[:3] == "│ /" and place + 1 < len(lines):  # a box breaks long paths
            text = text.rstrip("│ ") + lines[place + 1].text.lstrip("│ ")
        depth = len(text) - len(text.lstrip())
        if (frame := frame_of(text)) is not None:
            frames.append(frame)
            code = place + 1 if depth <= indent else 0  # a log may have lost all indentation
        elif not _RULER.match(text) and depth <= indent and text[:1] not in "│╰" and place != code:
            break
        place += 1
    if place == len(lines):
        return frames, place, "", ""
    found = _EXCEPTION.match(lines[place].text.strip())
    name, message = (found["name"], found["message"] or "") if found else ("", lines[place].text.strip())
    place += 1
    if message.endswith(" raised:") and place < len(lines) and _exception_of(lines[place].text) is not None:
        message, place = f"{message} {lines[place].text.strip()}", place + 1
    if not message or message.endswith((":", " root error(s) found.")):
        following = [text.strip() for text in _more(lines, place) if text.strip() not in ("", '"""')]
        more = next((text for text in following if not _UNTOLD.match(text)), next(iter(following), ""))
        message = f"{message} {more}".strip()
    return frames, place, name, message


def _has_meaning(line: Text) -> bool:
    is_loud = line.level not in _QUIET and _STACK.match(line.text) is None
    return is_loud and _MEANINGFUL.search(line.text) is not None


def _more(lines: Sequence[Text], start: int) -> list[str]:
    """Return the lines after an exception that belong to its message, as far as can be seen, without frames."""
    found, is_code = list[str](), False
    for each in lines[start : start + MAX_SEEN]:
        if each.level or TRACEBACK in each.text or _exception_of(each.text) is not None or len(found) == MAX_MORE:
            break
        is_frame = frame_of(each.text) is not None
        found += [] if is_frame or is_code else [each.text]
        is_code = is_frame
    return found


def _last_words(texts: Sequence[Text]) -> tuple[FailureRecord, list[Line]] | None:
    """Return the last line that has a meaning, if no process ended with an exception."""
    loud = [at for at, each in enumerate(texts) if each.level not in _QUIET and not _RULER.match(each.text)]
    loud = [at for at in loud if not _STACK.match(texts[at].text)] or loud
    meaningful = [at for at in loud[-MAX_LINES:] if texts[at].level or _MEANINGFUL.search(texts[at].text)]
    if not loud:
        return None
    record = _plain(texts, (meaningful or loud)[-1]).record
    last = [texts[at].text for at in meaningful[-3:] or loud[-3:]]
    return record, [Line(text, folded) for text in last if (folded := fold(text))]
