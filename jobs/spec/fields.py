"""The kinds of value in Vertex AI's messages: how each is parsed from JSON and written back.

Every kind has one parser. The models use it as their validator, and `jobs.spec.reading` uses it to describe errors, so
both always agree. Source: protobuf's JSON mapping (protobuf.dev, "ProtoJSON Format") and google-cloud-aiplatform 2.7.0,
read 2026-11-21.
"""

import contextlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel

from jobs.spec.findings import described, kind_of, quoted
from jobs.texts import translatable as _

WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
SECONDS = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,9}))?s")
ENUM_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
MAX_SECONDS = 315_576_000_000


class Message(BaseModel):
    """A message of Vertex AI's API: fields in snake_case here, lowerCamelCase in JSON.

    A field that was not given is absent when the message is written; one that was given as zero is written as zero.
    Fields that Trainboard does not know are kept as they were written, because Vertex AI may know them.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        extra="allow",
        frozen=True,
        protected_namespaces=(),
    )

    def has(self, name: str) -> bool:
        """Return whether the field `name` (snake_case) was given, even as zero or empty."""
        return name in self.model_fields_set and getattr(self, name) is not None

    def but(self, **values: Any) -> Self:
        """Return a copy with some fields changed; a value of None makes the field absent."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}
        kept = given | self.unknown_fields | values
        return type(self)(**{name: value for name, value in kept.items() if value is not None})

    def known_part(self) -> Self:
        """Return a copy without the fields of this message that Trainboard does not know."""
        return type(self)(
            **{name: getattr(self, name) for name in self.model_fields_set & type(self).model_fields.keys()}
        )

    @property
    def unknown_fields(self) -> dict[str, Any]:
        """The fields that Trainboard does not know, with the names and JSON values that were written."""
        return self.model_extra or {}


@dataclass(frozen=True)
class Kind:
    """A kind of value: its name, its parser, and an enum's `{number: name}`."""

    name: str
    parse: Callable[[Any], Any]
    names: Mapping[int, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Output:
    """Marks a field that Vertex AI fills in and ignores in a request."""


OUTPUT = Output()


def parse_text(value: object) -> str:
    """Return text unchanged. Raise ValueError for lone surrogates and NUL, which no request can carry."""
    if not isinstance(value, str):
        raise ValueError(_("must be text, not %(value)s", value=described(value)))
    if "\0" in value:
        raise ValueError(_("contains a NUL character, which no argument or label can have"))
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError(_("contains an invalid character (a lone surrogate)"))
    return str(value)


def parse_flag(value: object) -> bool:
    """Return true or false; words and numbers are refused."""
    if not isinstance(value, bool):
        raise ValueError(_("must be true or false, not %(value)s", value=described(value)))
    return value


def whole(bits: int) -> Callable[[Any], int]:
    """Return a parser of integers of `bits` bits, given as a number, an integral float or digits in text."""

    def parse_whole(value: object) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str) and WHOLE.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(_("must be a whole number, not %(value)s", value=quoted(value)))
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(_("must fit in %(bits)s bits; %(value)s does not", bits=bits, value=quoted(value)))
        return value

    return parse_whole


def parse_number(value: object) -> float | int:
    """Return a finite number; digits in text are accepted."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value) if len(value) <= 40 and "_" not in value else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(_("must be a number, not %(value)s", value=quoted(value)))
    if (isinstance(value, int) and abs(value) >= 2**1023) or not math.isfinite(value):
        raise ValueError(_("must be a finite number, not %(value)s", value=quoted(value)))
    return value


def parse_duration(value: object) -> timedelta:
    """Parse protobuf's duration, such as "7200s", "0s" or "1.5s"; a timedelta is returned unchanged."""
    if isinstance(value, timedelta):
        return value
    found = SECONDS.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise ValueError(_('must be seconds with an s in quotes, like "7200s", not %(value)s', value=quoted(value)))
    sign, seconds, fraction = found.groups()
    if int(seconds) > MAX_SECONDS:
        raise ValueError(_("is longer than ten thousand years"))
    if fraction and fraction[6:].strip("0"):
        raise ValueError(_("is more precise than a microsecond, which Trainboard does not store"))
    length = timedelta(seconds=int(seconds), microseconds=int((fraction or "").ljust(6, "0")[:6] or 0))
    return -length if sign else length


