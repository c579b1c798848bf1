"""Prices recorded by this site: the price book that includes them, and functions that record new ones."""

from jobs.prices.book import current_book, recent_book
from jobs.prices.imports import plan_import, read_catalog, record_import
from jobs.prices.proposals import accept, proposals, store_proposals
from jobs.prices.record import UPKEEP, record_price, request_import

__all__ = [
    "UPKEEP",
    "accept",
    "current_book",
    "plan_import",
    "proposals",
    "read_catalog",
    "recent_book",
    "record_import",
    "record_price",
    "request_import",
    "store_proposals",
]
