"""Response schemas of reference data."""

from datetime import date, datetime

from ninja import Schema


class Me(Schema):
    """The owner of the token, and the token. `name` is the user name of the owner, `token` the name of the token."""

    name: str
    is_admin: bool
    token: str
    scopes: list[str]
    expires_at: datetime


class TeamShape(Schema):
    """A team. Its jobs run in its default `project` or in another one of its `projects`.

    `may` lists what you may do in it: see, request, cancel, approve, decide, set_policy, manage.
    """

    name: str
    project: str
    projects: list[str]
    default_region: str
    may: list[str]


class ForecastShape(Schema):
    """The expected cost of a calendar month (UTC) in USD, with a range that 8 of 10 months should fall in.

    `usd` is the sum of what is spent, of what jobs that run, allowed jobs, schedules and persistent resources will cost
    in the month, and of further work as on the last whole `days` (`usual_usd`).
    """

    month: date
    usd: str | None
    low_usd: str | None
    high_usd: str | None
    spent_usd: str | None
    running_usd: str | None
    committed_usd: str | None
    scheduled_usd: str | None
    resources_usd: str | None
    usual_usd: str | None
    days: int


class StrategyShape(Schema):
    """A strategy, with the values that the compose page compares."""

    key: str
    label: str
    summary: str
    sets: str
    machines: str
    billing: str
    preemptible: bool
    restart_rule: str
    wait_rule: str
    longest_run_seconds: int | None
    kinds: list[str]
    source: str


class MachineShape(Schema):
    """A machine type. `accelerators` maps each accelerator that it has or supports to the possible counts."""

    machine_type: str
    series: str
    vcpu: int | None
    memory_gib: str | None
    is_trainable: bool
    accelerators: dict[str, list[int]]
    source: str


class PriceShape(Schema):
    """The current price of a resource. `origin` is file, person or import."""

    resource: str
    region: str
    strategy: str
    basis: str
    usd_per_hour: str | None
    source: str
    as_of: date | None
    is_official: bool
    origin: str
    note: str


class PricePage(Schema):
    """A page of prices of a region, in the order of the catalogue. `next_cursor` is null on the last page."""

    items: list[PriceShape]
    next_cursor: str | None
