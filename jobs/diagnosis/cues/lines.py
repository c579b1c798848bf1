"""Split a message into lines that cues can be matched with."""

import re
from dataclasses import dataclass

_EXCEPTION = re.compile(r"(?:E\s{1,4}|\[rank\d{1,4}\]:\s{0,4})?(?P<name>[A-Za-z_][\w.]{0,200})(?=:|$)")
_ENDINGS = ("error", "exception", "interrupt", "exit")
_CLIENTS = tuple(
    "com.google. google. googleapiclient. grpc. _inactiverpcerror apitools. accessdeniedexception commandexception "
    "badrequestexception".split()
)
_GOOGLE_ENDS = frozenset(
    "badrequest conflict deadlineexceeded failedprecondition forbidden gatewaytimeout internalservererror "
    "invalidargument notfound permissiondenied preconditionfailed resourceexhausted serviceunavailable "
    "toomanyrequests unauthenticated unauthorized alreadyexists aborted outofrange".split()
)
TRACEBACK = "traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it was written, and folded: lowercase, without quotes, single spaces."""

    text: str
    folded: str

    @property
    def exception(self) -> str:
        """The folded name of the Python exception that the line reports, "" if it reports none."""
        found = _EXCEPTION.match(self.text)
        name = found["name"].lower() if found else ""
        last = name.rpartition(".")[2]
        is_error = last.endswith(_ENDINGS) and last not in _ENDINGS
        return name if is_error or last in _GOOGLE_ENDS else ""

    @property
    def is_of_client(self) -> bool:
        """Whether the line reports an exception of a Google client library, which quotes the answer of an API."""
        return self.exception.startswith(_CLIENTS) or self.exception.rpartition(".")[2] in _GOOGLE_ENDS


_QUOTES = {ord(mark): None for mark in "\"'`\u2018\u2019\u201c\u201d\u00b4*"}


def fold(text: str) -> str:
    """Return the text in lowercase, without quotes, with single spaces."""
    return " ".join(text.translate(_QUOTES).lower().split())


def read_lines(message: str) -> list[Line]:
    r"""Return the non-empty lines, each once; line breaks written as "\n" in JSON count too."""
    texts = dict.fromkeys(text.strip() for text in message.replace("\\n", "\n").splitlines())
    return [Line(text, folded) for text in texts if (folded := fold(text))]


def of_service(lines: list[Line]) -> list[Line]:
    """Return the lines that Vertex AI or another Google API may have written, without errors of the program."""
    began = next((at for at, line in enumerate(lines) if TRACEBACK in line.folded), len(lines))
    quoted = [line for line in lines[began:] if line.is_of_client]
    return [line for line in lines[:began] if not line.exception or line.is_of_client] + quoted


def errors(lines: list[Line]) -> list[Line]:
    """Return the lines that report an exception."""
    return [line for line in lines if line.exception]
