"""The end of a custom job.

A job that succeeded or failed ends at a whole second, which clients see a little later. A cancelled one ends when they
see it, with a fraction (recorded 2026-02 and 2026-07).
"""

import math
from collections.abc import Callable

from emulator.lifecycle import messages
from emulator.lifecycle.interfaces import Capacity, Observer
from emulator.lifecycle.runtime import Runtime
from emulator.lifecycle.scripts import script_of
from emulator.lifecycle.times import provisional_start
from emulator.protocol.documents import Document
from emulator.protocol.timestamps import format_second, parse_time
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
        self.end(job)

    def release(self, job: Job) -> None:
        """Release the job's machines."""
        if job.holds_capacity:
            job.holds_capacity = False
            self._capacity.release(job)
            self._machines_freed()

    def end(self, job: Job) -> None:
        """End a job, whose outcome is decided. Clients see it now if it was cancelled, else soon."""
        assert job.outcome is not None
        if job.phase == Phase.CLEANING:
            self._runtime.log(job, messages.TORN_DOWN)
        self.release(job)
        state = job.outcome["state"]
        texts = {"JOB_STATE_FAILED": messages.FAILED, "JOB_STATE_SUCCEEDED": messages.SUCCEEDED}
        self._runtime.log(job, texts.get(state, messages.CANCELLED))
        job.timers.clear()
        job.phase, job.replicas = Phase.ENDED, {}
        if state == "JOB_STATE_CANCELLED":
            self.publish(job)
            return
        now = self._runtime.clock.now()
        # No job ends before it was seen to start. One that never ran does not end before its creation either.
        earliest = job.runs_since or provisional_start(job.name, parse_time(job.document["createTime"]))
        job.ended_at = max(math.floor(now), math.ceil(earliest))
        published = now + self._runtime.times.scaled(self._runtime.times.publishing)
        self._runtime.timers.set_at(job, "publish", max(published, job.ended_at))

    def publish(self, job: Job) -> None:
        """Publish the outcome, with its error. Only a script can delay the error."""
        assert job.outcome is not None
        self._runtime.set_state(job, job.outcome["state"])
        job.document["endTime"] = format_second(job.ended_at) if job.ended_at else job.document["updateTime"]
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
        is_later, job.phase = job.phase is Phase.REPORTING, Phase.DONE
        if "error" in job.outcome:
            job.document["error"] = job.outcome["error"]
            if is_later:  # of a cancelled job, the time of the update is that of the end
                job.document["updateTime"] = self._runtime.timestamp()
