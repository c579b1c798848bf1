"""Django's admin for tables with millions of rows: a bounded count, and a search by indexed keys."""

from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

MAX_LISTED = 10_000
"""Rows that the admin counts and pages through, the newest first; the site's own pages reach every job."""

if TYPE_CHECKING:  # Django's admin classes take type arguments in their stubs only
    Rows = admin.ModelAdmin[Model]
    Pages = Paginator[Any]
else:
    Rows, Pages = admin.ModelAdmin, Paginator


class BoundedPaginator(Pages):
    """Pages of the first MAX_LISTED rows."""

    object_list: "QuerySet[Any]"

    @cached_property
    def count(self) -> int:
        """Return the number of rows, at most MAX_LISTED; it reads no more rows than that."""
        return self.object_list[:MAX_LISTED].count()


class LargeTableAdmin(Rows):
    """A list of the newest rows, and a search by the whole key of a job."""

    paginator = BoundedPaginator
    show_full_result_count = False
    search_fields = ["pk"]  # makes the admin show the search box
    search_help_text = (
        "The id of a job or its whole name at Vertex AI. The newest 10,000 rows are listed; History finds every job."
    )
    job_column = ""
    """The lookup from a row to its job, underscores included; "" if the row is the job."""

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 Django gives it
        queryset: QuerySet[Model],
        search_term: str,
    ) -> tuple[QuerySet[Model], bool]:
        """Return the rows of the job with the typed id or name at Vertex AI, and False: no row appears twice."""
        text = search_term.strip()
        if not text:
            return queryset, False
        try:
            found = Q(**{f"{self.job_column}pk": UUID(text)})
        except ValueError:
            found = Q(**{f"{self.job_column}remote_name": text})
        return queryset.filter(found), False
