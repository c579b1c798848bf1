"""Tests that everything which creates cost passes the gate: all callers, and each path while the gate is closed."""

import ast
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, gate, requests, steps
from jobs.errors import NotAllowed
from jobs.fallback import Plan, Step
from jobs.models import Fallback, Job, Policy, ResourceChange, Role, Schedule, ScheduleRun, Team
from jobs.requests import schedule_runs, schedules
from jobs.requests.fallbacks import make_next_attempt
from jobs.requests.resource_requests import approve_change
from jobs.requests.schedules import Times
from jobs.spec import Finding, Severity
from jobs.upkeep import watch_schedules
from tests.conftest import person
from tests.domain.conftest import Cloud, RequestJob
from tests.domain.test_resource_requests import ask, made
from tests.support import samples
from tests.support.clock import Clock
from tests.support.resources import seen

ROOT = Path(__file__).parents[2] / "jobs"
ALLOWING = {
    "requests/request.py:_allow": "assess, in _assess before the rows are written",
    "requests/approval.py:decide": "budgets.check_approved, in reserve_approved in the same transaction",
    "requests/resource_requests.py:ask_for_change": "_check_gate",
    "requests/resource_requests.py:approve_change": "_check_gate",
    "upkeep/resource_lifetimes.py:_delete": "nothing: a deletion only ends cost",
}
"""Every function that allows a job or a change of a persistent resource, and where it passes the gate."""
SENDING = {
    "submission/adapters.py:create": "jobs in the state APPROVED, assessed again",
    "submission/resource_changes.py:_send": "changes that are allowed, checked again",
}
"""Every function that sends to Vertex AI what creates cost. Conformance runs by hand with a budget of its own."""
WRITING = {
    "vertex/client.py:create": "costs",
    "vertex/resource_calls.py:change_resource": "costs",
    "vertex/client.py:cancel": "ends cost",
    "vertex/client.py:delete": "removes a record",
    "vertex/client.py:delete_object": "removes a file",
    "vertex/client.py:_lines": "reads the log",
    "vertex/platform.py:advice": "reads",
    "vertex/platform.py:granted": "reads",
    "vertex/platform.py:granted_on_account": "reads",
    "vertex/platform.py:server_time": "reads",
}
"""Every function of the client that sends something other than GET. What costs is called by SENDING alone."""
COSTLY = {name.rpartition(":")[2] for name, what in WRITING.items() if what == "costs"}
ASKING = {
    "assessment/assess.py:assess": "a request, a further attempt, and an allowed job before it is sent",
    "budgets/ceilings.py:check_approved": "approvals",
    "requests/resource_requests.py:_check_gate": "persistent resources",
}
"""Every caller of `gate.check`."""


def functions() -> Iterator[tuple[str, ast.AST]]:
    """Yield every function of the domain as "file:name", without the functions inside it."""
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(("migrations/", "conformance/")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef):
                    yield f"{name}:{node.name}", node


def calls(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))


def allows(node: ast.AST) -> bool:
    """Return whether a function moves a job to APPROVED, or writes when a change was allowed."""
    for call in calls(node):
        name = ast.unparse(call.func).rpartition(".")[2]
        if name == "transition" and "JobState.APPROVED" in ast.unparse(node):
            return True
        if name not in ("filter", "exclude") and any(word.arg == "allowed_at" for word in call.keywords):
            return True
    stores = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)]
    return any(each.attr == "allowed_at" for each in stores)


def sends(node: ast.AST) -> bool:
    """Return whether a function calls what costs on anything but a manager of rows, a port, or a function's module."""
    for call in calls(node):
        if isinstance(call.func, ast.Attribute) and call.func.attr in COSTLY:
            receiver = ast.unparse(call.func.value)
            if not receiver.endswith((".objects", "ports.remote", "steps")):
                return True
    return False


def writes(node: ast.AST) -> bool:
    """Return whether a function of the client names a method of HTTP that changes something."""
    if any(isinstance(each, ast.Name) and each.id == "RESOURCE_CALLS" for each in ast.walk(node)):
        return True
    for call in calls(node):
        given = call.args[0] if call.args else None
        if isinstance(given, ast.Constant) and given.value in ("POST", "PUT", "PATCH", "DELETE"):
            return True
    return False


def asks_the_gate(node: ast.AST) -> bool:
    return any(ast.unparse(call.func) == "gate.check" for call in calls(node))


def test_the_callers_of_everything_that_creates_cost_are_known() -> None:
    found = list(functions())

    assert {name for name, node in found if allows(node)} == set(ALLOWING)
    assert {name for name, node in found if sends(node)} == set(SENDING)
    assert {name for name, node in found if name.startswith("vertex/") and writes(node)} == set(WRITING)
    assert {name for name, node in found if asks_the_gate(node)} == set(ASKING)


