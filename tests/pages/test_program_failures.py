"""Tests that a failure of the program is shown alike everywhere: exception, place, replica, then its cause."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs import explain, messages
from jobs.models import Job, LogLine, Message
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.pages.test_diagnosis import EXIT
from tests.support.api import caller
from tests.support.clock import Clock
from tests.support.written_log import Log

TRACEBACK = """Traceback (most recent call last):
  File "/app/train.py", line 58, in <module>
    run()
  File "/app/model.py", line 19, in forward
    return self.head(h)[idx]
IndexError: index 513 is out of bounds, token=hunter2secret"""
LOST = """[rank0]: Traceback (most recent call last):
[rank0]:   File "/app/train.py", line 60, in <module>
[rank0]:     torch.distributed.barrier()
[rank0]: torch.distributed.DistBackendError: NCCL error: remote process exited"""


class TestFailureOfTheProgram:
    """Exception, place and replica are the same wherever the failure is shown."""

    def write(self, job: Job, clock: Clock, text: str, replica: str, *, after: float) -> None:
        for place, line in enumerate(text.splitlines()):
            LogLine.objects.create(
                job=job, timestamp=clock.now + timedelta(seconds=after + place / 100), replica=replica,
                insert_id=f"{replica}{place}", severity="ERROR", message=line,
            )  # fmt: skip

    @pytest.mark.parametrize("is_kept", [True, False])
    def test_is_named_everywhere(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock, *, is_kept: bool
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT.replace("workerpool0-0", "workerpool1-2")})
        self.write(job, clock, "shared memory size 64 GB", "workerpool1-2", after=0)
        self.write(job, clock, TRACEBACK, "workerpool1-2", after=1)
        self.write(job, clock, LOST, "workerpool0-0", after=2)
        if is_kept:
            explain.refresh(job)

        client = signed_in(owner)
        page = text_of(client.get(f"/jobs/{job.pk}/"))

        assert "IndexError at model.py:19" in page
        assert "workerpool1-2 ended at model.py:19 with IndexError: index 513 is out of bounds" in page
        assert "return self.head(h)[idx]" in page
        (line,) = LogLine.objects.filter(job=job, message__startswith="Traceback", replica="workerpool1-2")
        assert f"?line={line.pk}#log" in client.get(f"/jobs/{job.pk}/").content.decode()
        known = caller(owner).get(f"/jobs/{job.pk}").json()["diagnosis"]
        assert known["title"] == "IndexError at model.py:19 in workerpool1-2"
        assert {name: known["failure"][name] for name in ("exception", "file", "line", "replica", "rank")} == {
            "exception": "IndexError", "file": "/app/model.py", "line": 19, "replica": "workerpool1-2", "rank": None,
        }  # fmt: skip
        assert "Failed after it: workerpool0-0 rank 0." in page
        if not is_kept:  # an older job, which the sweep explains
            assert explain.explain_ended(clock.now) == 1
            assert explain.explain_ended(clock.now) == 0
        message = Message.objects.select_related("job__team", "job__owner", "event").get(job=job, kind="failed")
        job.refresh_from_db()
        assert messages.headline_of(message).endswith("IndexError at model.py:19 in workerpool1-2")
        for address in ("/", "/history/"):
            assert "IndexError at model.py:19" in text_of(client.get(address))
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404

    def test_its_secrets_are_hidden_from_others(
        self, make_job: MakeJob, teammate: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        self.write(job, clock, TRACEBACK, "workerpool0-0", after=1)
        explain.refresh(job)

        page = signed_in(teammate).get(f"/jobs/{job.pk}/").content.decode()

        assert "IndexError" in page
        assert "hunter2secret" not in page
        assert "hunter2secret" not in caller(teammate).get(f"/jobs/{job.pk}").content.decode()

    def test_a_known_cause_comes_after_the_exception_and_is_likely_where_it_is_not_certain(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        self.write(
            job, clock, TRACEBACK.replace("IndexError", "torch.OutOfMemoryError: CUDA"), "workerpool0-0", after=1
        )
        client = signed_in(owner)
        place = "OutOfMemoryError at model.py:19 in workerpool0-0"

        assert f"{place}: The GPU ran out of memory" in text_of(client.get(f"/jobs/{job.pk}/"))

        self.write(job, clock, "\n".join(f"cleaning up {number}" for number in range(60)), "workerpool0-0 ", after=9)
        LogLine.objects.filter(replica="workerpool0-0 ").update(replica="workerpool0-0")
        assert f"{place}, likely: The GPU ran out of memory" in text_of(client.get(f"/jobs/{job.pk}/"))

    def test_the_log_opens_at_the_failure_once_it_is_complete(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        self.write(job, clock, TRACEBACK, "workerpool0-0", after=1)
        self.write(job, clock, "\n".join(f"shutting down part {number}" for number in range(250)), "service", after=2)
        explain.refresh(job)
        client, address = signed_in(owner), f"/jobs/{job.pk}/"
        assert (
            "File &quot;/app/train.py&quot;, line 58, in &lt;module&gt;</" not in client.get(address).content.decode()
        )

        Job.objects.filter(pk=job.pk).update(log_complete=True)

        assert "Newest lines" in text_of(client.get(address))
        assert "Newest lines" not in text_of(client.get(f"{address}?level=ERROR"))
        assert signed_in(stranger).get(address).status_code == 404

    def test_only_the_last_attempt_is_read(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": EXIT})
        self.write(job, clock, TRACEBACK, "workerpool0-0", after=-3_000)
        Log(job, clock).restart(0)
        self.write(job, clock, TRACEBACK.replace("IndexError", "OSError"), "workerpool0-0", after=4_000)

        assert "OSError at model.py:19" in text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

    def test_is_computed_again_by_other_rules_while_its_log_is_there(
        self, make_job: MakeJob, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jobs = [make_job("failed", error={"code": 3, "message": EXIT}) for _each in range(2)]
        for job in jobs:
            self.write(job, clock, TRACEBACK, "workerpool0-0", after=1)
            explain.refresh(job)
            assert job.explanation is not None
            Job.objects.filter(pk=job.pk).update(explanation=job.explanation | {"is_from_log": True})
        LogLine.objects.filter(job=jobs[1]).delete()
        assert explain.explain_ended(clock.now) == 0

        monkeypatch.setattr(explain, "RULES", explain.RULES + 1)

        assert explain.explain_ended(clock.now) == 2
        assert explain.explain_ended(clock.now) == 0
        kept = [Job.objects.get(pk=job.pk).explanation for job in jobs]
        assert [each and each["is_from_log"] for each in kept] == [False, True]  # nothing shows the second one anew
        assert kept[1]
        assert kept[1]["failure"]["exception"] == "IndexError"
