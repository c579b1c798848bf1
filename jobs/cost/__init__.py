"""The cost of jobs: the price book, estimates, and the cost so far of running jobs."""

from jobs.cost.actual import SCALE_DOWN, accrued
from jobs.cost.estimate import Estimate, estimate
from jobs.cost.lines import Line, Rate, Shape, shape_of
from jobs.cost.money import CENT, MICRO, format_usd, from_micros, round_price, round_up, to_micros
from jobs.cost.prices import PriceBook
from jobs.cost.quotas import Quota, QuotaState, increase_command, quotas, short_quotas, with_states
from jobs.cost.rates import hourly, rate_of

__all__ = [
    "CENT",
    "MICRO",
    "SCALE_DOWN",
    "Estimate",
    "Line",
    "PriceBook",
    "Quota",
    "QuotaState",
    "Rate",
    "Shape",
    "accrued",
    "estimate",
    "format_usd",
    "from_micros",
    "hourly",
    "increase_command",
    "quotas",
    "rate_of",
    "round_price",
    "round_up",
    "shape_of",
    "short_quotas",
    "to_micros",
    "with_states",
]
