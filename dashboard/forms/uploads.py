"""Uploads that cannot fill memory or disk: only the beginning of one file is kept."""

from io import BytesIO
from typing import Any

from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile

MOST_BYTES = 1024 * 1024
"""Bytes of a text that people may paste or upload."""


class FirstBytes(FileUploadHandler):
    """Keeps at most one byte more than MOST_BYTES of the first file, so that a larger one can be told from it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.kept: BytesIO | None = None

    def new_file(self, *args: Any, **options: Any) -> None:
        """Begin the first file; skip every other."""
        super().new_file(*args, **options)
        if self.kept is not None:
            raise SkipFile
        self.kept = BytesIO()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Keep what still has room; `start` is the chunk's place in the file."""
        assert self.kept is not None
        self.kept.write(raw_data[: max(0, MOST_BYTES + 1 - start)])

    def file_complete(self, file_size: int) -> InMemoryUploadedFile | None:
        """Return what was kept; `file_size` is what was sent."""
        del file_size
        if self.kept is None:
            return None
        size = self.kept.tell()
        self.kept.seek(0)
        return InMemoryUploadedFile(self.kept, self.field_name, self.file_name or "", None, size, self.charset)