def write_duration(value: timedelta) -> str:
    """Return a timedelta as protobuf's JSON writes it: "7200s", "1.500s", "0.000001s"."""
    micros = value // timedelta(microseconds=1)
    seconds, fraction = divmod(abs(micros), 1_000_000)
    digits = f"{fraction:06d}" if fraction % 1000 else f"{fraction // 1000:03d}"
    return f"{'-' if micros < 0 else ''}{seconds}{'.' + digits if fraction else ''}s"


def parse_moment(value: object) -> str:
    """Validate an RFC 3339 time and return its text, which may be more precise than Python's datetime."""
    if isinstance(value, str) and MOMENT.fullmatch(value):
        try:
            datetime.fromisoformat(value[:19]).replace(tzinfo=UTC)
        except ValueError:
            pass
        else:
            return value
    raise ValueError(_('must be a moment like "2026-11-21T08:00:00Z", not %(value)s', value=quoted(value)))


def named(numbers: Mapping[int, str]) -> Callable[[Any], str]:
    """Return a parser of enum values: names are unchanged, known or not; numbers become names, or text if unknown."""

    def parse_name(value: object) -> str:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if not 0 <= value < 2**31:
                names = ", ".join(numbers.values())
                raise ValueError(_("must be one of %(names)s, not %(value)s", names=names, value=quoted(value)))
            return numbers.get(value, str(value))
        return parse_text(value)

    return parse_name


def parse_object(value: object) -> dict[str, Any]:
    """Return an object that Trainboard passes on without parsing it."""
    if not isinstance(value, Mapping):
        raise ValueError(_("must be an object with fields, not %(kind)s", kind=kind_of(value)))
    return dict(value)


def _kind(name: str, parse: Callable[[Any], Any]) -> tuple[Kind, BeforeValidator]:
    return Kind(name, parse), BeforeValidator(parse)


TEXT, FLAG = _kind("text", parse_text), _kind("flag", parse_flag)
INT32, INT64 = _kind("int32", whole(32)), _kind("int64", whole(64))
NUMBER = _kind("number", parse_number)
DURATION = _kind("duration", parse_duration)
MOMENT_KIND = _kind("moment", parse_moment)

Text = Annotated[str, *TEXT]
Flag = Annotated[bool, *FLAG]
Int32 = Annotated[int, *INT32]
Int64 = Annotated[int, *INT64, PlainSerializer(str, return_type=str, when_used="json")]
Number = Annotated[float | int, *NUMBER]
Duration = Annotated[timedelta, *DURATION, PlainSerializer(write_duration, return_type=str, when_used="json")]
Moment = Annotated[str, *MOMENT_KIND]
Free = Annotated[Any, Kind("free", lambda value: value)]
"""JSON that Trainboard passes on without parsing it."""
FreeObject = Annotated[dict[str, Any], *_kind("free", parse_object)]


def write_enum(value: str) -> str | int:
    """Return an enum value as JSON has it: a number without a known name is a number again."""
    return int(value) if ENUM_NUMBER.fullmatch(value) else value


def enum(*names: str, **numbered: int) -> tuple[Kind, BeforeValidator, PlainSerializer]:
    """Return the annotations of an enum field: `names` are numbered from 0, `numbered` give their own number."""
    numbers = dict(enumerate(names)) | {number: name for name, number in numbered.items()}
    parse = named(numbers)
    return Kind("enum", parse, numbers), BeforeValidator(parse), PlainSerializer(write_enum)
