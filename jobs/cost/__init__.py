"""What a job costs: the price book, estimates before it runs, and what it has cost while it runs."""

from jobs.cost.actual import BILLING_INCREMENT, accrued
from jobs.cost.estimate import Estimate, estimate, rate_of, shape_of
from jobs.cost.lines import Line, Rate, Shape
from jobs.cost.offers import Offer, offers
from jobs.cost.prices import PriceBook
from jobs.cost.rates import hourly

__all__ = [
    "BILLING_INCREMENT",
    "Estimate",
    "Line",
    "Offer",
    "PriceBook",
    "Rate",
    "Shape",
    "accrued",
    "estimate",
    "hourly",
    "offers",
    "rate_of",
    "shape_of",
]
