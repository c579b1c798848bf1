"""The context of an assessment: everything besides the submission. Each caller loads what it knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple

from jobs.allowed_resources import Allowed
from jobs.budget import BudgetLeft
from jobs.cost import Estimate, PriceBook, QuotaState, estimate
from jobs.cost.learned import NOT_LEARNED, Learned
from jobs.gate import CeilingUse
from jobs.policy_rules import Matched, PolicyRules, Recent, match_rules
from jobs.spec import Submission
from jobs.spec.images import ImageState
from jobs.strategies import Known, Severities, Strategy


class IdenticalJob(NamedTuple):
    """A job of the team with the same content or output folder: its name, state and id."""

    display_name: str
    state: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """The context of an assessment; the defaults fit a spec that nobody requests."""

    policy: PolicyRules | None = None
    """Policy of the team; None: there is no team, and the assessment has no outcome."""
    severities: Severities = field(default_factory=dict)
    """Severities that the site has set for rules, `{code: severity or "off"}`."""
    resources: Known = ()
    """The persistent resources of the project and region."""
    identical: tuple[IdenticalJob, ...] = ()
    """Jobs of the team with the same content that have not ended, or ended recently."""
    in_folder: tuple[IdenticalJob, ...] = ()
    """Jobs of the team that write or wrote into the same output folder, newest first."""
    sweep_size: int = 1
    """Number of jobs requested and assessed together; each costs the same."""
    book: PriceBook = field(default_factory=PriceBook.load)
    allowed: Allowed | None = None
    """Google Cloud resources that the team may use; None: any."""
    budgets: tuple[BudgetLeft, ...] = ()
    """Budgets of the job, without the amount committed for the job itself."""
    budget_jobs: int | None = None
    """Jobs of the sweep that are checked against budgets and ceilings together; None: all."""
    ceilings: tuple[CeilingUse, ...] = ()
    """Ceilings of the team and the site, without what the job itself uses."""
    recent: Recent | None = None
    """What the requester and the team use already; None: not known, or no rule asks for it."""
    learned: Mapping[str, Learned] = field(default_factory=dict)
    """Figures learned from ended jobs of the team, by strategy key."""
    submitter: str = ""
    """User name of the requester."""
    quota_states: Mapping[str, QuotaState] = field(default_factory=dict)
    """Limits and use of the project's quotas in the region, by metric."""
    image_states: Mapping[str, ImageState] = field(default_factory=dict)
    """Answers about the images and the output folder, by name."""
    cap_usd: Decimal | None = None
    """Cap on the cost of each job."""
    timeout_cap_usd: Decimal | None = None
    """The requester's cap from which the timeout is set; None: the timeout stays. For a further attempt it is the cap
    of the first one."""
    is_approvers_cap: bool = False
    """Whether an approver has set the cap."""
    fills: bool = True
    """Whether policy sets values that the submission lacks."""
    cap_cancels: bool = True
    """Whether a job is cancelled when its cost reaches its cap; if not, people only get a message."""

    def estimate(self, submission: Submission, strategy: Strategy, expected: timedelta) -> Estimate:
        """Return the estimate for a submission under a strategy."""
        learned = self.learned.get(strategy.key, NOT_LEARNED)
        return estimate(
            submission, strategy=strategy, expected=expected, book=self.book, learned=learned, resources=self.resources
        )  # fmt: skip

    def match_policy(self, submission: Submission, cost: Estimate) -> Matched:
        """Return the policy rules that match the jobs assessed together; `cost` is the estimate for each."""
        assert self.policy is not None
        size, by = self.sweep_size, self.submitter
        return match_rules(
            self.policy, submission, cost, jobs=size, submitter=by, budgets=self.budgets, recent=self.recent
        )
