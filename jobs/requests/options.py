"""What jobs that are requested together share: the team, the person, the run time, caps and further attempts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.contrib.auth.models import User

from jobs.fallback import Plan
from jobs.models import Job, Team
from jobs.requests.approval_coverage import AttemptApproval


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Options of a request; `expected` is the run time of each job, or of each of its trials."""

    team: Team
    by: User
    expected: timedelta
    now: datetime
    cloned_from: Job | None = None
    cap_usd: Decimal | None = None
    """The most that each job shall cost."""
    plan: Plan | None = None
    """The further attempts of a job that gets no capacity."""
    left_usd: Decimal | None = None
    """What is left of the amount for all attempts together."""
    approval: AttemptApproval | None = None
    """The approval of all attempts of the request, for one that follows others."""
    job_id: UUID | None = None
    """A fixed id, so that a database restored from a backup makes the same job again."""

    @property
    def has_approvers_cap(self) -> bool:
        """Whether an approver has set the cap."""
        return self.approval is not None and self.approval.approval.cap_usd is not None
