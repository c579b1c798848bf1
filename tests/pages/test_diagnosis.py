"""What a failed job's page says of its cause, from error, log and the job itself, and the copy that it offers."""

import pytest
from django.contrib.auth.models import User

from dashboard.forms.compose.fixes import FIXES
from dashboard.pages.parts.what_now import FIX_WORDS
from jobs.diagnosis.causes import CAUSES
from jobs.models import Job, LogLine
from jobs.strategies import STRATEGIES
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_of
from tests.support.clock import Clock

STOCKOUT = {"code": 8, "message": "Resources are insufficient in region: us-central1. Please try a different region."}
EXIT = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error. "
CPU = {"machineType": "n1-standard-8"}


def write(job: Job, clock: Clock, message: str, replica: str) -> None:
    LogLine.objects.create(
        job=job, timestamp=clock.now, insert_id=f"{replica}{message}"[:60], replica=replica,
        severity="ERROR", message=message,
    )  # fmt: skip


def never_ran(job: Job) -> Job:
    job.started_at = None
    job.save(update_fields=["started_at"])
    return job


class TestCause:
    def test_a_flex_start_wait_that_ran_out_offers_longer_waits(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = never_ran(make_job("failed", strategy="FLEX_START", error=STOCKOUT))

        page = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        assert "maxWaitDuration" in page
        for action in ("longer_wait", "endless_wait", "spot", "standard", "other_region"):
            assert f"fix={action}" in page

    def test_the_copy_waits_longer(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = never_ran(make_job("failed", strategy="FLEX_START", error=STOCKOUT))

        page = signed_in(owner).get(f"/jobs/new/?job={job.pk}&fix=longer_wait").content.decode()

        assert "it waits up to 48 hours" in page
        assert fields_of(page)["max_wait"] == "2 d"

    def test_a_flex_start_job_that_had_run_lost_its_machines(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("failed", strategy="FLEX_START", error=STOCKOUT)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "No machines free in us-central1" in text
        assert "fix=flex_start" not in text

    def test_an_expired_job_says_what_ran_out(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        waited = never_ran(make_job("expired", strategy="FLEX_START"))
        ran = make_job("expired", strategy="STANDARD")

        assert "wait ran out" in text_of(signed_in(owner).get(f"/jobs/{waited.pk}/"))
        assert "It ran out of time" in text_of(signed_in(owner).get(f"/jobs/{ran.pk}/"))

    def test_the_seventh_loss_of_a_spot_job_ends_it(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("failed", error=STOCKOUT)
        Job.objects.filter(pk=job.pk).update(restarts=STRATEGIES["spot"].restart_allowance)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "Preempted seven times" in text
        assert "all six restarts are used" in text
        for advice in ("checkpoints", "shutdown script", "elastic training", "Use Spot VMs with training"):
            assert advice in text

    def test_cuda_on_a_machine_without_gpu_offers_no_larger_one(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        error = {"code": 3, "message": EXIT + "\nRuntimeError: CUDA out of memory."}
        job = make_job("failed", strategy="STANDARD", machine=CPU, error=error)

        page = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        assert "machine without GPU" in page
        assert "fix=bigger_gpu" not in page

    def test_the_program_s_own_log_tells_more_than_its_exit_code(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        write(job, clock, "OSError: [Errno 28] No space left on device: '/tmp/ckpt'", "workerpool0-0")

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "The disk is full" in text
        assert "workerpool0-0 ended with exit code 1" in text
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404

    def test_a_log_that_tells_nothing_changes_nothing(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        write(job, clock, "Epoch 3: loss 0.25", "workerpool0-0")

        assert "The program failed" in text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))


class TestCopy:
    def test_what_only_the_log_tells_is_repaired_too(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed")
        write(job, clock, "Replicas low on memory: workerpool0.", "service")
        address = f"/jobs/new/?job={job.pk}&fix=next_machine_size"

        page = signed_in(owner).get(address).content.decode()

        assert "pool 0 has a2-highgpu-2g instead of a2-highgpu-1g" in page
        assert signed_in(stranger).get(address).status_code == 404

    def test_every_fix_has_words_and_every_cause_s_copy_has_them(self) -> None:
        assert set(FIXES) <= set(FIX_WORDS)
        offered = {each["action"] for known in CAUSES.values() for each in known.suggestions}
        assert offered - set(FIX_WORDS) == {"request_quota"}


class TestList:
    @pytest.mark.parametrize("at", ["/", "/history/"])
    def test_says_the_cause(self, make_job: MakeJob, owner: User, signed_in: SignIn, at: str) -> None:
        never_ran(make_job("failed", strategy="FLEX_START", error=STOCKOUT))

        assert "wait ran out" in text_of(signed_in(owner).get(at))
