"""How old a price may be before every page that uses it says so."""

from datetime import date, timedelta

MAX_PRICE_AGE = timedelta(days=90)
"""Compute Engine changes Spot prices up to once a day, others within months (Spot VMs, docs.cloud.google.com)."""


def is_stale(as_of: date, today: date) -> bool:
    """Tell whether a price of the day `as_of` is older than 90 days."""
    return today - as_of > MAX_PRICE_AGE


def age_words(as_of: date, today: date) -> str:
    """Return what people need to know about the age of a price; empty while it is recent enough."""
    if not is_stale(as_of, today):
        return ""
    return f"{(today - as_of).days} days old: prices may have changed since."
