"""The Cloud Billing Catalog: the public SKUs of a service with their prices, page by page."""

from collections.abc import Iterator
from typing import Any

from jobs.vertex import answers
from jobs.vertex.caller import BeforePage, Caller, nothing

DEFAULT_ENDPOINT = "https://cloudbilling.googleapis.com"
PAGE_SIZE = 5_000
"""The default and the maximum of the API (its reference, read 2026-11-21)."""
TRIES = 3
"""Tries for each page after the first. This API is known to answer 502 at times."""


class BillingClient(Caller):
    """Read the Catalog with the credentials of this machine, or those given."""

    def skus(self, service: str, *, before_page: BeforePage = nothing) -> Iterator[list[Any]]:
        """Yield the SKUs of each page. `service` is its id, such as 6F81-5844-456A. Raise VertexError."""
        call = answers.Call("GET", f"{self._endpoint}/v1/services/{service}/skus", "Cloud Billing")
        query = {"currencyCode": "USD", "pageSize": str(PAGE_SIZE)}
        return self._paged(call, "skus", query, before_page=before_page, tries=TRIES)
