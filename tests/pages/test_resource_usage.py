"""Tests of which jobs used a persistent resource, and of idle time."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import timeline, transitions
from jobs.models import Job, Membership, PersistentResource, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock
from tests.support.resources import seen, sized


def usage_of(row: PersistentResource, clock: Clock, hours: int = 24) -> timeline.Usage:
    jobs = list(Job.objects.all())
    (holding,) = timeline.holdings([row], jobs).values()
    return timeline.usage(holding, jobs, clock.now - timedelta(hours=hours), clock.now)


def end(job: Job, clock: Clock) -> None:
    assert transitions.transition(job, "succeeded", now=clock.now, message="It ended.")


class TestUsage:
    def test_jobs_of_one_time_stand_on_lanes_of_their_own(self, make_job: MakeJob, clock: Clock) -> None:
        first, second = (make_job("running", resource="night-shift", name=name) for name in ("first", "second"))
        clock.forward(hours=2)
        end(first, clock)
        clock.forward(hours=1)
        third = make_job("running", resource="night-shift", name="third")
        clock.forward(hours=1)
        usage = usage_of(seen(replicas=2, now=clock.now), clock)

        assert [[hold.job for hold in lane.holds] for lane in usage.lanes] == [[first, third], [second]]
        assert [hold.end is None for hold in usage.lanes[0].holds] == [False, True]

    def test_idle_is_what_is_not_held(self, make_job: MakeJob, clock: Clock) -> None:
        make_job("running", resource="night-shift")
        clock.forward(hours=6)
        usage = usage_of(seen(replicas=4, now=clock.now), clock)

        assert usage.held == {0: timedelta(hours=6)}
        assert usage.idle == {0: timedelta(hours=24 * 4 - 6)}
        assert usage.share == 6 / 96

    @pytest.mark.django_db
    def test_begins_when_the_resource_was_started(self, clock: Clock) -> None:
        body = {"startTime": f"{clock.now - timedelta(hours=3):%Y-%m-%dT%H:%M:%SZ}"}
        usage = usage_of(seen(replicas=2, now=clock.now, body=body), clock)

        assert usage.idle == {0: timedelta(hours=6)}

    def test_more_jobs_than_replicas_hold_no_more_than_there_is(self, make_job: MakeJob, clock: Clock) -> None:
        for _ in range(3):
            make_job("running", resource="night-shift")
        clock.forward(hours=5)
        usage = usage_of(seen(replicas=1, now=clock.now), clock, hours=2)

        assert usage.held == {0: timedelta(hours=2)}
        assert usage.idle == {0: timedelta()}

    def test_jobs_that_never_ran_or_ended_before_hold_nothing(self, make_job: MakeJob, clock: Clock) -> None:
        end(make_job("running", resource="night-shift"), clock)
        make_job("queued", resource="night-shift")
        clock.forward(hours=30)

        assert usage_of(seen(replicas=1, now=clock.now), clock).held == {0: timedelta()}


class TestPage:
    def test_shows_who_held_what_and_what_was_idle(self, make_job: MakeJob, engineer: Client, clock: Clock) -> None:
        began = clock.now
        make_job("running", resource="night-shift", name="resnet")
        clock.forward(seconds=(began + timedelta(hours=12) - clock.now).total_seconds())
        sized(replicas=2, used=1, now=clock.now, body={"startTime": (began - timedelta(hours=12)).isoformat()})

        page = engineer.get("/persistent-resources/")
        text = text_of(page)

        assert "held 25 % of the last 24 h" in text
        assert re.search(r"idle \$[\d.,]+", text)
        assert "1 of 2 replicas in use" in text
        assert (
            'aria-label="night-shift, the last 24 h: its replicas were held 25 % of the time."' in page.content.decode()
        )
        assert re.search(r"Replica 0: resnet from .* until now", text)

    def test_what_is_not_up_is_neither_hatched_nor_billed(self, engineer: Client, clock: Clock) -> None:
        """Vertex AI bills a persistent resource while it is RUNNING (vertex-facts 4.4)."""
        created = {"createTime": (clock.now - timedelta(hours=2)).isoformat()}
        sized(replicas=2, now=clock.now, state="PROVISIONING", body=created)

        waiting = engineer.get("/persistent-resources/")
        clock.forward(hours=1)
        sized(replicas=2, now=clock.now, body=created | {"startTime": clock.now.isoformat()})
        clock.forward(hours=1)
        running = engineer.get("/persistent-resources/")

        assert 'class="chart usage"' not in waiting.content.decode()
        assert "billed" not in text_of(waiting).replace("not billed", "")
        assert re.search(r"\$0\.00 per hour 0 resources are up", text_of(waiting))
        assert running.content.decode().count('class="idle"') == 3  # two lanes and the key
        assert "idle, billed" in text_of(running)

    def test_the_axis_has_round_hours_and_ends_now(self, engineer: Client, clock: Clock) -> None:
        clock.forward(minutes=7)
        sized(replicas=1, now=clock.now, body={"startTime": (clock.now - timedelta(hours=30)).isoformat()})

        page = engineer.get("/persistent-resources/").content.decode()

        texts = re.findall(r'<text x="[\d.]+%"[^>]*>([^<]+)</text>', page)
        assert texts[-1] == "now"
        assert all(re.fullmatch(r"\d\d:00|\d+ \w+", each) for each in texts[:-1])
        assert len(texts) > 3

    def test_a_replica_is_hatched_from_when_it_was_added(self, engineer: Client, clock: Clock) -> None:
        started = {"startTime": (clock.now - timedelta(hours=8)).isoformat()}
        sized(replicas=1, now=clock.now, body=started)
        clock.forward(hours=8)
        sized(replicas=2, now=clock.now, body=started)
        clock.forward(hours=8)

        page = engineer.get("/persistent-resources/").content.decode()

        bars = re.findall(r'class="idle" x="([\d.]+)%" width="([\d.]+)%"', page)
        assert [(round(float(x)), round(float(width))) for x, width in bars] == [(0, 100), (67, 33)]

    def test_names_no_job_of_another_team(
        self, make_job: MakeJob, signed_in: SignIn, clock: Clock, owner: User
    ) -> None:
        neighbours = Team.objects.create(name="neighbours", project="vision-research")
        other = person("neighbour", neighbours, "engineer")
        make_job("running", resource="night-shift", name="hush")
        clock.forward(hours=1)
        seen(now=clock.now)

        text = text_of(signed_in(other).get("/persistent-resources/"))

        assert "hush" not in text
        assert "a job of another team" in text
        assert Membership.objects.filter(user=other).count() == 1

    def test_shows_a_stranger_nothing(self, make_job: MakeJob, stranger: User, signed_in: SignIn, clock: Clock) -> None:
        make_job("running", resource="night-shift", name="hush")
        seen(now=clock.now)

        text = text_of(signed_in(stranger).get("/persistent-resources/"))

        assert "hush" not in text
        assert "night-shift" not in text


class TestBill:
    def test_is_shared_out_with_the_idle_rest(self, make_job: MakeJob, clock: Clock) -> None:
        """P6 of the worked examples: four machines are up for 24 hours, of which jobs hold all for six."""
        hour = Decimal("0.21849885") + Decimal("19.55") / 730
        jobs = [make_job("running", resource="night-shift", name=f"part-{number}") for number in range(4)]
        clock.forward(hours=6)
        for job in jobs:
            end(job, clock)
        clock.forward(hours=18)
        usage = usage_of(seen(replicas=4, now=clock.now), clock)

        bill = timeline.resource_bill(usage, {0: hour})

        assert bill is not None
        assert f"{bill.total:.9f}" == "23.546848504"
        assert {each for each, _ in bill.shares} == set(jobs)
        assert {f"{usd:.9f}" for _, usd in bill.shares} == {"1.471678032"}
        assert f"{bill.idle:.9f}" == "17.660136378"

    def test_adds_up_however_many_jobs_wanted_the_same_replicas(self, make_job: MakeJob, clock: Clock) -> None:
        for _ in range(5):
            make_job("running", resource="night-shift")
            clock.forward(hours=2)
        usage = usage_of(seen(replicas=2, now=clock.now), clock)

        bill = timeline.resource_bill(usage, {0: Decimal(3)})

        assert bill is not None
        assert bill.total == 24 * 2 * 3

    @pytest.mark.django_db
    def test_is_unknown_without_a_price(self, clock: Clock) -> None:
        assert timeline.resource_bill(usage_of(seen(replicas=2, now=clock.now), clock), {0: None}) is None

    def test_names_no_job_of_another_team(
        self, make_job: MakeJob, clock: Clock, team: Team, other_team: Team, stranger: User, signed_in: SignIn
    ) -> None:
        Team.objects.filter(pk=other_team.pk).update(project=team.project)
        sized(replicas=2, now=clock.now)
        job = make_job("running", resource="night-shift", name="secret-plan")
        clock.forward(hours=6)

        own = text_of(signed_in(job.owner).get("/persistent-resources/"))
        others = text_of(signed_in(stranger).get("/persistent-resources/"))

        assert re.search(r"\$[\d.]+ in the last 24 h secret-plan \$[\d.]+ Idle \$", own)
        assert "secret-plan" not in others
        assert re.search(r"\$[\d.]+ in the last 24 h Other jobs \$[\d.]+ Idle \$", others)