CLOSED = Finding("over_ceiling", Severity.ERROR, "", "The gate is closed.")


@pytest.fixture
def close(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """`close()` lets nothing through the gate from now on."""
    return lambda: monkeypatch.setattr(gate, "check", lambda *_: (CLOSED,))


@pytest.mark.django_db
class TestClosed:
    def test_a_job_a_sweep_and_a_job_with_further_attempts(
        self, request_job: RequestJob, team: Team, owner: User, cloud: Cloud, close: Any
    ) -> None:
        close()

        with pytest.raises(NotAllowed, match="The gate is closed"):
            request_job()
        options = requests.RequestOptions(team, owner, timedelta(minutes=6), cloud.now, plan=Plan((Step("standard"),)))
        for count in (1, 2):
            with pytest.raises(NotAllowed):
                requests.request_jobs(
                    [samples.submission(name=f"job-{n}") for n in range(count)], options, request_key=f"of-{count}"
                )

        assert not Job.objects.exists()

    def test_a_schedule_at_its_time_and_run_now(
        self, request_job: RequestJob, team: Team, owner: User, cloud: Cloud, close: Any
    ) -> None:
        row: Schedule = schedules.create_schedule(
            Times("nightly", "0 6 * * *", "UTC"), submission=samples.submission(**samples.limited(0.1, {})),
            team=Team.objects.get(pk=team.pk), by=owner, expected=timedelta(minutes=6), now=cloud.now,
        )  # fmt: skip
        close()
        cloud.forward(hours=21)

        assert watch_schedules(cloud.now) == 1
        with pytest.raises(NotAllowed):
            schedule_runs.run_now(row, by=owner, now=cloud.now, request_key="now")

        assert not Job.objects.exists()
        assert ScheduleRun.objects.get().outcome == "refused"

    def test_an_approval(self, request_job: RequestJob, approver: User, cloud: Cloud, close: Any) -> None:
        job = request_job(hours=40)
        close()

        with pytest.raises(NotAllowed):
            requests.approve(job, by=approver, comment="", now=cloud.now)

        job.refresh_from_db()
        assert job.state == "awaiting_approval"

    def test_a_further_attempt(
        self, request_job: RequestJob, team: Team, owner: User, cloud: Cloud, close: Any
    ) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=1000)
        submission = samples.submission(**samples.limited(0.1, {}))
        plan = Plan((Step("standard"),))
        options = requests.RequestOptions(
            Team.objects.get(pk=team.pk), owner, timedelta(minutes=6), cloud.now, plan=plan
        )
        (job,) = requests.request_jobs([submission], options, request_key="first")
        cloud.script("stockout")
        steps.advance(job.pk, clock=cloud.clock)
        Job.objects.filter(pk=job.pk).update(state="failed", ended_at=cloud.now, error={"message": "STOCKOUT"})
        close()
        row = Fallback.objects.get()

        make_next_attempt(row.pk, now=cloud.now)

        assert Job.objects.count() == 1
        row.refresh_from_db()
        assert row.ended_at is not None

    def test_an_allowed_job_before_it_is_sent(self, request_job: RequestJob, cloud: Cloud, close: Any) -> None:
        job = request_job()
        close()

        steps.advance(job.pk, clock=cloud.clock)

        assert cloud.jobs() == []
        job.refresh_from_db()
        assert job.state == "submit_failed"

    def test_a_persistent_resource_made_grown_kept_longer_and_restarted(
        self, team: Team, approver: User, cloud: Cloud, close: Any
    ) -> None:
        lead = person("lead", team, Role.LEAD)
        row = made(cloud, team, approver, lead)
        waits = ask(cloud, team, approver, "extend", body={}, before=row.body)
        close()

        with pytest.raises(NotAllowed):
            approve_change(waits, by=lead, now=cloud.now)
        ResourceChange.objects.filter(pk=waits.pk).update(ended_at=cloud.now)
        grown = row.body | {"resourcePools": [row.body["resourcePools"][0] | {"replicaCount": "9"}]}
        for action, body in (("create", row.body), ("resize", grown), ("extend", {}), ("reboot", {})):
            with pytest.raises(NotAllowed):
                ask(cloud, team, approver, action, body=body, before=row.body)

        assert ResourceChange.objects.count() == 2
        assert ask(cloud, team, approver, "delete", body={}).due_at is not None


def test_a_job_on_a_persistent_resource_adds_no_gpus_without_its_column(
    request_job: RequestJob, team: Team, clock: Clock
) -> None:
    seen(now=clock.now)
    job = request_job(resource="night-shift")
    assert job.gpus == 0

    Job.objects.update(gpus=None)  # requested before the column was there
    assert budgets.spent(clock.now, team_id=team.pk).gpus == 0
