"""Typed readers of environment variables. No other module reads the environment.

A bad value raises `ImproperlyConfigured` with the name of the variable, so that a typing mistake prevents the start and
never changes behaviour silently. Every variable read here is in the README's table; `tests/test_house.py` compares
them.
"""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    """Return the variable without surrounding whitespace, or `default` if it is not set."""
    return os.environ.get(name, default).strip()


def flag(name: str, *, default: bool) -> bool:
    """Return a yes/no variable. Raise ImproperlyConfigured for any other word."""
    word = os.environ.get(name, "1" if default else "0").strip().lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={word!r} is neither yes nor no: write 1 or 0.")


def number(name: str, *, default: float, least: float = 0.0) -> float:
    """Return a number that is at least `least`. Raise ImproperlyConfigured for anything else."""
    word = os.environ.get(name, str(default)).strip()
    try:
        value = float(word)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={word!r} is not a number.") from None
    if not value >= least:
        raise ImproperlyConfigured(f"{name}={word!r} must be at least {least:g}.")
    return value


def words(name: str, default: str = "") -> list[str]:
    """Return a comma-separated variable as a list without empty items."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def folder(name: str, default: Path) -> Path:
    """Return an absolute folder. It need not exist yet."""
    return Path(text(name) or default).expanduser().resolve()


def secret(name: str, *, kept_in: Path) -> str:
    """Return a secret from the environment, else from the file `kept_in`, which is created on first use.

    Only the owner can read the file.
    """
    if value := text(name):
        return value
    try:
        return kept_in.read_text().strip()
    except FileNotFoundError:
        pass
    kept_in.parent.mkdir(parents=True, exist_ok=True)
    value = secrets.token_urlsafe(50)
    try:
        with os.fdopen(os.open(kept_in, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(value)
    except FileExistsError:  # another process of the same start created it first
        return kept_in.read_text().strip()
    return value


def whole(name: str, *, default: int, least: int, most: int) -> int:
    """Return an integer between `least` and `most`. Raise ImproperlyConfigured for anything else."""
    value = number(name, default=default, least=least)
    if value != int(value) or value > most:
        raise ImproperlyConfigured(f"{name}={value:g} must be a whole number from {least} to {most}.")
    return int(value)


def inherited(**changes: str) -> dict[str, str]:
    """Return the environment for a program that we start: ours, with `changes`."""
    return {**os.environ, **changes}
