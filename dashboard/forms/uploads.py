"""Uploads that cannot fill memory or disk, and texts that contain several files."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile

from jobs.importer import MAX_BYTES, Reading

LIMIT = f"{MAX_BYTES // 2**20} MiB"
"""Maximum size of all texts that are pasted or uploaded at once, the same as in the importer."""
MAX_FILES = 20
HEADING = re.compile(r"^==> (\S[^\n]{0,200}) <==[ \t]*\n", re.MULTILINE)
"""The heading of a file in a text of several files, as head and tail print it."""
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""Byte order marks and the encodings of texts that begin with them."""
Files = Mapping[str, str]
"""Texts of files by name."""


class Given(NamedTuple):
    """A text with the name of its file, "" for a pasted text."""

    name: str
    content: str | bytes


def parted(text: str) -> list[Given]:
    """Return the files of a text that has a line `==> name <==` before each. Return the whole text if it has none."""
    text = text.replace("\r\n", "\n")
    begin, *rest = HEADING.split(text)
    files = [Given(name.strip(), part) for name, part in zip(rest[::2], rest[1::2], strict=True)][:MAX_FILES]
    return ([Given("", begin)] if begin.strip() or not files else []) + files


def joined(given: Sequence[Given]) -> str:
    """Return several texts as one that `parted` can split. Return a single text unchanged."""
    if len(given) == 1:
        return as_lines(given[0].content)
    texts = ((each.name, as_lines(each.content)) for each in given)
    # chr(10): before Python 3.12 an expression in an f-string cannot contain a backslash.
    return "".join(
        f"==> {name or 'pasted'} <==\n{text}{'' if text.endswith(chr(10)) else chr(10)}" for name, text in texts
    )


def read_all(given: Sequence[Given], read: Callable[[Given, Files], Reading]) -> list[tuple[Given, Reading]]:
    """Read every text with access to the others. Return those that no other one uses, as a script uses its config."""
    found = [(each, read(each, _others(given, each))) for each in given]
    named = {name for _, reading in found for name in reading.used_files}
    return [(each, reading) for each, reading in found if each.name not in named] or found


def _others(given: Sequence[Given], reader: Given) -> Files:
    """Return the other texts by name. Files that share a name are omitted, because it is unclear which one is meant."""
    others = [each for each in given if each is not reader]
    counts = Counter(each.name for each in others)
    return {each.name: as_lines(each.content) for each in others if counts[each.name] == 1}


def as_lines(given: str | bytes) -> str:
    """Return the input as text with `\\n` as line end, so that lines are counted as `jobs.importer` counts them."""
    if isinstance(given, bytes):
        encoding = next((name for mark, name in MARKS if given.startswith(mark)), "utf-8")
        given = given.decode(encoding, errors="replace")
    return given.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


class FirstBytes(FileUploadHandler):
    """Keeps MAX_BYTES plus one byte of the first MAX_FILES files, so that an excess can be detected."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: BytesIO | None = None
        self.files = self.size = 0

    def new_file(self, *args: Any, **options: Any) -> None:
        """Start a file. Skip files beyond the maximum."""
        super().new_file(*args, **options)
        self.files += 1
        if self.files > MAX_FILES:
            raise SkipFile
        self.kept = BytesIO()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Keep the part that still fits."""
        del start
        assert self.kept is not None
        part = raw_data[: max(0, MAX_BYTES + 1 - self.size)]
        self.size += len(part)
        self.kept.write(part)  # returning None keeps the data from later handlers

    def file_complete(self, file_size: int) -> InMemoryUploadedFile | None:
        """Return the kept data. `file_size` is the size that was sent."""
        del file_size
        if self.kept is None:
            return None
        size, kept = self.kept.tell(), self.kept
        kept.seek(0)
        self.kept = None
        return InMemoryUploadedFile(kept, self.field_name, self.file_name or "", None, size, self.charset)
