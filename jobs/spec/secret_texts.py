"""Find secrets in text: tokens of a known form, and values after a secret's name, as in a shell line or JSON."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from jobs.spec.secret_names import is_secret_name, is_secret_value

Span = tuple[int, int]
MASK = "<hidden-secret>"
"""Replaces a secret. It has the form of a placeholder, so whoever copies a job has to fill it in."""

TOKENS = re.compile(
    r"""
    (?<![\w-])(?:
    hf_[A-Za-z0-9]{16,}                                        # Hugging Face
    | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_\w{16,}          # GitHub
    | glpat-[\w-]{16,}                                         # GitLab
    | sk-(?=[\w-]{0,60}[0-9])[\w-]{16,}                        # OpenAI and others
    | (?:AKIA|ASIA)[0-9A-Z]{16}\b                              # AWS
    | AIza[\w-]{30,}                                           # Google API key
    | ya29\.[\w.-]{10,} | 1//0[\w-]{20,} | GOCSPX-[\w-]{20,}   # Google OAuth
    | xox[abeoprs]-[\w-]{10,}                                  # Slack
    | npm_[A-Za-z0-9]{30,} | pypi-[\w-]{40,} | dop_v1_[0-9a-f]{40,} | SG\.[\w-]{16,}+\.[\w-]{16,}
    | eyJ[\w-]{8,}+\.[\w-]{6,}(?:\.[\w-]+)?                    # JSON Web Token
    ) | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
LOGIN = re.compile(r"""(?<=[A-Za-z0-9+.-])://(?:[^\s/:@"']*:([^\s/@"']{1,200})@|([A-Za-z0-9_-]{20,200})@)""")
"""An address with user and password, of which only the password is a secret, or with a key in place of both.

It begins at `://`, so that a long word is read once.
"""
SIGNED = re.compile(r"""[?&](?:x-(?:goog|amz)-)?(?:sig|signature)=([^\s&"'#<>]{8,2000})""", re.IGNORECASE)
"""The signature of a signed address: who has it can use the address."""
WEBHOOK = re.compile(
    r"""\b(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/
    |webhook\.office\.com/|api\.telegram\.org/bot)([^\s"'<>]{8,500})""",
    re.VERBOSE | re.IGNORECASE,
)
"""An address to which everybody who knows it may write."""
USER = re.compile(
    r"""(?<![\w.-])(?:-u|-U|--user|--proxy-user|--http-user)(?:\s{1,9}|=)["']?([^\s:"'/=]{1,100}):([^\s/"'][^\s"']{0,199})"""
)
"""A user with a password, as curl takes it."""
USER_FLAGS = frozenset(["u", "U", "user", "proxy-user", "http-user"])
GROUPS = frozenset("root users staff wheel nogroup docker daemon www-data nobody nonroot".split())
"""Names behind `--user=someone:` that are groups."""
BEARER = re.compile(r"\b(?:bearer|basic|token)\s+([A-Za-z0-9+/_.=-]{16,})", re.IGNORECASE)
ASSIGNED = re.compile(
    r"""(?<![\w.-])-{0,5}([A-Za-z_][\w.-]{0,100}+)["']?\s{0,3}(?:=|:(?!//))\s{0,3}\\?(?=[^\s,;&|)}\]])"""
)
"""A name and its separator from the value: `NAME=`, `--name=`, `"name": `."""
FLAG = re.compile(r"""(?<![\w.-])--?([A-Za-z][\w.-]{1,100}+)\s{1,9}(?=[^\s-])""")
VALUE = re.compile(
    r"""(?P<q>["'])([^"']{1,4000})(?P=q)|["']?(\$\{[^{}]{0,200}\}|\$\([^()]{0,200}\)|[^\s"'\\,;&|)}\]]{1,4000})"""
)
"""A value in quotes, a reference to a variable, or a word."""
LONE_FLAG = re.compile(r"--?([A-Za-z][\w.-]{0,100})")
RANDOM = re.compile(r"(?<![\w/+.:@-])[A-Za-z0-9+/_-]{32,}={0,2}(?![\w/.@])")
RUN = re.compile(r"[A-Za-z0-9+]{24,}")
MIN_CHANGES = 0.48
"""Lowest share of neighbouring characters of different classes (capital, small, digit) in random text. Random text has
about 0.62, joined words have less."""
MIN_DIGITS = 3
SHORT = 500
"""Spans of texts up to this length are cached."""
MAX_TEXT_LENGTH = 200_000
"""Characters that are searched, more than Vertex AI accepts in arguments; the rest counts as a secret."""


