"""Tests of the cause on a failed job's page, from error, log and job, and of the suggested copy."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.pages.parts.advice import FIX_LABELS
from jobs.diagnosis.causes import CAUSES
from jobs.explain import timeout_of
from jobs.models import Job, LogLine
from jobs.requests.fixes import FIXES
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_of
from tests.support.clock import Clock
from tests.support.written_log import Log

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
        assert "Rerun with fix" in text_of(signed_in(owner).get("/"))

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

        assert "Out of capacity in us-central1" in text
        assert "fix=flex_start" not in text

    def test_an_expired_job_says_what_ran_out(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        waited = never_ran(make_job("expired", strategy="FLEX_START"))
        ran = make_job("expired", strategy="STANDARD")

        assert "wait ran out" in text_of(signed_in(owner).get(f"/jobs/{waited.pk}/"))
        assert "It ran out of time" in text_of(signed_in(owner).get(f"/jobs/{ran.pk}/"))

    @pytest.mark.parametrize(
        ("causes", "title"),
        [
            (("preempted",) * 6, "Preempted seven times"),
            (("preempted",) * 4 + ("stockout",) * 2, "Preempted five times, found no machines twice"),
        ],
    )
    def test_the_seventh_loss_of_a_spot_job_ends_it(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock, causes: tuple[str, ...], title: str
    ) -> None:
        job = make_job("failed", error=STOCKOUT)
        log = Log(job, clock)
        for place, cause in enumerate(causes):
            log.restart(place, cause)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert title in text
        assert "6 of 6 none left" in text
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

    def test_the_board_promises_no_fix_where_the_copy_is_unchanged(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        make_job("failed", error={"code": 7, "message": "Request had insufficient authentication scopes."})

        board = text_of(signed_in(owner).get("/"))

        assert "Edit a copy" in board
        assert "Rerun with fix" not in board

    @pytest.mark.parametrize("error", [{"code": 3, "message": EXIT}, {"code": 99, "message": "Something else."}])
    def test_without_a_known_fix_offers_the_errors_of_the_log_and_a_copy(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, error: dict[str, Any]
    ) -> None:
        job = make_job("failed", error=error)
        long_ago = job.requested_at - timedelta(days=1)
        Job.objects.filter(pk=job.pk).update(started_at=long_ago, ended_at=long_ago)

        page = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        errors, copy = re.findall(r'<a class="(btn[^"]*)"\s+href="([^"]*)"', page[page.index("job-now") :])[:2]
        assert errors == ("btn go", "?level=ERROR#log")
        assert copy == ("btn", f"/jobs/new/?job={job.pk}&amp;fix=edit_field")
        assert signed_in(owner).get(f"/jobs/new/?job={job.pk}&fix=edit_field").status_code == 200
        for address in (f"/jobs/{job.pk}/", f"/jobs/new/?job={job.pk}&fix=edit_field"):
            assert signed_in(stranger).get(address).status_code == 404


class TestRetries:
    """The page's text about retries agrees with its counters."""

    @pytest.mark.parametrize(
        ("used", "words", "count"),
        [
            (3, "tried it again three times, which is as often as it does", "3 of 3 none left"),
            (1, "Vertex AI used 1 of at most 3 retries", "1 of 3"),
            (0, "tries it again at most three times; no retry was seen", "0 of 3"),
        ],
    )
    @pytest.mark.parametrize(
        ("cause", "error"),
        [("stockout", STOCKOUT), ("job_retry", {"code": 3, "message": EXIT.replace("of 1.", "of 139.")})],
    )
    def test_are_counted_as_in_the_ledger(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock, used: int, words: str,
        count: str, cause: str, error: dict[str, object],
    ) -> None:  # fmt: skip
        job = make_job("failed", strategy="STANDARD", error=error)
        for place in range(used):
            Log(job, clock).restart(place, cause)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert words in text
        assert count in text
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404

    def test_a_restart_without_a_known_cause_was_of_the_kind_that_ended_the_job(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", strategy="STANDARD", error={"code": 3, "message": EXIT.replace("of 1.", "of 139.")})
        for place, cause in enumerate(("job_retry", "job_retry", "unknown")):
            Log(job, clock).restart(place, cause)
        Job.objects.filter(pk=job.pk).update(restarts=3)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "tried it again three times, which is as often as it does" in text

    @pytest.mark.parametrize("code", [1, 2, 126, 127])
    def test_there_are_none_of_a_plain_exit(self, make_job: MakeJob, owner: User, signed_in: SignIn, code: int) -> None:
        error = {"code": 3, "message": EXIT.replace("of 1.", f"of {code}.")}
        job = make_job("failed", strategy="STANDARD", error=error)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "Vertex AI does not retry" in text
        assert "job retries 0 of 3" in text

    def test_the_last_one_says_that_no_further_loss_is_survivable(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        log = Log(job, clock)
        for place in range(5):
            log.restart(place)
        client = signed_in(owner)
        assert "is survivable" not in text_of(client.get(f"/jobs/{job.pk}/"))

        log.restart(5)

        assert "The next loss of its machines ends the job" in text_of(client.get(f"/jobs/{job.pk}/"))


TIMED_OUT = {"code": 1, "message": "CANCELED: the job ran longer than its timeout of 360s."}
BARE = {"code": 1, "message": "CANCELED"}


class TestTimeout:
    def test_is_told_everywhere_and_offers_a_longer_one(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        job = make_job("cancelled", error=TIMED_OUT)
        client = signed_in(owner)

        page = client.get(f"/jobs/{job.pk}/").content.decode()

        assert "It ran out of time" in page
        assert "fix=longer_timeout" in page
        for address in ("/", "/history/"):
            assert "It ran out of time" in text_of(client.get(address))
        copy = client.get(f"/jobs/new/?job={job.pk}&fix=longer_timeout")
        assert "Changed: " in text_of(copy)
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404

    @pytest.mark.parametrize(("is_over", "asked"), [(True, False), (False, False), (True, True)])
    def test_of_which_vertex_ai_says_only_cancelled(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, *, is_over: bool, asked: bool
    ) -> None:
        job = make_job("cancelled", error=BARE)
        ran = timeout_of(job) if is_over else timeout_of(job) / 2
        asked_at = job.ended_at if asked else None
        Job.objects.filter(pk=job.pk).update(started_at=job.ended_at - ran, cancel_requested_at=asked_at)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert ("It ran out of time" in text) == (is_over and not asked)


class TestCopy:
    def test_what_only_the_log_tells_is_repaired_too(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed")
        write(job, clock, "Replicas low on memory: workerpool0.", "service")
        address = f"/jobs/new/?job={job.pk}&fix=next_machine_size"

        page = signed_in(owner).get(address).content.decode()

        assert "worker pool 0 has a2-highgpu-2g instead of a2-highgpu-1g" in page
        assert signed_in(stranger).get(address).status_code == 404

    def test_begins_with_the_cause_and_marks_the_field_that_it_names(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        write(job, clock, "ModuleNotFoundError: No module named 'einops'", "workerpool0-0")
        address = f"/jobs/new/?job={job.pk}&fix=edit_field"

        response = signed_in(owner).get(address)

        text = text_of(response)
        assert "ModuleNotFoundError in workerpool0-0: A Python module is missing" in text
        assert "Install the module in the image" in text
        assert "The failed job's diagnosis names this field." in text
        focused = re.findall(r"<(?:input|select|textarea)[^>]*autofocus[^>]*>", response.content.decode())
        assert [re.findall(r'name="([^"]*)"', each) for each in focused] == [["pool-0-image"]]
        assert signed_in(stranger).get(address).status_code == 404

    def test_of_an_address_opened_as_a_file_names_the_mounted_path(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        spec = job.spec
        next(iter(spec["jobSpec"]["workerPoolSpecs"]))["containerSpec"]["args"] = ["--data=gs://b/train.csv", "gs", "x"]
        Job.objects.filter(pk=job.pk).update(spec=spec)
        write(job, clock, "FileNotFoundError: [Errno 2] No such file or directory: 'gs://b/train.csv'", "workerpool0-0")
        client = signed_in(owner)
        assert "Rerun with /gcs/ paths" in text_of(client.get(f"/jobs/{job.pk}/"))

        page = client.get(f"/jobs/new/?job={job.pk}&fix=gcs_path").content.decode()

        assert "arguments name /gcs/ instead of gs://" in page
        assert "--data=/gcs/b/train.csv" in page

    def test_no_two_suggestions_share_a_label(self) -> None:
        assert len(set(map(str, FIX_LABELS.values()))) == len(FIX_LABELS)

    def test_every_fix_has_words_and_every_cause_s_copy_has_them(self) -> None:
        assert set(FIXES) <= set(FIX_LABELS)
        offered = {each["action"] for known in CAUSES.values() for each in known.suggestions}
        assert offered - set(FIX_LABELS) == {"request_quota"}


class TestList:
    @pytest.mark.parametrize("at", ["/", "/history/"])
    def test_says_the_cause(self, make_job: MakeJob, owner: User, signed_in: SignIn, at: str) -> None:
        never_ran(make_job("failed", strategy="FLEX_START", error=STOCKOUT))

        assert "wait ran out" in text_of(signed_in(owner).get(at))
