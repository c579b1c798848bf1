"""The rules of a team's policy, the facts that they read of a job, and the rules that match it. Pure.

A policy is a list of rules, read from top to bottom. The first rule that allows, asks or refuses decides. Every
matching rule that requires or sets something applies. `jobs.policy` derives the decision.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from jobs.budget import BudgetLeft
from jobs.catalog import machine
from jobs.cost import Estimate
from jobs.spec import Submission
from jobs.spec.worker_pool import MachineSpec
from jobs.strategies import strategy_of

MAX_RULES = 30
MAX_GROUPS = 5
"""Groups of approvers that one rule may ask."""
MAX_USD = Decimal(10) ** 10
Usd = Annotated[Decimal, Field(ge=0, lt=MAX_USD, allow_inf_nan=False)]
Words = tuple[Annotated[str, Field(min_length=1, max_length=200)], ...]
LABEL = r"^[a-z][a-z0-9_-]{0,62}=[a-z0-9_-]{0,63}$"
"""A label that a rule sets; https://cloud.google.com/vertex-ai/docs/general/labels allows more letters."""
Basis = Literal["low", "expected", "high", "most"]


class Approvers(BaseModel):
    """A group of approvers: a number of approvals by people with a role, or by people named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    approvals: Annotated[int, Field(ge=1, le=10)] = 1
    role: Literal["approver", "lead"] = "approver"
    approvers: Words = ()
    """Names of the people who may approve; empty: everybody with the role."""


class Rule(Approvers):
    """One rule. It matches a job if all its conditions hold; a rule without conditions matches every job.

    `outcome`: the first matching rule with "allow", "ask" or "refuse" decides. "require" refuses a job that lacks what
    the rule requires, and "set" adds what a job lacks; neither decides anything else. Amounts are USD, of all jobs of a
    sweep together; `hours_over` is the run time of one run. A rule is itself the first group of approvers that it asks.
    """

    outcome: Literal["allow", "ask", "refuse", "require", "set"]
    cost_basis: Basis = "most"
    cost_over: Usd | None = None
    cost_unknown: bool = False
    gpus_over: Annotated[int, Field(ge=0, lt=10**9)] | None = None
    gpu_types: Words = ()
    strategies: Words = ()
    kinds: Words = ()
    regions: Words = ()
    in_other_regions: bool = False
    """Whether the rule matches every region except `regions`."""
    hours_over: Annotated[Decimal, Field(ge=0, lt=10**6, allow_inf_nan=False)] | None = None
    person_sum_over: Usd | None = None
    """The rule matches if the job, with what its requester uses already, can cost more than this."""
    team_sum_over: Usd | None = None
    """The rule matches if the job, with what the whole team uses already, can cost more than this."""
    budget_left_under: Usd | None = None
    """The rule matches if a budget of the job has less than this left after the job's highest cost."""
    labels: Words = ()
    """Each is `key` or `key=value`; a job needs one of them."""
    submitters: Words = ()
    """User names; one of them has to match."""
    further: Annotated[tuple[Approvers, ...], Field(max_length=MAX_GROUPS - 1)] = ()
    """Further groups that have to approve."""
    require_labels: Words = ()
    """Label keys that the job must have."""
    require_service_account: bool = False
    require_network: bool = False
    require_encryption: bool = False
    require_timeout: bool = False
    set_labels: Annotated[tuple[Annotated[str, Field(pattern=LABEL)], ...], Field(max_length=32)] = ()
    """Each is `key=value`."""
    set_service_account: Annotated[str, Field(max_length=200)] = ""
    set_network: Annotated[str, Field(max_length=300)] = ""
    set_encryption_key: Annotated[str, Field(max_length=300)] = ""
    set_timeout_hours: Annotated[Decimal, Field(gt=0, lt=10**5, allow_inf_nan=False)] | None = None
    must: bool = False
    """Whether a job with another value than the rule sets is refused."""
    words: Annotated[str, Field(max_length=500)] = ""
    """A message for the requester."""

    @property
    def groups(self) -> tuple[Approvers, ...]:
        """All groups of approvers that the rule asks, at least one."""
        return (self, *self.further)


def sums_requests(rules: Iterable[Rule]) -> bool:
    """Return whether a rule asks what a person or team uses already."""
    return any(rule.person_sum_over is not None or rule.team_sum_over is not None for rule in rules)