def flag_of(word: str) -> str:
    """Return the name of a flag whose value is the next word; "" for any other word."""
    found = LONE_FLAG.fullmatch(word)
    return found.group(1) if found else ""


def token_spans(text: str) -> list[Span]:
    """Return the positions of tokens of a known form, and of passwords in addresses."""
    rest = [(MAX_TEXT_LENGTH, len(text))] if len(text) > MAX_TEXT_LENGTH else []
    text = text[:MAX_TEXT_LENGTH]
    found = [*rest, *(match.span() for match in TOKENS.finditer(text))]
    if "://" in text:
        logins = ((match, 1 if match[1] else 2) for match in LOGIN.finditer(text))
        found += [match.span(group) for match, group in logins if is_secret_value("password", match[group])]
    found += [match.span(1) for pattern in (SIGNED, WEBHOOK) for match in pattern.finditer(text)]
    return _joined(found)


def password_spans(flag: str, word: str) -> list[Span]:
    """Return the position of the password in the word after a flag such as `-u`: `user:password`."""
    before = "--user="
    match = USER.fullmatch(before + word) if flag in USER_FLAGS else None
    return [(match.start(2) - len(before), len(word))] if match and _is_password(match) else []


def _is_password(match: re.Match[str]) -> bool:
    """Return whether what follows a user's name is a password, and not a group or the function of a module."""
    user, word = match[1], match[2]
    is_other = word in GROUPS or word == user or user.endswith(".py") or (user.isdecimal() and word.isdecimal())
    return not is_other and is_secret_value("password", word)


def spans(text: str) -> list[Span]:
    """Return the positions of secrets in a text: tokens, values after a secret's name, and random characters."""
    return list(_spans_of_short(text)) if len(text) <= SHORT else _spans(text)


@lru_cache(maxsize=8192)  # pages show the same jobs repeatedly
def _spans_of_short(text: str) -> tuple[Span, ...]:
    return tuple(_spans(text))


def _spans(text: str) -> list[Span]:
    found = token_spans(text)
    text = text[:MAX_TEXT_LENGTH]
    found += [*(match.span(1) for match in BEARER.finditer(text)), *_named(text), *_random(text)]
    found += [match.span(2) for match in USER.finditer(text) if _is_password(match)]
    return _joined(found)


def masked(text: str, found: Sequence[Span]) -> str:
    """Return the text with MASK in place of the spans, which are in order and do not overlap."""
    parts, at = list[str](), 0
    for start, end in found:
        parts += [text[at:start], MASK]
        at = end
    return "".join([*parts, text[at:]])


def _named(text: str) -> Iterator[Span]:
    for pattern in (ASSIGNED, FLAG):
        end = 0
        for head in pattern.finditer(text):
            name = head[1].rpartition(".")[2]
            if head.start() >= end and is_secret_name(name) and (match := VALUE.match(text, head.end())):
                group, end = 2 if match[2] is not None else 3, match.end()
                if is_secret_value(name, match[group]):
                    yield match.span(group)


def _random(text: str) -> Iterator[Span]:
    for match in RANDOM.finditer(text):
        if any(_is_random(run) for run in RUN.findall(match.group())):
            yield match.span()


def _is_random(run: str) -> bool:
    classes = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" for sign in run]
    if classes.count("d") < MIN_DIGITS or "u" not in classes or "l" not in classes:
        return False
    changes = sum(before != after for before, after in pairwise(classes))
    return changes / (len(run) - 1) >= MIN_CHANGES


def _joined(found: Sequence[Span]) -> list[Span]:
    """Return the spans in order, with overlapping ones merged."""
    joined: list[Span] = []
    for start, end in sorted(found):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif end > start:
            joined.append((start, end))
    return joined
