"""A person who wants no approval, at every door of the site, and the price of what Google was sent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.test import Client

from jobs import steps
from jobs.models import Approval, Ceiling, Job, Membership, PersistentResource, ResourceChange, Role, Scope, Team
from jobs.upkeep import end_lifetimes, watch_fallbacks, watch_schedules
from tests.conftest import PASSWORD
from tests.support import google_bill, samples
from tests.support.api import Caller, caller

if TYPE_CHECKING:
    from tests.domain.conftest import Cloud

LIMIT = Decimal(25)
"""US dollars above which the team's policy asks about a job."""
ENDED = frozenset(f"JOB_STATE_{state}" for state in ("SUCCEEDED", "FAILED", "CANCELLING", "CANCELLED", "EXPIRED"))
"""States after which Google spends no more."""
LONG = samples.body(name="long", scheduling={"timeout": "604800s"})


@dataclass
class World:
    """Who acts, and where. `me` is an engineer, an approver or a lead; `friend` an account that `me` has invited."""

    team: Team
    cloud: "Cloud"
    folder: Path
    me: User
    honest: User
    keys: Any = field(default_factory=count)
    programs: dict[int, Caller] = field(default_factory=dict)

    def become(self, role: str) -> None:
        """Give `me` another role."""
        Membership.objects.filter(user=self.me).update(role=role)

    def page(self, by: User | None = None) -> Client:
        """Return the browser of a person, `me` if not otherwise said."""
        client = Client()
        client.force_login(User.objects.get(pk=(by or self.me).pk))
        return client

    def api(self, by: User | None = None) -> Caller:
        """Return a program with a token of a person."""
        person = by or self.me
        if person.pk not in self.programs:  # nobody has more than twenty tokens
            self.programs[person.pk] = caller(person)
        return self.programs[person.pk]

    def friend(self, role: str = Role.APPROVER) -> User:
        """Return an account that `me`, a lead now, has invited and opened."""
        self.become(Role.LEAD)
        form = {"email": "friend@example.com", "role": role}
        page = self.page().post(f"/teams/{self.team.pk}/invitations/", form).content.decode()
        link = re.search(r"/invitations/([\w-]{20,})/", page)
        assert link is not None
        new = {"username": "friend", "password1": PASSWORD, "password2": PASSWORD}
        Client().post(f"/invitations/{link[1]}/", new)
        friend = User.objects.get(username="friend")
        Membership.objects.filter(user=friend).update(role=role)  # of before two people were needed
        return friend

    def work(self, *, hours: float = 0) -> None:
        """Let the time pass, and every worker do what is due."""
        self.cloud.forward(hours=hours)
        watch_schedules(self.cloud.now)
        watch_fallbacks(self.cloud.clock)
        end_lifetimes(self.cloud.now)
        for job in steps.due_jobs(self.cloud.now):
            steps.advance(job, clock=self.cloud.clock)
        for change in steps.due_resource_changes(self.cloud.now):
            steps.change_resource(change, clock=self.cloud.clock)
        Scope.objects.update(due_at=self.cloud.now)
        for scope in steps.due_scopes(self.cloud.now):
            steps.observe(scope, clock=self.cloud.clock)

    def waiting(self) -> Job:
        """Request a dear job by API as `me`, and return it."""
        self.api().post("/jobs", {"spec": LONG, "expected_seconds": 60}, key=f"dear-{next(self.keys)}")
        return Job.objects.get(state="awaiting_approval")

    def approve(self, job: Job, by: User) -> None:
        """Approve a job in every way that pages and API have."""
        form = {"decision": "approve", "amount": str(job.max_usd), "digest": Approval.objects.get(job=job).digest}
        for more in ({}, {"back": "board", "asked": "1"}, {"decision": "as:standard:1"}, {"decision": "accept"},
                     {"decision": "keep"}, {"cap": "1"}):  # fmt: skip
            self.page(by).post(f"/jobs/{job.pk}/decide/", form | more)
        several = {"action": "approve", "job": [str(job.pk)], "key": "all", "confirm": "1"}
        self.page(by).post("/jobs/several/", several | {f"amount-{job.pk}": str(job.max_usd)})
        for body in ({}, {"max_usd": str(job.max_usd)}):
            self.api(by).post(f"/jobs/{job.pk}/approve", body)

    def machines(self, name: str = "mine", replicas: int = 1, by: User | None = None, **more: Any) -> None:
        """Ask for a persistent resource on its page."""
        form = {
            "project": self.team.project, "region": "us-central1", "resource_id": name, "replicas": str(replicas),
            "machine_type": "a2-highgpu-1g", "accelerator_type": "", "accelerator_count": "", "lifetime_days": "1",
            "disk_gb": "100", "create": "1",
        }  # fmt: skip
        answer = self.page(by).post("/persistent-resources/new/", form | more)
        assert answer.status_code == 302, answer.content.decode()

    def decide(self, by: User, do: str = "approve") -> None:
        """Decide about every change of a persistent resource."""
        for row in ResourceChange.objects.order_by("pk"):
            self.page(by).post(f"/persistent-resources/changes/{row.pk}/", {"do": do})

    def agreed_machines(self) -> PersistentResource:
        """Return a resource of one machine that somebody else has approved."""
        self.become(Role.APPROVER)
        self.machines("shared")
        self.decide(self.honest)
        self.work()
        self.work(hours=0.5)
        return PersistentResource.objects.get()

    def change(self, row: PersistentResource, action: str, by: User | None = None, **form: Any) -> None:
        """Ask for a change of a resource on its page."""
        self.page(by).post(f"/persistent-resources/{row.pk}/{action}/", form)


def cost(document: dict[str, Any]) -> tuple[Decimal, Decimal, int]:
    """Return what a job at Google can cost until its timeout, with every restart; its price an hour; its GPUs."""
    return google_bill.most_of(document["jobSpec"]), *google_bill.size_of(document["jobSpec"])


def judge(world: World, *, machines: int = 0, agreed: Mapping[str, Decimal] | None = None) -> list[dict[str, Any]]:
    """Compare what Google was sent with what one person may.

    `machines` is what somebody else has approved, `agreed` what the one job of each name may cost by an approval.
    """
    for _ in range(2):
        world.work()
    documents = world.cloud.jobs()
    figures = [cost(document) for document in documents]
    limits_of = dict(agreed or {})
    for document, (usd, *_) in zip(documents, figures, strict=True):
        assert usd <= limits_of.pop(document["displayName"], LIMIT), document["displayName"]
    parent = f"projects/{world.team.project}/locations/us-central1/persistentResources"
    found = world.cloud.call("GET", parent).get("persistentResources", [])
    replicas = sum(int(pool["replicaCount"]) for each in found for pool in each["resourcePools"])
    assert replicas <= machines
    alive = [cost(document) for document in documents if document["state"] not in ENDED]
    sums = [sum(column) for column in zip(*alive, strict=True)] or [0, 0, 0]
    limits = dict(Ceiling.objects.values_list("kind", "amount"))
    for kind, spent in zip(("person_day", "hour", "gpus"), sums, strict=True):
        assert spent <= limits.get(kind, spent), kind
    return documents