RULES: TypeAdapter[tuple[Rule, ...]] = TypeAdapter(Annotated[tuple[Rule, ...], Field(max_length=MAX_RULES)])


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """A team's policy: its rules in order, and its other settings."""

    rules: tuple[Rule, ...]
    version: int = 0
    """0: the policy was never saved as rules."""
    drift_percent: int = 0
    """Percent by which the cost may rise after an approval before a new one is needed."""
    cancels_at_cap: bool = True
    """Whether a job is cancelled when its cost reaches its cap; if not, people only get a message."""


def rules_of_limits(
    ask_over_usd: Decimal, refuse_over_usd: Decimal | None = None, regions: Sequence[str] = ()
) -> tuple[Rule, ...]:
    """Return the rules of a policy never saved as rules: two amounts and regions; no regions means all."""
    rules = [Rule(outcome="refuse", regions=tuple(regions), in_other_regions=True)] if regions else []
    if refuse_over_usd is not None:
        rules.append(Rule(outcome="refuse", cost_over=refuse_over_usd))
    return (*rules, Rule(outcome="ask", cost_unknown=True), Rule(outcome="ask", cost_over=ask_over_usd))


@dataclass(frozen=True, slots=True)
class Recent:
    """The most that what runs may cost, and the cost of what ended within a day. None if a part is not known.

    Splitting one expensive job into many cheap ones changes the sum by nothing.
    """

    person_usd: Decimal | None
    team_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that rules read of one job, or of all jobs of a sweep. An unknown amount in USD is None."""

    low: Decimal | None
    expected: Decimal | None
    high: Decimal | None
    most: Decimal | None
    gpus: int
    gpu_types: frozenset[str]
    strategy: str
    kind: str
    region: str
    hours: float
    labels: dict[str, str]
    submitter: str
    budget_left: Decimal | None = None
    """The least that any of the job's budgets has left after it; None without a budget or if the job's cost is
    unknown."""
    has_budget: bool = False
    person_sum: Decimal | None = None
    """The most that the job can cost, with what its requester uses already; None if it is not known."""
    team_sum: Decimal | None = None
    has_sums: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as JSON, with amounts as text; this form is stored with the decision."""
        amounts = {name: getattr(self, name) for name in ("low", "expected", "high", "most")}
        return (
            {f"{name}_usd": None if usd is None else str(usd) for name, usd in amounts.items()}
            | {
                "gpus": self.gpus,
                "gpu_types": sorted(self.gpu_types),
                "strategy": self.strategy,
                "kind": self.kind,
                "region": self.region,
                "hours": self.hours,
                "submitter": self.submitter,
                "budget_left_usd": None if self.budget_left is None else str(self.budget_left),
            }
            | (
                {"person_sum_usd": _text(self.person_sum), "team_sum_usd": _text(self.team_sum)}
                if self.has_sums
                else {}
            )
        )


@dataclass(frozen=True, slots=True)
class Matched:
    """The rules that match a job, each with its number, counted from 1, and the facts that they read."""

    rules: tuple[tuple[int, Rule], ...]
    facts: Facts
    total: Estimate
    """The estimate for all `jobs` together."""
    jobs: int
    limit_usd: Decimal | None
    """The lowest amount above which a rule asks about a job like this; None if no rule asks by cost."""
    version: int


def match_rules(
    policy: PolicyRules,
    submission: Submission,
    estimate: Estimate,
    *,
    jobs: int = 1,
    submitter: str = "",
    budgets: Sequence[BudgetLeft] = (),
    recent: Recent | None = None,
) -> Matched:
    """Return the rules that match a job, or the `jobs` of a sweep together; `estimate` is for one of them."""
    total = estimate.times(jobs)
    facts = with_sums(_facts(submission, total, jobs, submitter, budgets), total.most_usd, recent)
    numbered = enumerate(policy.rules, 1)
    matching = tuple((number, rule) for number, rule in numbered if _matches(rule, facts))
    # The lowest amount above which a rule would ask about this job at that cost.
    asking = ((rule, rule.cost_over) for rule in policy.rules if rule.outcome == "ask" and rule.cost_over is not None)
    at_any_cost = {"cost_over": None, "cost_unknown": False}
    limit = min((usd for rule, usd in asking if _matches(rule.model_copy(update=at_any_cost), facts)), default=None)
    return Matched(matching, facts, total, jobs, limit, policy.version)


def deciding_rule(policy: PolicyRules, facts: Facts) -> tuple[int, Rule | None]:
    """Return the first rule that allows, asks or refuses by these facts, with its number; (0, None) if none does."""
    deciding = (each for each in enumerate(policy.rules, 1) if each[1].outcome in ("allow", "ask", "refuse"))
    return next(((number, rule) for number, rule in deciding if _matches(rule, facts)), (0, None))


