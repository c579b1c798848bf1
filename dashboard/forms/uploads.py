"""What people give to be read: uploads that cannot fill memory or disk, and texts of several files."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile

from jobs.importer import MAX_BYTES, Reading

LIMIT = f"{MAX_BYTES // 2**20} MiB"
"""Of all texts that people paste or upload at once: as much as the importer reads."""
MAX_FILES = 20
HEADING = re.compile(r"^==> (\S[^\n]{0,200}) <==[ \t]*\n", re.MULTILINE)
"""What begins a file in a text of several, as head and tail print it."""
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""The first bytes of a text by its encoding."""
Files = Mapping[str, str]
"""Texts of files by their names."""


class Given(NamedTuple):
    """A text that was given, with the name of its file; "" for a text that was pasted."""

    name: str
    content: str | bytes


def parted(text: str) -> list[Given]:
    """Return the files of a text that has a line `==> name <==` before each; the text itself where it has none."""
    text = text.replace("\r\n", "\n")
    begin, *rest = HEADING.split(text)
    files = [Given(name.strip(), part) for name, part in zip(rest[::2], rest[1::2], strict=True)][:MAX_FILES]
    return ([Given("", begin)] if begin.strip() or not files else []) + files


def joined(given: Sequence[Given]) -> str:
    """Return several texts as one that `parted` takes apart; a single one as it is."""
    if len(given) == 1:
        return as_lines(given[0].content)
    texts = ((each.name, as_lines(each.content)) for each in given)
    # chr(10): before Python 3.12 an expression in an f-string holds no backslash.
    return "".join(
        f"==> {name or 'pasted'} <==\n{text}{'' if text.endswith(chr(10)) else chr(10)}" for name, text in texts
    )


def read_all(given: Sequence[Given], read: Callable[[Given, Files], Reading]) -> list[tuple[Given, Reading]]:
    """Read every text with the others beside it; return those that no other one names, as a script names its config."""
    found = [(each, read(each, _others(given, each))) for each in given]
    named = {name for _, reading in found for name in reading.used_files}
    return [(each, reading) for each, reading in found if each.name not in named] or found


def _others(given: Sequence[Given], reader: Given) -> Files:
    """Return the other texts by name; of files with the same name it is not known which one is meant."""
    others = [each for each in given if each is not reader]
    counts = Counter(each.name for each in others)
    return {each.name: as_lines(each.content) for each in others if counts[each.name] == 1}


def as_lines(given: str | bytes) -> str:
    """Return what was given as text with `\\n` at line ends, its lines counted as `jobs.importer` counts them."""
    if isinstance(given, bytes):
        encoding = next((name for mark, name in MARKS if given.startswith(mark)), "utf-8")
        given = given.decode(encoding, errors="replace")
    return given.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


class FirstBytes(FileUploadHandler):
    """Keeps one byte more than MAX_BYTES of the first MAX_FILES files, so that too much is recognized."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: BytesIO | None = None
        self.files = self.size = 0

    def new_file(self, *args: Any, **options: Any) -> None:
        """Begin a file; skip those that are too many."""
        super().new_file(*args, **options)
        self.files += 1
        if self.files > MAX_FILES:
            raise SkipFile
        self.kept = BytesIO()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Keep what still has room."""
        del start
        assert self.kept is not None
        part = raw_data[: max(0, MAX_BYTES + 1 - self.size)]
        self.size += len(part)
        self.kept.write(part)  # to return nothing keeps the data from the handlers behind this one

    def file_complete(self, file_size: int) -> InMemoryUploadedFile | None:
        """Return what was kept; `file_size` is what was sent."""
        del file_size
        if self.kept is None:
            return None
        size, kept = self.kept.tell(), self.kept
        kept.seek(0)
        self.kept = None
        return InMemoryUploadedFile(kept, self.field_name, self.file_name or "", None, size, self.charset)
