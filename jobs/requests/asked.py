"""Who asks for jobs, and for what."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.contrib.auth.models import User

from jobs.fallback import Plan
from jobs.models import Job, Team
from jobs.requests.covering import Agreed


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for jobs, for which team, and how long each, or each of its trials, is expected to run."""

    team: Team
    by: User
    expected: timedelta
    now: datetime
    cloned_from: Job | None = None
    cap_usd: Decimal | None = None
    """The most that each job shall cost."""
    plan: Plan | None = None
    """What follows where a job gets no capacity; None: nothing."""
    left_usd: Decimal | None = None
    """What is left of the amount for all attempts, of one that follows others."""
    agreed: Agreed | None = None
    """The approval of all attempts of a request, for one that follows others."""
    job_id: UUID | None = None
    """The id of the job, where it follows from what asks for it: a restored database then makes the same one again."""
