"""Tests of the page of persistent resources: contents, users, cost, and nothing of other projects."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.drawing.replicas import MAX_CELLS, replicas, resource_mark
from jobs import observation
from jobs.models import Job, Membership, PersistentResource, Policy, Scope, Team
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_of
from tests.support.clock import Clock
from tests.support.resources import DISK, seen

HTMX = {"HX-Request": "true"}
NIGHT = {"resource": "night-shift"}
N1 = {
    "machineSpec": {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 2},
    "diskSpec": {"bootDiskType": "pd-standard", "bootDiskSizeGb": 200},
    "replicaCount": "2",
    "autoscalingSpec": {"minReplicaCount": "1", "maxReplicaCount": "6"},
    "usedReplicaCount": "1",
}


class TestCards:
    def test_says_what_it_has_and_what_it_costs(self, engineer: Client, clock: Clock) -> None:
        seen(pools=[N1], display_name="For the night", now=clock.now)
        clock.forward(seconds=90)

        answer = engineer.get("/persistent-resources/")

        text, page = text_of(answer), answer.content.decode()
        for words in (
            "night-shift For the night",
            "RUNNING for at least 1 min 30 s",
            "us-central1 · vision-research",
            "seen 1 min ago",
            "n1-standard-8 2 × NVIDIA_TESLA_T4",
            "pd-standard 200 GB",
            "1 of 2, autoscaled from 1 to 6",
        ):
            assert words in text
        assert 'aria-label="1 of 2 replicas in use, may grow to 6"' in page
        (card,) = answer.context["cards"]
        assert card.usd_per_hour == sum(pool.usd_per_hour for pool in card.pools) > 1
        assert card.pools[0].usd_per_hour > 0

    def test_is_billed_for_all_replicas_that_are_there(self, engineer: Client, clock: Clock) -> None:
        seen("one", replicas=1, now=clock.now)
        seen("four", replicas=4, used=1, now=clock.now)
        four, one = engineer.get("/persistent-resources/").context["cards"]

        assert four.usd_per_hour == 4 * one.usd_per_hour

    def test_a_machine_without_a_price_makes_the_whole_unknown(self, engineer: Client, clock: Clock) -> None:
        odd = {"machineSpec": {"machineType": "z9-standard-2"}, "diskSpec": DISK, "replicaCount": "1"}
        seen(pools=[N1, odd], now=clock.now)

        assert engineer.get("/persistent-resources/").context["cards"][0].usd_per_hour is None
        assert "no price known" in text_of(engineer.get("/persistent-resources/"))

    @pytest.mark.parametrize("body", [{"resourcePools": 7}, {"error": {"message": "x" * 9000}}, {"error": "odd"}])
    def test_whatever_vertex_ai_says_of_it_can_be_shown(
        self, engineer: Client, clock: Clock, body: dict[str, Any]
    ) -> None:
        seen(state="<b>ERROR</b>", body=body, now=clock.now)

        page = engineer.get("/persistent-resources/").content.decode()

        assert "&lt;b&gt;ERROR" in page
        assert "x" * 1001 not in page

    def test_an_error_is_told_in_vertex_ai_s_words(self, engineer: Client, clock: Clock) -> None:
        seen(state="ERROR", body={"error": {"code": 8, "message": "No machines left."}}, now=clock.now)

        text = text_of(engineer.get("/persistent-resources/"))

        assert "No machines left." in text
        assert "/ h when running" in text
        assert "New job on it" not in text

    def test_old_knowledge_and_a_place_that_fails_say_so(self, engineer: Client, clock: Clock, team: Team) -> None:
        seen(now=clock.now)
        Scope.objects.create(
            project=team.project,
            region="us-central1",
            kind="persistent_resource",
            failing_since=clock.now,
            failures=3,
            last_error="permission denied",
        )
        clock.forward(minutes=11)

        page = engineer.get("/persistent-resources/").content.decode()

        assert 'class="stale">last seen' in page
        assert "permission denied" in page

    def test_one_that_is_gone_is_mentioned_for_a_week(self, engineer: Client, clock: Clock, settings: Any) -> None:
        settings.SESSION_IDLE = timedelta(days=14)
        seen(gone_at=clock.now, now=clock.now)
        clock.forward(days=6)
        assert "Deleted in the last seven days night-shift" in text_of(engineer.get("/persistent-resources/"))
        clock.forward(days=2)

        assert "night-shift" not in text_of(engineer.get("/persistent-resources/")).split("No persistent resource")[0]


class TestJobs:
    def test_those_on_it_are_linked_and_others_counted(
        self, engineer: Client, make_job: MakeJob, stranger: User, clock: Clock
    ) -> None:
        seen(now=clock.now)
        mine = make_job("running", name="resnet", extra_replicas=1, **NIGHT)
        waits = make_job("queued", name="bert", **NIGHT)
        twin = Team.objects.create(name="zz-twin", project="vision-research")
        Membership.objects.create(team=twin, user=stranger, role="engineer")
        make_job("running", name="secret", of=twin, by=stranger, **NIGHT)
        make_job("queued", name="secret-too", of=twin, by=stranger, **NIGHT)
        make_job("running", name="elsewhere")
        seen(used=4, now=clock.now)

        answer = engineer.get("/persistent-resources/")

        text, page = text_of(answer), answer.content.decode()
        assert "Running: resnet (2), 2 replicas held by other jobs" in text
        assert "Waiting: bert , 1 job of other teams" in text
        assert f'href="/jobs/{mine.pk}/"' in page
        assert f'href="/jobs/{waits.pk}/"' in page
        assert "secret" not in page
        assert "elsewhere" not in page

    def test_asks_as_often_for_many_as_for_one(
        self, engineer: Client, make_job: MakeJob, clock: Clock, django_assert_num_queries: Any
    ) -> None:
        seen(used=4, now=clock.now)
        make_job("running", **NIGHT)
        engineer.get("/persistent-resources/")
        with CaptureQueriesContext(connection) as few:
            engineer.get("/persistent-resources/")
        asked = len(few)
        for place in range(12):
            seen(f"pool-{place}", used=2, now=clock.now)
            make_job("running", resource=f"pool-{place}")
            make_job("queued", resource=f"pool-{place}")
        engineer.get("/persistent-resources/")  # the clock has moved on: reads the prices again

        with django_assert_num_queries(asked):
            engineer.get("/persistent-resources/")


class TestWays:
    def test_a_job_is_composed_on_a_pool_of_it(self, engineer: Client, clock: Clock) -> None:
        pool = seen(pools=[N1, {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1"}], now=clock.now)
        assert (
            f'href="/jobs/new/?resource={pool.pk}&amp;part=1"'
            in engineer.get("/persistent-resources/").content.decode()
        )

        page = engineer.get(f"/jobs/new/?resource={pool.pk}&part=0")

        assert "On the persistent resource night-shift." in text_of(page)
        fields = fields_of(page.content.decode())
        told = {name: fields[name] for name in ("strategy", "resource", "region", "pool-0-machine_type")}
        assert told == {
            "strategy": "persistent",
            "resource": "night-shift",
            "region": "us-central1",
            "pool-0-machine_type": "n1-standard-8",
        }
        asked = fields | {
            "name": "on-it",
            "pool-0-image": "us-docker.pkg.dev/vision/train/penguins:1",
            "run_time": "6 min",
        }
        assert engineer.post("/jobs/new/", asked).status_code == 302
        worker = Job.objects.get().spec["jobSpec"]["workerPoolSpecs"][0]
        assert (worker["machineSpec"], worker["diskSpec"]) == (N1["machineSpec"], N1["diskSpec"])

    @pytest.mark.parametrize(
        "address", ["?resource={}&part=1", "?resource={}&part=x", "?resource=0", "?resource=x", "?resource={}&part=-1"]
    )
    def test_what_does_not_exist_is_not_found(self, engineer: Client, clock: Clock, address: str) -> None:
        pool = seen(now=clock.now)

        assert engineer.get("/jobs/new/" + address.format(pool.pk)).status_code == 404

    def test_a_viewer_sees_it_and_composes_nothing(
        self, team: Team, owner: User, engineer: Client, clock: Clock
    ) -> None:
        Membership.objects.update(role="viewer")
        seen(now=clock.now)

        assert "night-shift" in text_of(engineer.get("/persistent-resources/"))
        assert "?resource=" not in engineer.get("/persistent-resources/").content.decode()

    def test_an_empty_page_explains_how_to_make_one(self, engineer: Client) -> None:
        text = text_of(engineer.get("/persistent-resources/"))

        assert "gcloud ai persistent-resources create" in text
        assert "--project=vision-research" in text
        assert "--region=us-central1" in text

    def test_htmx_gets_the_live_part_alone(self, engineer: Client, clock: Clock) -> None:
        seen(now=clock.now)

        part = engineer.get("/persistent-resources/", headers=HTMX).content.decode()

        assert part.lstrip().startswith('<div id="live"')
        assert "night-shift" in part
        assert "<html" not in part

    def test_looking_has_the_places_looked_at_soon(self, engineer: Client, clock: Clock) -> None:
        observation.watch_resources(clock.now)
        Scope.objects.update(due_at=clock.now + timedelta(minutes=4), answered_at=clock.now - timedelta(minutes=1))

        engineer.get("/persistent-resources/")

        assert Scope.objects.get().due_at == clock.now

    def test_every_page_leads_there(self, engineer: Client) -> None:
        assert '<a href="/persistent-resources/">Resources</a>' in engineer.get("/").content.decode()
        assert (
            '<a href="/persistent-resources/" aria-current="page">Resources</a>'
            in engineer.get("/persistent-resources/").content.decode()
        )


class TestAccess:
    def test_a_stranger_sees_nothing_of_other_projects(
        self, stranger: User, signed_in: SignIn, team: Team, clock: Clock
    ) -> None:
        pool = seen(now=clock.now)
        seen("gone-shift", gone_at=clock.now, now=clock.now)
        observation.watch_resources(clock.now)
        Scope.objects.filter(project="vision-research").update(failing_since=clock.now, last_error="secret trouble")

        page = signed_in(stranger).get("/persistent-resources/").content.decode()

        for word in ("night-shift", "gone-shift", "vision", "secret trouble"):
            assert word not in page
        assert signed_in(stranger).get(f"/jobs/new/?resource={pool.pk}").status_code == 404
        assert Client().get("/persistent-resources/").status_code == 302

    def test_an_admin_sees_all_and_changes_none(self, admin: User, signed_in: SignIn, team: Team, clock: Clock) -> None:
        pool = seen(now=clock.now)
        client = signed_in(admin)

        assert "night-shift" in text_of(client.get("/persistent-resources/"))
        assert "night-shift" in text_of(client.get("/admin/jobs/persistentresource/"))
        assert client.get(f"/admin/jobs/persistentresource/{pool.pk}/change/").status_code == 200
        assert client.post(f"/admin/jobs/persistentresource/{pool.pk}/change/", {"state": "ERROR"}).status_code == 403
        assert client.get("/admin/jobs/persistentresource/add/").status_code == 403
        assert Policy.objects.count() == PersistentResource.objects.count() == 1


class TestDrawing:
    @pytest.mark.parametrize(
        ("used", "size", "most", "cells"),
        [
            (0, 0, 0, (0, 0, 0)),
            (1, 2, 6, (1, 1, 4)),
            (4, 4, 4, (4, 0, 0)),
            (5, 4, 4, (5, 0, 0)),
            (1, 500, 1000, (1, MAX_CELLS // 2 - 1, MAX_CELLS // 2)),
            (999, 1000, 1000, (MAX_CELLS - 1, 1, 0)),
        ],
    )
    def test_a_cell_for_each_replica_or_a_fair_share(
        self, used: int, size: int, most: int, cells: tuple[int, int, int]
    ) -> None:
        drawn = str(replicas(used, size, most))

        assert tuple(drawn.count(f'class="{kind}"') for kind in ("used", "free", "room")) == cells

    def test_an_unknown_state_is_shown_as_it_was_sent(self) -> None:
        assert "HIBERNATING" in resource_mark("HIBERNATING")
        assert "state odd" in resource_mark("<HIBERNATING>")
        assert "<HIBERNATING>" not in resource_mark("<HIBERNATING>")
