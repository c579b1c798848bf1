"""Tests of adoption: an external job is followed to its end, and its known past is recorded."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import budgets, observation, requests, steps, tasks, timeline
from jobs.models import Discovery, ExternalJob, Job, JobFigures, LogLine, Scope, Team
from jobs.observation import log_feeds
from jobs.spec.unknown import unknown_findings
from jobs.upkeep import count_ended
from jobs.upkeep.audit import audit
from jobs.vertex import timestamp
from tests.domain.conftest import Cloud, RequestJob, look, watch
from tests.domain.test_discovery import found, make
from tests.domain.test_restarts import restart_reasons
from tests.support.ledger import spent

KINDS = {
    "custom_job": "customJobs",
    "training_pipeline": "trainingPipelines",
    "hyperparameter_tuning_job": "hyperparameterTuningJobs",
}


def adopted(cloud: Cloud, team: Team, by: User, name: str = "theirs") -> Job:
    """Look for jobs and adopt the one called `name`."""
    job = observation.adopt(found(cloud, by)[name], team=team, by=by, now=cloud.now)
    job.refresh_from_db()
    assert list(audit(cloud.now)) == []
    return job


def states_of(job: Job) -> list[str]:
    """Return the states in the job's events, in the order of recording."""
    return list(job.events.filter(kind="state").order_by("id").values_list("to_state", flat=True))


