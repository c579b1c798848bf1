"""Jobs as people may see them: likely secrets are hidden, except from the person who requested the job.

The site reads jobs through `ShownJob`, so that a page cannot forget to hide anything. Code that works on jobs reads
`Job`. Both are the same rows.
"""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, NoReturn, Self

from django.contrib.auth.base_user import AbstractBaseUser

from jobs.models.job import Job
from jobs.spec.secrets import Masker

HIDDEN = ("spec", "error", "last_error", "wait_error", "explanation")
"""Columns that may contain a secret: the body, what Vertex AI returned about it, and quotations of the log."""


class ShownJob(Job):
    """A job whose secrets are hidden when it is loaded. It is never saved."""

    class Meta:
        proxy = True

    def save(self, *_: Any, **__: Any) -> NoReturn:
        """Raise TypeError: saving would overwrite the stored values with hidden ones."""
        raise TypeError("a shown job is never saved")

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **how: Any) -> Self:
        """Return the instance for a row, without its secrets. A set of names is searched faster than Django's list."""
        return super().from_db(db, frozenset(field_names), values, **how)._hidden()

    @classmethod
    def of(cls, job: Job) -> Self:
        """Return a loaded job without its secrets."""
        shown = cls()
        shown.__dict__.update(job.__dict__)
        return shown._hidden()

    def _hidden(self) -> Self:
        loaded = self.__dict__
        loaded.pop("_masker", None)  # of another body, if this is a copy
        self._is_revealed = False
        self._kept = {name: value for name in HIDDEN if (value := loaded.get(name))}
        for name, value in self._kept.items():
            loaded[name] = self._masker.body if name == "spec" else self._masker.hide(value)
        return self

    @cached_property
    def _masker(self) -> Masker:
        """What hides the secrets of the body. It is made when needed: of a board's thousand jobs, most have no text."""
        return Masker(self._kept.get("spec"), self.__dict__.get("secrets"))

    def reveal_to(self, user: AbstractBaseUser) -> Self:
        """Show everything to the person who requested the job. An adopted job was requested elsewhere."""
        if self.owner_id == user.pk and not self.is_adopted:
            self.__dict__.update(self._kept)
            self._is_revealed = True
        return self

    def hide(self, value: Any) -> Any:
        """Return text or JSON about the job as the viewer may see it."""
        return value if self._is_revealed else self._masker.hide(value)


def hide_in(rows: Sequence[Any], names: Sequence[str], job: Job) -> None:
    """Hide a job's secrets in columns of other rows about it, such as its events. The rows are not saved."""
    if isinstance(job, ShownJob):
        for row in rows:
            for name in names:
                setattr(row, name, job.hide(getattr(row, name)))
