"""Rows that are written once: nothing changes or deletes them."""

from typing import Any, NoReturn, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)


class AppendOnlyQuerySet(models.QuerySet[Row]):
    """Refuses to rewrite history in bulk."""

    def update(self, **kwargs: Any) -> NoReturn:  # noqa: ARG002 Django's argument
        """Refuse: the rows are facts."""
        raise TypeError(f"{self.model.__name__} rows are never changed")

    def delete(self) -> NoReturn:
        """Refuse: the rows are facts."""
        raise TypeError(f"{self.model.__name__} rows are never deleted")


class AppendOnly(models.Model):
    """A row that is written once."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write the row once; refuse to change it."""
        if not self._state.adding:
            raise TypeError(f"{type(self).__name__} rows are never changed")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ARG002 Django's arguments
        """Refuse: the row is a fact."""
        raise TypeError(f"{type(self).__name__} rows are never deleted")
