"""Queries whose SQL is made once, for what is asked at every keystroke.

Django makes the SQL of a query anew each time it runs, which takes several times as long as running it.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connections
from django.db.models import QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row", covariant=True)


@dataclass(frozen=True, slots=True)
class _Given:
    name: str


def given(name: str) -> Value:
    """Return what stands in a prepared query for a value that each run brings under this name."""
    return Value(_Given(name))


class Prepared(Generic[Row]):
    """A query that is made by `build` when it first runs; `build` puts `given(name)` where each run has its own value.

    The SQL is Django's, and so is what is made of the rows. Values go to the database as they are, so they are text or
    whole numbers: what a field would have to turn into something else first, such as a moment, has no place here.
    """

    def __init__(self, build: Callable[[], "QuerySet[Any, Row]"]) -> None:
        self._build = build

    def rows(self, **values: str | int | None) -> list[Row]:
        """Run it with these values; KeyError where one is missing."""
        queryset, compiler, sql, params = self._compiled
        run = copy(compiler)
        run.connection = connections[queryset.db]  # each thread has its own
        filled = tuple(values[each.name] if isinstance(each, _Given) else each for each in params)
        run.as_sql = lambda *_, **__: (sql, filled)  # type: ignore[method-assign, assignment]
        fresh = queryset.all()
        fresh.query.get_compiler = lambda *_, **__: run  # type: ignore[method-assign]
        return list(fresh)

    @cached_property
    def _compiled(self) -> "tuple[QuerySet[Any, Row], SQLCompiler, str, tuple[Any, ...]]":
        queryset = self._build()
        compiler = queryset.query.clone().get_compiler(queryset.db)
        sql, params = compiler.as_sql()
        return queryset, compiler, sql, tuple(params)
