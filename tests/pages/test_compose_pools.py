"""Tests that the compose and import pages and `jobspec check` know the observed persistent resources."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Scope
from tests.domain.test_jobspec import GOOD, Ran
from tests.pages.conftest import text_in, text_of
from tests.support.clock import Clock
from tests.support.resources import DISK, seen

N1 = {"machineSpec": {"machineType": "n1-standard-4"}, "diskSpec": DISK, "replicaCount": "2"}


@pytest.fixture
def asked(example: dict[str, str]) -> dict[str, str]:
    """The example, filled in for a persistent resource that is not named yet."""
    return example | {"strategy": "persistent", "pool-0-disk_type": "pd-ssd", "pool-0-disk_gb": "100"}


class TestCompose:
    def test_offers_the_running_resources_of_the_place(
        self, engineer: Client, asked: dict[str, str], clock: Clock
    ) -> None:
        seen(used=1, now=clock.now)
        seen("day-shift", state="STOPPING", now=clock.now)
        seen("far-shift", region="europe-west4", now=clock.now)
        seen("other-shift", project="speech-research", now=clock.now)

        for told in (engineer.post("/jobs/new/check/", asked), engineer.post("/jobs/new/", asked | {"do": "check"})):
            page = told.content.decode()
            assert text_in(page, "resources").split() == "3 of 4 × a2-highgpu-1g free".split()
            assert '<option value="night-shift">' in page

    def test_compares_with_the_one_that_is_named(self, engineer: Client, asked: dict[str, str], clock: Clock) -> None:
        named = asked | {"resource": "night-shift"}
        assert "has not seen" in text_in(engineer.post("/jobs/new/check/", named).content.decode(), "id_resource-finds")

        seen(used=4, now=clock.now)
        page = engineer.post("/jobs/new/check/", named).content.decode()
        assert "Other jobs hold 4 of 4 replicas" in text_in(page, "id_pool-0-replicas-finds")

        seen(pools=[N1], now=clock.now)
        page = engineer.post("/jobs/new/check/", named).content.decode()
        assert "machine of worker pool 0 matches no pool" in text_in(page, "id_pool-0-machine_type-finds")
        assert "machine of worker pool 0 matches no pool" in text_in(page, "strategy-persistent-facts")
        assert engineer.post("/jobs/new/", named).status_code == 422

        seen(state="REBOOTING", now=clock.now)
        assert "is REBOOTING" in text_of(engineer.post("/jobs/new/", named))

    def test_asks_once_and_only_for_a_job_on_one(self, engineer: Client, asked: dict[str, str], clock: Clock) -> None:
        seen(now=clock.now)
        named = asked | {"resource": "night-shift"}
        for fields, times in ((named, 1), (asked | {"strategy": "spot"}, 0)):
            with CaptureQueriesContext(connection) as queries:
                engineer.post("/jobs/new/check/", fields)
            loads = [each for each in queries.captured_queries if 'FROM "jobs_pool"' in each["sql"]]
            assert len(loads) == times

    def test_has_the_place_looked_at_soon(self, engineer: Client, asked: dict[str, str], clock: Clock) -> None:
        engineer.post("/jobs/new/check/", asked)

        scope = Scope.objects.get()
        assert (scope.kind, scope.region, scope.due_at) == ("persistent_resource", "us-central1", clock.now)

    @pytest.mark.parametrize("region", ["", "us\x00central1", "\ud800", "nowhere", "x" * 500])
    def test_any_region_is_taken(self, engineer: Client, asked: dict[str, str], region: str) -> None:
        answer = engineer.post("/jobs/new/check/", asked | {"region": region.encode("utf-8", "replace").decode()})

        assert answer.status_code == 200
        assert not Scope.objects.exists()


class TestImport:
    @pytest.mark.parametrize("run_time", ["1 h", ""])
    def test_compares_with_the_one_that_is_named(self, engineer: Client, clock: Clock, run_time: str) -> None:
        text = GOOD + "persistentResourceId: night-shift\n"
        asked = {"text": text, "run_time": run_time}
        assert "has not seen" in text_of(engineer.post("/jobs/import/", asked))

        seen(now=clock.now)

        words = text_of(engineer.post("/jobs/import/", asked))
        assert "has not seen" not in words
        assert "matches no pool of the resource" in words


class TestJobspec:
    def check(self, tmp_path: Path) -> tuple[int, set[str]]:
        """Return exit code and finding codes of a job on `night-shift`."""
        path = tmp_path / "pool.yaml"
        path.write_text(GOOD + "persistentResourceId: night-shift\n")
        ran = Ran("check", str(path), "--json", "--project", "vision-research", "--region", "us-central1")
        (report,) = json.loads(ran.out)
        return ran.code, {finding["code"] for finding in report["findings"]}

    def test_compares_with_the_one_that_is_named(self, db: None, tmp_path: Path, clock: Clock) -> None:
        code, found = self.check(tmp_path)
        assert code == 0
        assert "resource_is_known" in found

        seen(now=clock.now)

        code, found = self.check(tmp_path)
        assert code == 1
        assert "pools_match_the_resource" in found

    def test_needs_no_database(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_database(*_: Any, **__: Any) -> Any:
            raise OperationalError("unable to open database file")

        monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", no_database)

        code, found = self.check(tmp_path)

        assert code == 0
        assert "resource_is_known" in found
