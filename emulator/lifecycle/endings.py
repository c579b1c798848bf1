"""The end of a custom job."""

from collections.abc import Callable

from emulator.lifecycle import messages
from emulator.lifecycle.interfaces import Capacity, Observer
from emulator.lifecycle.runtime import Runtime
from emulator.lifecycle.scripts import script_of
from emulator.protocol.documents import Document
from emulator.state.records import Job, Phase


class Endings:
    """Ends jobs, without saving the record: `Engine` saves it.

    `machines_freed` is called after machines were released.
    """

    def __init__(
        self, runtime: Runtime, capacity: Capacity, observer: Observer, machines_freed: Callable[[], None]
    ) -> None:
        self._runtime, self._capacity, self._observer = runtime, capacity, observer
        self._machines_freed = machines_freed

    def log_error(self, job: Job, outcome: Document) -> None:
        """Write the service's log line about a failure."""
        text = messages.log_text(outcome, project=job.project, job_id=job.id)
        self._runtime.log(job, text, severity="ERROR")

    def finish(self, job: Job, outcome: Document) -> None:
        """End a job without replicas."""
        if "error" in outcome:
            self.log_error(job, outcome)
        job.outcome = outcome
        self.publish(job)

    def release(self, job: Job) -> None:
        """Release the job's machines."""
        if job.holds_capacity:
            job.holds_capacity = False
            self._capacity.release(job)
            self._machines_freed()

    def publish(self, job: Job) -> None:
        """Publish the outcome, with its error. Only a script can delay the error."""
        assert job.outcome is not None
        if job.phase == Phase.TEARDOWN:
            self._runtime.log(job, messages.TORN_DOWN)
        self.release(job)
        self._runtime.set_state(job, job.outcome["state"])
        job.document["endTime"] = job.document["updateTime"]
        job.timers.clear()
        job.replicas = {}
        if job.state == "JOB_STATE_FAILED":
            self._runtime.log(job, messages.FAILED)
        else:
            text = messages.SUCCEEDED if job.outcome == messages.SUCCESS else messages.CANCELLED
            self._runtime.log(job, text)
        error_seconds = script_of(job).error_seconds
        if error_seconds and "error" in job.outcome:
            job.phase = Phase.REPORTING
            self._runtime.timers.set(job, "phase", error_seconds)
        else:
            self.publish_error(job)
        self._observer.job_ended(job)

    def publish_error(self, job: Job) -> None:
        """Publish the error, if there is one."""
        assert job.outcome is not None
        job.phase = Phase.DONE
        if "error" in job.outcome:
            job.document["error"] = job.outcome["error"]
            job.document["updateTime"] = self._runtime.timestamp()
