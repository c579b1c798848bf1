"""Response schemas of reference data."""

from datetime import date, datetime

from ninja import Schema


class Me(Schema):
    """Whose token this is."""

    name: str
    is_admin: bool
    token: str
    scopes: list[str]
    expires_at: datetime


class TeamShape(Schema):
    """A team, and what the caller may do in it: see, request, cancel, approve, set_policy.

    Jobs run in its default `project` or in another one of its `projects`.
    """

    name: str
    project: str
    projects: list[str]
    default_region: str
    may: list[str]


class StrategyShape(Schema):
    """A strategy as the compose page compares them."""

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
    """A machine type; `accelerators` maps each accelerator that it has or takes to the possible counts."""

    machine_type: str
    series: str
    vcpu: int | None
    memory_gib: str | None
    is_trainable: bool
    accelerators: dict[str, list[int]]
    source: str


class PriceShape(Schema):
    """The price that counts for a key; `origin` is file, person or import."""

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
    """Prices of a region in the order of the catalogue."""

    items: list[PriceShape]
    next_cursor: str | None