class TestRow:
    def test_it_says_what_was_made_by_whom_and_when(self, team: Team, owner: User, cloud: Cloud) -> None:
        made = make(cloud, name="theirs", labels={"phase": "two"}, replicas=1)
        cloud.forward(minutes=1)

        job = adopted(cloud, team, owner)

        remote = cloud.job(made["name"])
        assert (job.is_adopted, job.team, job.owner, job.kind) == (True, team, owner, "custom_job")
        assert (job.project, job.region, job.remote_name) == ("vision-research", "us-central1", made["name"])
        assert (job.display_name, job.strategy, job.machines) == ("theirs", "spot", "1 × a2-highgpu-1g")
        assert job.requested_at == job.submitted_at == cloud.moment(remote["createTime"])
        assert job.spec == {"displayName": "theirs", "labels": {"phase": "two"}, "jobSpec": remote["jobSpec"]}
        assert (job.submit_attempts, job.due_at, job.attempted_at) == (0, None, None)
        event = job.events.get(kind="adopted")
        assert (event.actor, event.occurred_at) == (owner, cloud.now)
        assert "owner adopted" in event.message
        assert "read only here" in event.message
        assert not ExternalJob.objects.exists()

    def test_its_price_is_the_true_one_and_nobody_expected_anything(
        self, team: Team, owner: User, request_job: RequestJob, cloud: Cloud
    ) -> None:
        ours = request_job(hours=1)
        ours.refresh_from_db()
        make(cloud, name="theirs")

        job = adopted(cloud, team, owner)

        assert job.hourly_usd == ours.hourly_usd > 0
        assert job.estimate["lines"] == ours.estimate["lines"]
        assert (job.expected_seconds, job.estimate_usd, job.estimate["expected_usd"]) == (0, None, None)

    def test_what_is_unknown_here_is_kept_and_told(self, team: Team, owner: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")
        row = found(cloud, owner)["theirs"]
        row.body["jobSpec"]["quantumBits"] = {"count": 7}
        row.body["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["acceleratorType"] = "NVIDIA_Z9"
        row.save()

        job = observation.adopt(row, team=team, by=owner, now=cloud.now)

        assert job.spec["jobSpec"]["quantumBits"] == {"count": 7}
        event = job.events.get(kind="adopted")
        assert "a clone asks about them" in event.message
        assert "jobSpec.quantumBits" in {each["field"] for each in event.detail["not_read"]}
        clone = requests.submission_of(job)
        assert clone.display_name == "theirs"
        assert {"jobSpec.quantumBits"} <= {finding.field for finding in unknown_findings(clone.job)}
        assert list(audit(cloud.now)) == []

    @pytest.mark.parametrize(
        "strange",
        [
            {"jobSpec": "none"},
            {"jobSpec": {"workerPoolSpecs": [{}, {"machineSpec": 7}]}},
            {"displayName": None, "labels": []},
            {"state": "JOB_STATE_DREAMING"},
            {"createTime": "once", "updateTime": None},
        ],
    )
    def test_a_strange_description_still_becomes_a_job(
        self, team: Team, owner: User, cloud: Cloud, strange: dict[str, Any]
    ) -> None:
        make(cloud, name="theirs")
        row = found(cloud, owner)["theirs"]
        row.body |= strange
        row.save()

        job = observation.adopt(row, team=team, by=owner, now=cloud.now)

        assert job.state
        assert list(audit(cloud.now)) == []

    @pytest.mark.parametrize("depth", [10, 200])
    def test_a_description_too_deep_to_read_does_not_hinder(
        self, team: Team, owner: User, cloud: Cloud, depth: int
    ) -> None:
        make(cloud, name="theirs")
        row = found(cloud, owner)["theirs"]
        for _ in range(depth):
            row.body["jobSpec"] = {"jobSpec": row.body["jobSpec"]}

        job = observation.adopt(row, team=team, by=owner, now=cloud.now)

        assert job.display_name == "theirs"
        event = job.events.get(kind="adopted")
        assert event.detail["not_read"]
        assert ("keeps only its name" in event.message) == (depth == 200)
        assert set(job.spec) == ({"displayName"} if depth == 200 else {"displayName", "jobSpec"})


@pytest.mark.parametrize(
    "broken",
    [
        {"is_adopted": False},
        {"cancel_requested_at": "2026-01-01T00:00:00Z"},
        {"due_at": "2026-01-01T00:00:00Z"},
        {"submit_attempts": 1},
        {"remote_name": ""},
    ],
)
def test_the_audit_finds_what_cannot_be(team: Team, owner: User, cloud: Cloud, broken: dict[str, Any]) -> None:
    make(cloud, name="theirs")
    adopted(cloud, team, owner)

    Job.objects.update(**broken)

    assert list(audit(cloud.now)) != []


def test_the_sweep_hands_surveys_out(team: Team, owner: User, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    make(cloud, name="theirs")
    observation.request_discovery(project=team.project, region="us-central1", by=owner, now=cloud.now)
    sent: list[Any] = []
    monkeypatch.setattr(tasks.discover, "apply_async", lambda **hint: sent.append(hint["kwargs"]))
    monkeypatch.setattr("jobs.clock.read_database_clock", lambda: cloud.now)

    tasks.sweep()
    tasks.discover(**sent[0])

    assert ExternalJob.objects.get().display_name == "theirs"


class TestPast:
    def test_of_one_that_waits_nothing_is_invented(self, team: Team, owner: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")

        job = adopted(cloud, team, owner)

        assert len(states_of(job)) == 1
        assert job.state in {"queued", "pending"}
        assert job.started_at is None
        assert not job.events.filter(kind="unseen").exists()

    def test_of_one_that_runs_its_start_is_told_and_that_nobody_watched(
        self, team: Team, owner: User, cloud: Cloud
    ) -> None:
        cloud.script("long")
        made = make(cloud, name="theirs")
        cloud.forward(minutes=30)

        job = adopted(cloud, team, owner)

        remote = cloud.job(made["name"])
        assert states_of(job) == ["running"]
        assert job.started_at == job.running_since == cloud.moment(remote["startTime"])
        unseen = job.events.get(kind="unseen")
        assert unseen.detail["from"] == cloud.moment(remote["createTime"]).isoformat()
        assert unseen.occurred_at == cloud.now

    def test_of_one_created_in_the_future_begins_with_its_start(self, team: Team, owner: User, cloud: Cloud) -> None:
        cloud.script("long")
        made = make(cloud, name="theirs")
        cloud.forward(minutes=30)
        row = found(cloud, owner)["theirs"]
        row.body["createTime"] = timestamp(cloud.now + timedelta(hours=2))

        job = observation.adopt(row, team=team, by=owner, now=cloud.now)

        assert job.requested_at == cloud.moment(cloud.job(made["name"])["startTime"])

    def test_of_one_that_has_ended_start_and_end_are_told(self, team: Team, owner: User, cloud: Cloud) -> None:
        made = make(cloud, name="theirs")
        cloud.forward(hours=5)

        job = adopted(cloud, team, owner)

        remote = cloud.job(made["name"])
        start, end = cloud.moment(remote["startTime"]), cloud.moment(remote["endTime"])
        assert states_of(job) == ["running", "succeeded"]
        assert (job.started_at, job.ended_at) == (start, end)
        assert job.running_seconds == (end - start).total_seconds()
        assert job.events.get(kind="unseen").occurred_at == end

    def test_of_one_that_failed_the_reason_is_told(self, team: Team, owner: User, cloud: Cloud) -> None:
        cloud.script("oom")
        made = make(cloud, name="theirs")
        cloud.forward(hours=5)

        job = adopted(cloud, team, owner)

        assert job.state == "failed"
        assert job.error["message"] == cloud.job(made["name"])["error"]["message"]

    def test_of_a_search_that_has_ended_the_trials_are_told(self, team: Team, owner: User, cloud: Cloud) -> None:
        made = make(cloud, "hyperparameterTuningJobs", name="theirs")
        cloud.forward(hours=20)

        job = adopted(cloud, team, owner)

        remote = cloud.call("GET", made["name"])
        assert job.state == "succeeded"
        assert "trials" not in job.spec
        assert list(job.trials.order_by("pk").values_list("state", flat=True)) == ["SUCCEEDED"] * len(remote["trials"])
        assert set(job.log_sources) == {trial["customJob"].rpartition("/")[2] for trial in remote["trials"]}

    def test_what_was_read_a_while_ago_counts_as_seen_then(self, team: Team, owner: User, cloud: Cloud) -> None:
        cloud.script("long")
        make(cloud, name="theirs")
        cloud.forward(minutes=20)
        row, read_at = found(cloud, owner)["theirs"], cloud.now
        cloud.forward(minutes=30)

        job = observation.adopt(row, team=team, by=owner, now=cloud.now)
        job.refresh_from_db()
        assert job.seen_at == read_at
        look(cloud)

        gaps = job.events.filter(kind="unseen").order_by("id")
        assert [gap.occurred_at for gap in gaps] == [read_at, cloud.now]


class TestFuture:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_followed_to_its_end(self, team: Team, owner: User, cloud: Cloud, kind: str) -> None:
        made = make(cloud, KINDS[kind], name="theirs")
        job = adopted(cloud, team, owner)
        assert job.kind == kind

        watch(cloud, job, minutes=300, every=60)

        remote = cloud.call("GET", made["name"])
        told = states_of(job)
        assert told[-2:] == ["running", "succeeded"]
        assert len(told) == len(set(told))
        started = cloud.moment(remote["startTime"])
        # The startTime of a tuning job or pipeline is that of the study or pipeline itself, before any machine runs.
        assert job.started_at is not None
        assert job.started_at == started if kind == "custom_job" else job.started_at > started
        assert job.ended_at == cloud.moment(remote["endTime"])
        assert list(audit(cloud.now)) == []

    def test_one_that_its_request_follows_after_all_is_paid_once(
        self, team: Team, owner: User, cloud: Cloud, request_job: RequestJob
    ) -> None:
        cloud.script("long")
        job = request_job()
        cloud.fail("customJobs.create", "lost")
        steps.advance(job.pk, clock=cloud.clock)
        cloud.forward(minutes=30)
        ours = cloud.jobs()[0]
        asked = {"asked_by": owner, "asked_at": cloud.now, "answered_at": cloud.now, "reaches_back_to": cloud.now}
        place = Discovery.objects.create(project=team.project, region=job.region, **asked)
        body = {name: value for name, value in ours.items() if name != "labels"}
        told = {"remote_name": ours["name"], "display_name": "x", "state": ours["state"], "body": body}
        external = ExternalJob.objects.create(discovery=place, kind="custom_job", **told)
        theirs = observation.adopt(external, team=team, by=owner, now=cloud.now)
        budgets.watch_budgets(cloud.now)
        cloud.forward(minutes=30)
        cost = timeline.cost_so_far(Job.objects.get(pk=theirs.pk), cloud.now)

        steps.advance(job.pk, clock=cloud.clock)
        count_ended(cloud.now)
        budgets.watch_budgets(cloud.now)

        job.refresh_from_db()
        assert job.remote_name == ours["name"]
        assert cost == timeline.cost_so_far(job, cloud.now)
        assert cost
        assert spent(team, cloud.now) == round(cost, 6)
        assert JobFigures.objects.get(job=theirs).micros == 0

    def test_one_call_answers_for_ours_and_theirs(
        self, team: Team, owner: User, request_job: RequestJob, cloud: Cloud
    ) -> None:
        cloud.script("long")
        ours = request_job()
        steps.advance(ours.pk, clock=cloud.clock)
        for number in range(3):
            make(cloud, name=f"theirs {number}")
        rows = found(cloud, owner)
        for row in rows.values():
            observation.adopt(row, team=team, by=owner, now=cloud.now)
        cloud.forward(minutes=10)
        before = cloud.calls()

        steps.observe(Scope.objects.get().pk, clock=cloud.clock)

        after = cloud.calls()
        assert after["customJobs.list"] - before["customJobs.list"] == 1
        assert after.get("customJobs.get", 0) == before.get("customJobs.get", 0)
        assert set(Job.objects.values_list("state", flat=True)) == {"running"}
        assert set(Job.objects.values_list("last_seen__at", flat=True)) == {cloud.now}

    def test_the_list_asks_for_our_label_again_once_theirs_have_ended(
        self, team: Team, owner: User, request_job: RequestJob, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from jobs.vertex import VertexClient

        filters: list[str] = []
        pages = VertexClient.pages

        def listed(client: VertexClient, kind: str, **asked: Any) -> Any:
            filters.append(asked["filter"])
            return pages(client, kind, **asked)

        make(cloud, name="theirs")
        job = adopted(cloud, team, owner)
        cloud.script("long")
        steps.advance(request_job().pk, clock=cloud.clock)
        monkeypatch.setattr(VertexClient, "pages", listed)
        watch(cloud, job, minutes=120, every=60)
        cloud.forward(minutes=1)
        look(cloud)

        assert job.state == "succeeded"
        assert "trainboard_instance" not in filters[0]
        assert "trainboard_instance" in filters[-1]

    def test_its_restarts_are_told_those_of_its_past_as_well(
        self, team: Team, owner: User, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_feeds, "KEPT_LINES", 3)  # a chatty job: the newest lines do not reach back
        cloud.script("preempted")
        made = make(cloud, name="theirs")
        neighbour = make(cloud, name="neighbour")
        first = adopted(cloud, team, owner, "neighbour")
        for _ in range(60):  # the feed's cursor passes what the service writes about both
            cloud.forward(minutes=1)
            look(cloud)
        job = adopted(cloud, team, owner)
        for _ in range(5):
            cloud.forward(minutes=1)
            look(cloud)

        for each in (first, job):
            watch(cloud, each, minutes=300, every=60)
        for each, remote in ((first, neighbour), (job, made)):
            assert each.state == "succeeded"
            assert restart_reasons(each) == {"preempted": cloud.truth(remote["name"])["preemptions"]} != {}

    def test_its_log_is_read(self, team: Team, owner: User, cloud: Cloud) -> None:
        make(cloud, name="theirs")
        cloud.forward(hours=5)
        job = adopted(cloud, team, owner)

        for _ in range(4):
            cloud.forward(minutes=1)
            look(cloud)

        job.refresh_from_db()
        assert job.log_complete
        assert {"service", "workerpool0-0"} <= set(LogLine.objects.filter(job=job).values_list("replica", flat=True))

    def test_one_that_vanishes_is_given_up_like_any_other(self, team: Team, owner: User, cloud: Cloud) -> None:
        cloud.script("long")
        made = make(cloud, name="theirs")
        job = adopted(cloud, team, owner)
        cloud.delete(made["name"])
        for _ in range(30):
            cloud.forward(minutes=1)
            look(cloud)

        job.refresh_from_db()
        assert job.state == "lost"
        assert list(audit(cloud.now)) == []
