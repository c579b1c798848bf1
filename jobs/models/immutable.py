"""Rows that are written once and never changed or deleted."""

from typing import Any, NoReturn, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)


class AppendOnlyQuerySet(models.QuerySet[Row]):
    """A queryset that prevents updates and deletions in bulk."""

    def update(self, **kwargs: Any) -> NoReturn:  # noqa: ARG002 Django's argument
        """Raise TypeError: the rows are never changed."""
        raise TypeError(f"{self.model.__name__} rows are never changed")

    def delete(self) -> NoReturn:
        """Raise TypeError: the rows are never deleted."""
        raise TypeError(f"{self.model.__name__} rows are never deleted")


class AppendOnly(models.Model):
    """A row that is written once."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new row. Raise TypeError if the row already exists."""
        if not self._state.adding:
            raise TypeError(f"{type(self).__name__} rows are never changed")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ARG002 Django's arguments
        """Raise TypeError: the row is never deleted."""
        raise TypeError(f"{type(self).__name__} rows are never deleted")
