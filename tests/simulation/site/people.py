"""What people and programs do at the site: each action is a web process of its own, and is tried again after an error.

A person who sees an error page sends the same form again, with the same key.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import InterfaceError, OperationalError

from jobs import observation, requests, steps, submission, tasks
from jobs.budget import Passing
from jobs.budgets import BudgetValues
from jobs.clock import DatabaseClock, database_now
from jobs.errors import NotAllowed, NotPermitted
from jobs.fallback import Plan, Step
from jobs.models import Budget, ExternalJob, Job, PersistentResource, Proposal, ResourceChange, Schedule, Team
from jobs.observation.adopt import adopt
from jobs.proposals.decide import AlreadyProposed, decide
from jobs.proposals.subjects import propose_budget
from jobs.requests import schedules
from jobs.requests.resource_requests import approve_change, ask_for_change
from jobs.requests.schedules import Times
from tests.simulation.kernel import Killed
from tests.simulation.site.process import Process, SiteKernel
from tests.support import samples
from tests.support.resources import DISK

TRIES = 20
BUDGET_USD = Decimal(200)
SMALL_HOURS, LARGE_HOURS = 1.0, 30.0
"""Timeouts of jobs below and above the amount that the team's policy asks about."""
PLACE = {"project": "vision-research", "region": "us-central1"}
POOLS = [{"machineSpec": samples.A100, "diskSpec": DISK, "replicaCount": "1"}]


