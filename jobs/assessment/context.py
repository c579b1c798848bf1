"""What an assessment rests on besides the submission; each caller loads what it knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple

from jobs.allowed_resources import Allowed
from jobs.budget import BudgetLeft, is_usable_cap
from jobs.cost import Estimate, PriceBook, QuotaState, estimate
from jobs.cost.learned import NOT_LEARNED, Learned
from jobs.policy_rules import Matched, PolicyRules, match_rules
from jobs.spec import Submission
from jobs.spec.images import ImageState
from jobs.strategies import Known, Severities, Strategy


class IdenticalJob(NamedTuple):
    """A job of the team that asks for exactly the same: its name, state and id."""

    display_name: str
    state: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What an assessment rests on besides the submission; the defaults are those of a spec that nobody requests."""

    policy: PolicyRules | None = None
    """That of a team; None: nobody's, and there is no outcome."""
    severities: Severities = field(default_factory=dict)
    """What the site has set for rules, `{code: severity or "off"}`."""
    resources: Known = ()
    """The persistent resources of the project and region."""
    identical: tuple[IdenticalJob, ...] = ()
    """Jobs of the team that ask for the same and have not ended, or not long ago."""
    sweep_size: int = 1
    """Jobs that are assessed together because they were requested together; they cost the same."""
    book: PriceBook = field(default_factory=PriceBook.load)
    allowed: Allowed | None = None
    """What of Google Cloud the team may use; None: anything."""
    budgets: tuple[BudgetLeft, ...] = ()
    """Those that the job counts against, without what it is itself committed for."""
    budget_jobs: int | None = None
    """Jobs of the sweep that are held against the budgets together; None: all."""
    learned: Mapping[str, Learned] = field(default_factory=dict)
    """What was learned from ended jobs of the team, by the key of their strategy."""
    submitter: str = ""
    """The name of who requests the job."""
    quota_states: Mapping[str, QuotaState] = field(default_factory=dict)
    """Limits and use of the project's quotas in the region, by metric."""
    image_states: Mapping[str, ImageState] = field(default_factory=dict)
    """What Artifact Registry answered about the images, by name."""
    cap_usd: Decimal | None = None
    """The most that each job shall cost."""
    fills: bool = True
    """Whether policy sets what the submission lacks."""
    cap_cancels: bool = True
    """Whether a job is cancelled when it has cost its cap; else people get a message only."""

    def estimate(self, submission: Submission, strategy: Strategy, expected: timedelta) -> Estimate:
        """Return what a submission costs under a strategy."""
        learned = self.learned.get(strategy.key, NOT_LEARNED)
        return estimate(submission, strategy=strategy, expected=expected, book=self.book, learned=learned)

    def up_to_cap(self, cost: Estimate) -> Estimate:
        """Return an estimate that ends at the cap, where jobs are cancelled that have cost it."""
        if self.cap_usd is None or not self.cap_cancels or not is_usable_cap(self.cap_usd):
            return cost
        return replace(cost, cap_usd=self.cap_usd)

    def match_policy(self, submission: Submission, cost: Estimate) -> Matched:
        """Return the rules of the policy that match the jobs assessed together, each of which has this cost."""
        assert self.policy is not None
        size, by = self.sweep_size, self.submitter
        return match_rules(self.policy, submission, cost, jobs=size, submitter=by, budgets=self.budgets)
