"""Tests of schedules in the API: created once for each key, run as the caller, changed by owner and leads."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User

from jobs import transitions
from jobs.models import Job, Membership, Policy, Schedule, ScheduleRun, Team
from jobs.requests import schedules
from jobs.upkeep import watch_schedules
from tests.conftest import person
from tests.domain.test_concurrency import together
from tests.support import samples
from tests.support.api import Caller, caller
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
TIMES = {"schedule": "nightly", "cron": "0 6 * * 1-5", "time_zone": "Europe/Berlin"}


@pytest.fixture
def api(owner: User) -> Caller:
    return caller(owner)


def asked(**changes: Any) -> dict[str, Any]:
    """Return a request for a schedule of a job that costs less than a dollar."""
    spec = samples.body(**samples.limited(0.05, changes.pop("spec", {})))
    return {"spec": spec, "expected_seconds": 180} | TIMES | changes


def made(api: Caller, **changes: Any) -> Schedule:
    answer = api.post("/schedules", asked(**changes))
    assert answer.status_code == 201, answer.json()
    return Schedule.objects.get(pk=answer.json()["id"])


class TestMaking:
    def test_keeps_the_job_and_its_times(self, api: Caller, owner: User, team: Team) -> None:
        plan = {"steps": [{"strategy": "spot"}], "max_usd": "9"}
        answer = api.post("/schedules", asked(cap_usd="7.50", further_attempts=plan, last_day="2027-01-31"))

        row = Schedule.objects.get()
        assert answer.status_code == 201
        assert answer["Location"] == f"/api/v1/schedules/{row.pk}"
        assert (row.owner, row.team, row.name, row.cron) == (owner, team, "nightly", "0 6 * * 1-5")
        assert (str(row.cap_usd), row.expected_seconds, str(row.last_day)) == ("7.50", 180, "2027-01-31")
        assert row.plan is not None
        assert row.plan["max_usd"] == "9"
        assert answer.json()["next_at"] is not None
        assert not Job.objects.exists()

    def test_its_runs_are_those_of_one_made_on_the_page(self, api: Caller, clock: Clock, owner: User) -> None:
        row = made(api)
        assert row.next_at is not None

        assert watch_schedules(row.next_at) == 1

        assert (Job.objects.get().owner, ScheduleRun.objects.get().outcome) == (owner, "requested")

    @pytest.mark.parametrize(
        ("wrong", "field", "told"),
        [
            ({"cron": "often"}, "cron", "Write five fields"),
            ({"cron": "* * * * *"}, "cron", "more often than every five minutes"),
            ({"time_zone": "Mars"}, "time_zone", "is not a time zone"),
            ({"schedule": " "}, "schedule", "Give it a name"),
            ({"schedule": "x" * 81}, "schedule", "at most 80 characters"),
            ({"last_day": "2020-01-01"}, "last_day", "no run before its last day ends"),
            ({"last_day": "soon"}, "last_day", "valid date"),
            ({"region": "r" * 39 + "\x00"}, "schedule", "cannot be stored"),
        ],
    )
    def test_says_what_is_wrong_and_keeps_nothing(self, api: Caller, wrong: Any, field: str, told: str) -> None:
        answer = api.post("/schedules", asked(**wrong))

        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["field"] == field
        assert told in error["message"]
        assert not Schedule.objects.exists()

    def test_a_secret_a_placeholder_and_a_name_in_use_are_refused(self, api: Caller) -> None:
        made(api)
        env = [{"name": "API_TOKEN", "value": "sk-live-51H8xkJ2eZvKYlo2C0aBcDeF"}]
        secret = asked(schedule="second")
        secret["spec"]["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"] = env
        open_value = asked(schedule="third")
        open_value["spec"]["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["imageUri"] = "YOUR_IMAGE"

        answers = [api.post("/schedules", body) for body in (asked(), secret, open_value)]

        assert [answer.status_code for answer in answers] == [422, 422, 422]
        assert "already has a schedule with this name" in answers[0].json()["detail"]
        assert "secret" in answers[1].json()["detail"]
        assert answers[2].json()["findings"]
        assert Schedule.objects.count() == 1

    def test_a_team_has_a_bounded_number(self, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(schedules, "MAX_OF_TEAM", 1)
        made(api)

        assert "at most 1 schedules" in api.post("/schedules", asked(schedule="second")).json()["detail"]


class TestKeys:
    def test_the_same_key_makes_it_once(self, api: Caller) -> None:
        first, again = (api.post("/schedules", asked(), key="ci-7") for _ in range(2))

        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()
        assert Schedule.objects.count() == 1

    def test_with_another_request_it_is_refused(self, api: Caller) -> None:
        api.post("/schedules", asked(), key="ci-7")

        for other in ({"cron": "0 7 * * *"}, {"expected_seconds": 60}, {"cap_usd": "3"}, {"schedule": "second"}):
            answer = api.post("/schedules", asked(**other), key="ci-7")
            assert (answer.status_code, answer.json()["type"]) == (422, "/api/#problem-key-reused"), other
        assert Schedule.objects.count() == 1

    def test_what_was_changed_since_is_still_the_one(self, api: Caller, clock: Clock) -> None:
        row = Schedule.objects.get(pk=api.post("/schedules", asked(), key="ci-7").json()["id"])
        clock.forward(seconds=5)
        api.post(f"/schedules/{row.pk}/pause")

        again = api.post("/schedules", asked(), key="ci-7")

        assert (again.status_code, again.json()["is_enabled"]) == (200, False)

    def test_a_key_is_a_persons_own(self, api: Caller, teammate: User) -> None:
        api.post("/schedules", asked(), key="ci-7")

        assert caller(teammate).post("/schedules", asked(schedule="other"), key="ci-7").status_code == 201

    @pytest.mark.django_db(transaction=True)
    def test_of_several_at_once_one_makes_it(self, api: Caller) -> None:
        answers = together(lambda _: api.post("/schedules", asked(), key="ci-7"))

        assert {answer.status_code for answer in answers} <= {200, 201}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert Schedule.objects.count() == 1


class TestRunNow:
    def test_requests_the_job_once_for_each_key(self, api: Caller, owner: User) -> None:
        row = made(api)

        first, again = (api.post(f"/schedules/{row.pk}/run", key="now-1") for _ in range(2))

        job, run = Job.objects.get(), ScheduleRun.objects.get()
        assert (first.status_code, again.status_code) == (201, 200)
        assert (again.json()["is_repeated"], again.json()["job"]["id"]) == (True, str(job.pk))
        assert (job.owner, job.state, run.job, run.message) == (owner, "approved", job, "owner ran it now.")
        assert Schedule.objects.get().next_at == row.next_at

    def test_a_key_of_another_request_is_refused(self, api: Caller) -> None:
        row, body = made(api), asked()
        api.post("/jobs", {name: body[name] for name in ("spec", "expected_seconds")}, key="k")

        assert api.post(f"/schedules/{row.pk}/run", key="k").json()["type"] == "/api/#problem-key-reused"

    def test_waits_for_the_run_before_unless_runs_may_overlap(self, api: Caller, clock: Clock) -> None:
        row, free = made(api), made(api, schedule="free", allows_overlap=True)

        assert [api.post(f"/schedules/{row.pk}/run").status_code for _ in range(2)] == [201, 409]
        clock.forward(seconds=1)
        assert [api.post(f"/schedules/{free.pk}/run").status_code] == [201]
        clock.forward(seconds=1)
        assert [api.post(f"/schedules/{free.pk}/run").status_code] == [201]
        transitions.transition(row.runs.get().job, "withdrawn", now=clock.now, message="x")
        assert api.post(f"/schedules/{row.pk}/run").status_code == 201

    def test_is_judged_as_any_job(self, api: Caller, team: Team) -> None:
        row = made(api)
        Policy.objects.filter(team=team).update(regions=["europe-west4"])

        answer = api.post(f"/schedules/{row.pk}/run")

        assert (answer.status_code, answer.json()["type"]) == (422, "/api/#problem-refused")
        assert not ScheduleRun.objects.exists()
        Policy.objects.filter(team=team).update(regions=[], ask_over_usd=0)
        assert api.post(f"/schedules/{row.pk}/run").json()["job"]["state"] == "awaiting_approval"

    def test_is_requested_in_the_name_of_who_runs_it(self, api: Caller, team: Team) -> None:
        row, lead = made(api), person("lead", team, "lead")

        assert caller(lead).post(f"/schedules/{row.pk}/run").status_code == 201
        assert Job.objects.get().owner == lead


class TestChanging:
    def test_changes_what_is_named_and_nothing_else(self, api: Caller, clock: Clock) -> None:
        row = made(api, last_day="2027-01-31")
        clock.forward(seconds=5)

        answer = api.patch(f"/schedules/{row.pk}", {"cron": " 30 7  * * *", "schedule": " daily "})

        after = Schedule.objects.get()
        assert (answer.status_code, answer.json()["cron"], answer.json()["name"]) == (200, "30 7 * * *", "daily")
        assert (after.name, after.cron, after.time_zone) == ("daily", "30 7 * * *", "Europe/Berlin")
        assert (str(after.last_day), after.allows_overlap) == ("2027-01-31", False)
        assert after.next_at == datetime(2026, 3, 3, 6, 30, tzinfo=UTC), "07:30 in Berlin"
        assert (after.spec, after.owner) == (row.spec, row.owner)

    def test_sent_again_it_writes_nothing(self, api: Caller, clock: Clock) -> None:
        row = made(api)
        first = api.patch(f"/schedules/{row.pk}", {"last_day": "2027-01-31", "allows_overlap": True})
        entries, changed = LogEntry.objects.count(), Schedule.objects.get().updated_at
        clock.forward(seconds=5)

        again = api.patch(f"/schedules/{row.pk}", {"last_day": "2027-01-31", "allows_overlap": True})
        nothing = api.patch(f"/schedules/{row.pk}", {})

        assert first.json() == again.json() == nothing.json()
        assert (LogEntry.objects.count(), Schedule.objects.get().updated_at) == (entries, changed)
        assert api.patch(f"/schedules/{row.pk}", {"last_day": None}).json()["last_day"] is None

    @pytest.mark.parametrize(
        ("wrong", "field", "told"),
        [
            ({"cron": "* * * * *"}, "cron", "more often than every five minutes"),
            ({"time_zone": "Mars"}, "time_zone", "is not a time zone"),
            ({"schedule": ""}, "schedule", "Give it a name"),
            ({"schedule": "second"}, "schedule", "already has a schedule with this name"),
            ({"last_day": "2020-01-01"}, "last_day", "no run before its last day ends"),
            ({"cron": None}, "cron", "valid string"),
            ({"spec": {}}, "spec", "not permitted"),
        ],
    )
    def test_says_what_is_wrong_and_changes_nothing(self, api: Caller, wrong: Any, field: str, told: str) -> None:
        row = made(api)
        made(api, schedule="second")

        answer = api.patch(f"/schedules/{row.pk}", wrong)

        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["field"] == field
        assert told in error["message"]
        after = Schedule.objects.get(pk=row.pk)
        assert (after.name, after.cron, after.updated_at) == (row.name, row.cron, row.updated_at)

    def test_a_paused_one_stays_paused(self, api: Caller) -> None:
        row = made(api)
        api.post(f"/schedules/{row.pk}/pause")

        answer = api.patch(f"/schedules/{row.pk}", {"cron": "0 7 * * *"})

        assert (answer.status_code, answer.json()["is_enabled"], answer.json()["next_at"]) == (200, False, None)

    def test_a_lead_may_and_a_teammate_may_not(self, api: Caller, team: Team, teammate: User) -> None:
        row, lead = made(api), person("lead", team, "lead")

        assert caller(teammate).patch(f"/schedules/{row.pk}", {"cron": "0 7 * * *"}).status_code == 403
        assert caller(lead).patch(f"/schedules/{row.pk}", {"cron": "0 8 * * *"}).status_code == 200
        assert (Schedule.objects.get().cron, Schedule.objects.get().owner) == ("0 8 * * *", lead), "it is theirs now"


class TestOthers:
    def test_delete(self, api: Caller) -> None:
        row = made(api)
        api.post(f"/schedules/{row.pk}/run")

        answer = api.delete(f"/schedules/{row.pk}")

        assert (answer.status_code, answer.content) == (204, b"")
        assert api.delete(f"/schedules/{row.pk}").status_code == 404
        assert (Schedule.objects.count(), Job.objects.count()) == (0, 1)

    def test_a_stranger_sees_and_does_nothing(self, api: Caller, stranger: User) -> None:
        row, other = made(api), caller(stranger)

        assert other.get("/schedules").json() == []
        assert other.get(f"/schedules/{row.pk}").status_code == 404
        assert other.delete(f"/schedules/{row.pk}").status_code == 404
        assert other.patch(f"/schedules/{row.pk}", {"cron": "0 7 * * *"}).status_code == 404
        for verb in ("run", "pause", "resume"):
            assert other.post(f"/schedules/{row.pk}/{verb}").status_code == 404
        assert other.post("/schedules", asked(team="vision")).status_code == 404
        assert (Schedule.objects.count(), Job.objects.count()) == (1, 0)

    def test_a_viewer_may_look_only(self, api: Caller, owner: User) -> None:
        row = made(api)
        Membership.objects.filter(user=owner).update(role="viewer")

        assert UUID(api.get("/schedules").json()[0]["id"]) == row.pk
        assert api.post("/schedules", asked(schedule="second")).status_code == 403
        assert api.post(f"/schedules/{row.pk}/run").status_code == 403
        assert api.delete(f"/schedules/{row.pk}").status_code == 403