@dataclass
class People:
    """The people of one run, and what they were promised.

    `accepted`: the ids of the jobs that the site answered with, by the key of the request. `cancelled`: the jobs whose
    cancellation was accepted. `reboots`: how often one of a persistent resource was asked for. `budgets`: (seconds, US
    dollars), the budget of the team from then on. One that is lifted counts from before the change.
    """

    kernel: SiteKernel
    process: Callable[[str], Process]
    accepted: dict[str, set[UUID]] = field(default_factory=dict)
    cancelled: set[UUID] = field(default_factory=set)
    reboots: int = 0
    budgets: list[tuple[float, Decimal]] = field(default_factory=lambda: [(0.0, BUDGET_USD)])

    def at(self, seconds: float, name: str, action: Callable[[], Any], tries: int = TRIES) -> None:
        """Let somebody do something at a second of the run, and again ten seconds after each failure of the site."""

        def act() -> None:
            try:
                action()
            except (NotAllowed, NotPermitted, requests.Changed, schedules.NotUsable) as refusal:
                self.kernel.log("{} is refused: {}", name, refusal)
            except (OperationalError, InterfaceError, Killed):
                if tries:
                    self.at(self.kernel.seconds + 10, name, action, tries - 1)

        self.process(name).start(act, at=seconds)

    # ------------------------------------------------------------ requests
    def request(
        self,
        key: str,
        *,
        hours: float = SMALL_HOURS,
        cap: str = "",
        plan: Plan | None = None,
        then: Callable[[], None] = lambda: None,
    ) -> Callable[[], None]:
        """Return the action of sending the form of a job; `then` is called when it is accepted."""

        def send() -> None:
            job = requests.request_job(
                submission=samples.submission(name=key, scheduling={"timeout": f"{int(hours * 3600)}s"}),
                team=Team.objects.get(name="vision"),
                by=_user("owner"),
                expected=timedelta(hours=hours / 2),
                request_key=key,
                now=database_now(),
                cap_usd=Decimal(cap) if cap else None,
                plan=plan,
            )
            self.accepted.setdefault(key, set()).add(job.pk)
            self.kernel.log("The request {} is accepted as job {}, {}.", key, job.pk, job.state)
            then()
            tasks.enqueue_job(job.pk)

        return send

    def cancel(self, key: str) -> Callable[[], None]:
        """Return the action of cancelling the job that was requested with a key."""

        def send() -> None:
            for job in _jobs(key):
                if steps.cancel(job, by=_user("owner"), clock=DatabaseClock()):
                    self.cancelled.add(job.pk)
                    self.kernel.log("The cancellation of {} was accepted.", key)
                    tasks.enqueue_job(job.pk)

        return send

    def vote(self, key: str, name: str, *, rejects: bool = False) -> Callable[[], None]:
        """Return the action of an approver who answers the question about a job."""

        def send() -> None:
            for job in _jobs(key):
                answer = requests.reject if rejects else requests.approve
                if answer(job, by=_user(name), comment="seen", now=database_now()):
                    self.kernel.log("{} answers the question about {}.", name, key)
                    tasks.enqueue_job(job.pk)

        return send

    def delete(self, key: str) -> Callable[[], None]:
        """Return the action of deleting an ended job at Vertex AI."""

        def send() -> None:
            for job in _jobs(key):
                if submission.delete_job(job, by=_user("owner"), now=database_now()):
                    self.kernel.log("The owner asks to delete {} at Vertex AI.", key)

        return send

    # ------------------------------------------------------------ schedules
    def schedule(self, name: str, *, minutes: int, allows_overlap: bool) -> Callable[[], None]:
        """Return the action of saving a schedule."""

        def save() -> None:
            if not Schedule.objects.filter(name=name).exists():
                schedules.create_schedule(
                    Times(name, f"*/{minutes} * * * *", "UTC", allows_overlap),
                    submission=samples.submission(name=name, scheduling={"timeout": "3600s"}),
                    team=Team.objects.get(name="vision"),
                    by=_user("owner"),
                    expected=timedelta(minutes=20),
                    now=database_now(),
                )

        return save

    def pause(self, name: str) -> Callable[[], None]:
        """Return the action of pausing a schedule."""

        def send() -> None:
            for row in Schedule.objects.filter(name=name):
                schedules.pause_schedule(row, by=_user("owner"), now=database_now())

        return send

    # ------------------------------------------------------------ others
    def set_budget(self, usd: Decimal) -> Callable[[], None]:
        """Return the action of changing the team's budget. Another lead accepts a higher one, which is a proposal."""

        def send() -> None:
            row = Budget.objects.get(name="month")
            if usd > row.amount_usd:
                self.budgets.append((self.kernel.seconds, usd))
            values, lead = BudgetValues(row.name, usd, Passing(row.passing)), _user("lead")
            with suppress(AlreadyProposed):  # by a try whose answer was lost
                propose_budget(row, values, version=row.version, by=lead, reason="need", now=database_now())
            for proposal in Proposal.objects.filter(kind=Proposal.Kind.BUDGET, decision=""):
                decide(proposal.pk, "accepted", by=_user("other lead"), comment="seen", now=database_now())
            row.refresh_from_db()
            self.budgets.append((self.kernel.seconds, row.amount_usd))
            self.kernel.log("The budget of the team is ${} now.", row.amount_usd)

        return send

    def change(self, action: str) -> Callable[[], None]:
        """Return the action of changing a persistent resource."""

        def send() -> None:
            self.reboots += action == "reboot"
            body = {"create": {"resourcePools": POOLS}, "resize": {"resourcePools": [POOLS[0] | {"replicaCount": "2"}]}}
            before = PersistentResource.objects.existing().filter(resource_id="night-shift").first()
            change = ask_for_change(
                action, team=Team.objects.get(name="vision"), resource_id="night-shift", by=_user("lead"),
                now=database_now(), body=body.get(action), **PLACE,
                lifetime=timedelta(days=7) if action == "create" else None, before=before.body if before else None,
            )  # fmt: skip
            if change is None:  # another one is open: it may still need its approval
                change = ResourceChange.objects.filter(ended_at=None, allowed_at=None, due_at=None).first()
            if change is not None and change.awaits_approval:
                approve_change(change, by=_user("approver"), now=database_now())
            if change is not None:
                tasks.enqueue_resource_change(change.pk)

        return send

    def discover(self) -> None:
        """Ask for jobs that were made outside Trainboard."""
        row = observation.request_discovery(by=_user("owner"), now=database_now(), **PLACE)
        tasks.enqueue_discovery(row.pk)

    def adopt(self) -> None:
        """Adopt every job that was found."""
        for external in ExternalJob.objects.select_related("discovery"):
            adopt(external, team=Team.objects.get(name="vision"), by=_user("owner"), now=database_now())

    def operate(self, command: str) -> Callable[[], None]:
        """Return the action of an operator who runs a command of `manage.py`."""

        def run() -> None:
            self.kernel.log("An operator runs manage.py {}.", command)
            with suppress(SystemExit):  # an audit that finds something
                call_command(command, stdout=_Silent())

        return run


TO_STANDARD = Plan((Step("standard"), Step("standard")))


class _Silent:
    """An output that nobody reads."""

    def write(self, text: str) -> None:
        """Drop the text."""


def _user(name: str) -> User:
    return User.objects.get(username=name)


def _jobs(key: str) -> list[Job]:
    return list(Job.objects.filter(request_key=key).select_related("team", "owner"))


def changes_left() -> int:
    """Return the number of open changes of persistent resources."""
    return ResourceChange.objects.filter(ended_at=None).count()