def _facts(submission: Submission, total: Estimate, jobs: int, submitter: str, budgets: Sequence[BudgetLeft]) -> Facts:
    most = total.most_usd
    left = min((budget.left_usd - most for budget in budgets), default=None) if most is not None else None
    types, gpus = accelerators_of(submission)
    return Facts(
        total.low_usd, total.expected_usd, total.high_usd, most,
        gpus * jobs, frozenset(types), strategy_of(submission).key, submission.kind,
        submission.region, total.hours, dict(submission.job.labels), submitter, left, bool(budgets),
    )  # fmt: skip


def with_sums(facts: Facts, most_usd: Decimal | None, recent: Recent | None) -> Facts:
    """Return the facts with the sums of a request that can cost `most_usd`, and of what is in use already."""
    if recent is None:
        return facts
    person, team = (
        None if most_usd is None or used is None else most_usd + used for used in (recent.person_usd, recent.team_usd)
    )
    return replace(facts, person_sum=person, team_sum=team, has_sums=True)


def accelerators_of(submission: Submission) -> tuple[set[str], int]:
    """Return the types of a job's accelerators, and how many of them it uses at once."""
    types, gpus = sum_accelerators((pool.machine_spec, pool.replicas) for _, pool in submission.pools)
    return types, gpus * submission.parallel_trials


def sum_accelerators(machines: Iterable[tuple[MachineSpec, int]]) -> tuple[set[str], int]:
    """Return the types of the accelerators of machines, and their number; each machine is given with its replicas."""
    types, gpus = set[str](), 0
    for spec, replicas in machines:
        row = machine(spec.machine_type)
        fixed = row.fixed_accelerator if row is not None else ""
        name = fixed or spec.accelerator
        count = row.gpu_count if row is not None and fixed else spec.accelerator_count
        if row is not None and row.is_tpu and (topology := row.topologies.get(spec.tpu_topology)) is not None:
            count = topology.chips  # one replica has all machines of its topology
        if name and count:
            types.add(name)
            gpus += count * max(replicas, 0)
    return types, gpus


def _matches(rule: Rule, facts: Facts) -> bool:
    """Return whether every condition of a rule holds for a job."""
    return (
        _cost_matches(rule, facts)
        and (rule.gpus_over is None or facts.gpus > rule.gpus_over)
        and (not rule.gpu_types or not facts.gpu_types.isdisjoint(rule.gpu_types))
        and (not rule.strategies or facts.strategy in rule.strategies)
        and (not rule.kinds or facts.kind in rule.kinds)
        and (not rule.regions or (facts.region in rule.regions) != rule.in_other_regions)
        and _sum_is_over(rule.person_sum_over, facts.person_sum, facts)
        and _sum_is_over(rule.team_sum_over, facts.team_sum, facts)
        and (rule.budget_left_under is None or _leaves_less(rule.budget_left_under, facts))
        and (rule.hours_over is None or Decimal(facts.hours) > rule.hours_over)
        and (not rule.labels or any(_has_label(label, facts.labels) for label in rule.labels))
        and (not rule.submitters or facts.submitter in rule.submitters)
    )


def _cost_matches(rule: Rule, facts: Facts) -> bool:
    if rule.cost_unknown and facts.expected is not None and facts.most is not None:
        return False
    return rule.cost_over is None or _is_over(rule.cost_basis, rule.cost_over, facts)


def _is_over(basis: Basis, usd: Decimal, facts: Facts) -> bool:
    """Return whether an amount is certainly above `usd`; an unknown amount is at least every known lower one."""
    order = ("low", "expected", "high", "most")
    known = [getattr(facts, name) for name in order[: order.index(basis) + 1]]
    return any(amount is not None and amount > usd for amount in (known if known[-1] is None else known[-1:]))


def _sum_is_over(usd: Decimal | None, total: Decimal | None, facts: Facts) -> bool:
    """Return whether a sum is over `usd`, as an unknown one may be. Where nothing was summed, no sum is over."""
    return usd is None or (facts.has_sums and (total is None or total > usd))


def _leaves_less(usd: Decimal, facts: Facts) -> bool:
    """Return whether a budget has less than `usd` left after the job; a job of unknown cost may leave nothing."""
    return facts.has_budget and (facts.budget_left is None or facts.budget_left < usd)


def _has_label(wanted: str, labels: dict[str, str]) -> bool:
    key, is_pair, value = wanted.partition("=")
    return key in labels and (not is_pair or labels[key] == value)


def _text(usd: Decimal | None) -> str | None:
    return None if usd is None else str(usd)
