"""Tests of the lanes of replicas on a job's page, drawn from the kept log."""

from django.contrib.auth.models import User

from tests.pages.conftest import MakeJob, SignIn
from tests.support.clock import Clock
from tests.support.written_log import Log


class TestLanes:
    def test_each_replica_has_a_lane_of_its_own(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running", extra_replicas=1, machine={"machineType": "n1-standard-8"})
        log = Log(job, clock).live_twice()  # from here on by seconds
        log.write(320, "The replica workerpool1-0 exited with a non-zero status of 1. Termination reason: Error. ",
                  "service", "ERROR")  # fmt: skip
        clock.forward(seconds=400)

        page = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        assert 'aria-label="workerpool0-0: attempt 1 · 1 min, attempt 2 · 1 min 40 s"' in page
        ended = "workerpool1-0 ended with exit code 1: as Python does after an error"
        assert f'aria-label="workerpool1-0: attempt 1 · 1 min, attempt 2 · 20 s, {ended} at' in page
        assert page.count('class="mark bolt"') == 1, "the job's own; no line says whose machine was taken"
        assert page.count('class="mark bad"') == 1
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404
