"""Endpoints for reference data: the caller, their teams, strategies, machines and prices."""

from ninja import Query, Router

from dashboard.access import Request, can, teams_of
from dashboard.access.roles import MIN_ROLE
from dashboard.api.filters import Name, PriceFilters
from dashboard.api.job_values import usd
from dashboard.api.problems import field_error
from dashboard.api.reference_shapes import (
    ForecastShape,
    MachineShape,
    Me,
    PricePage,
    PriceShape,
    StrategyShape,
    TeamShape,
)
from dashboard.api.tokens import READ
from dashboard.queries.prices import KeyLine, list_keys
from dashboard.queries.spend import get_month
from jobs import prices
from jobs.budgets import month_of
from jobs.catalog import MACHINES, REGIONS, Machine
from jobs.clock import database_now
from jobs.cost.prices import hourly
from jobs.models import ApiToken
from jobs.requests.allowed_resources import projects_of
from jobs.strategies import STRATEGIES

router = Router(tags=["facts"], auth=READ)


@router.get("/me", response=Me, summary="Get the token and its owner")
def get_me(request: Request) -> Me:
    """Return the owner of the token, its scopes and its expiry time."""
    token: ApiToken = request.auth  # type: ignore[attr-defined]
    return Me(
        name=request.user.get_username(),
        is_admin=request.user.is_superuser,
        token=token.name,
        scopes=token.scopes,
        expires_at=token.expires_at,
    )


@router.get("/teams", response=list[TeamShape], summary="List your teams")
def list_teams(request: Request) -> list[TeamShape]:
    """Return the teams whose jobs you may see, sorted by name."""
    teams = teams_of(request.user)
    projects = projects_of(teams)
    return [
        TeamShape(
            name=team.name,
            project=team.project,
            projects=projects[team.pk],
            default_region=team.default_region,
            may=[verb for verb in MIN_ROLE if can(request.user, verb, team)],
        )
        for team in teams
    ]


@router.get("/forecast", response=ForecastShape | None, summary="Forecast the cost of this month")
def get_forecast(request: Request, team: Name = "") -> ForecastShape | None:
    """Return what this month (UTC) is expected to cost your teams, or one of them. null: nothing is known yet."""
    teams = [each for each in teams_of(request.user) if team in ("", each.name)]
    if not teams:
        raise field_error("query", "team", "You are in no such team.")
    now = database_now()
    found = get_month(teams, month_of(now), "person", now).forecast
    if found is None:
        return None
    return ForecastShape(
        month=month_of(now),
        usd=usd(found.usd),
        low_usd=usd(found.low_usd),
        high_usd=usd(found.high_usd),
        spent_usd=usd(found.spent_usd),
        **{f"{source}_usd": usd(part) for source, part in found.parts.items()},
        usual_usd=usd(found.usual_usd),
        days=found.days,
    )


@router.get("/strategies", response=list[StrategyShape], summary="List strategies")
def list_strategies(request: Request) -> list[StrategyShape]:
    """Return the strategies for getting capacity. For each: the fields that it sets, its billing and its risks."""
    return [
        StrategyShape(
            key=strategy.key,
            label=strategy.label,
            summary=strategy.summary,
            sets=strategy.sets,
            machines=strategy.machines,
            billing=strategy.billing,
            preemptible=strategy.preemptible,
            restart_rule=strategy.restart_rule,
            wait_rule=strategy.wait_rule,
            longest_run_seconds=round(strategy.longest_run.total_seconds()) if strategy.longest_run else None,
            kinds=list(strategy.kinds),
            source=strategy.source.title,
        )
        for strategy in STRATEGIES.values()
    ]


@router.get("/machines", response=list[MachineShape], summary="List machine types")
def list_machines(request: Request) -> list[MachineShape]:
    """Return all machine types in the catalogue, in its order."""
    return [_machine(machine) for machine in MACHINES.values()]


def _machine(each: Machine) -> MachineShape:
    accelerators = {name: sorted(counts) for name, counts in each.attachable.items()}
    if each.fixed_accelerator and each.gpu_count:
        accelerators[each.fixed_accelerator] = [each.gpu_count]
    return MachineShape(
        machine_type=each.machine_type,
        series=each.series,
        vcpu=each.vcpu,
        memory_gib=usd(each.memory_gib),
        is_trainable=each.trainable,
        accelerators=accelerators,
        source=each.source,
    )


@router.get("/prices", response=PricePage, summary="List prices")
def list_prices(request: Request, filters: Query[PriceFilters]) -> PricePage:
    """Return the known prices of a region that estimates use, each with its source and date."""
    region, cursor = filters.region, filters.cursor
    if region not in REGIONS:
        raise field_error("query", "region", "This region has no training. Use one such as us-central1.")
    today = database_now().date()
    lines = list_keys(prices.current_book(), region=region, text=filters.q, show="known", today=today)
    names = [line.name for line in lines]
    if cursor and cursor not in names:
        raise field_error("query", "cursor", "Use the next_cursor of a page.")
    first = names.index(cursor) + 1 if cursor else 0
    page = lines[first : first + filters.limit]
    has_more = first + filters.limit < len(lines)
    return PricePage(items=[_price(line) for line in page], next_cursor=page[-1].name if has_more else None)


def _price(known: KeyLine) -> PriceShape:
    assert known.line is not None
    row = known.line.row
    resource, region, strategy, basis = known.key
    return PriceShape(
        resource=resource,
        region=region,
        strategy=strategy,
        basis=basis,
        usd_per_hour=usd(hourly(row)),
        source=row.source,
        as_of=row.as_of,
        is_official=row.is_official,
        origin=row.origin,
        note=row.note,
    )
