"""The life of a hyperparameter tuning job. Every trial is a custom job, and the state follows from the trials.

As recorded in 2020, 2021 and 2026: it is PENDING without `startTime`, QUEUED with a provisional one, and PENDING again
until its first trial runs. About two seconds after the creation a whole second takes the place of the provisional
start: that of the study. It is not about machines, only `startTime` (nine digits) and `endTime` (whole seconds)
of trials do.
"""

import math
from collections.abc import Callable

from emulator.creation.factory import RecordFactory
from emulator.lifecycle.engine import Engine
from emulator.lifecycle.runtime import check_can_cancel
from emulator.lifecycle.times import QUEUED_SECONDS, provisional_start
from emulator.protocol import errors
from emulator.protocol.documents import Document
from emulator.protocol.timestamps import format_nanoseconds, format_second, format_time, parse_time
from emulator.replicas.cluster import metric_file
from emulator.state.folders import Folders
from emulator.state.records import Job, Study
from emulator.tuning import measures, search, space
from emulator.tuning.space import Point

PENDING, RUNNING = "JOB_STATE_PENDING", "JOB_STATE_RUNNING"
SUCCEEDED, FAILED = "JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"
PENDING_SECONDS, START_SECONDS = 1.4, 2.3
"""When a study is PENDING, at speed 1, and when `startTime` becomes a whole second and the first trials are created, at
any speed, after its creation (recorded 2020-09 and 2026-07)."""
MAX_FAILED_SHARE, MIN_FAILED = 0.5, 3
"""Limits without maxFailedTrialCount (our rule): a study fails when all ended trials have failed, so with its first
one, or when more than this share of the ended trials and at least this number have failed."""


class Studies:
    """Manages the life of every study. `study_changed` is called when a study has ended."""

    def __init__(
        self, engine: Engine, factory: RecordFactory, folders: Folders, study_changed: Callable[[Study], None]
    ) -> None:
        self._engine, self._runtime, self._store = engine, engine.runtime, engine.runtime.store
        self._factory, self._folders, self._study_changed = factory, folders, study_changed

    # ------------------------------------------------------------ what clients ask for
    def submit(self, study: Study) -> None:
        """Accept a new study. Its trials start a moment later."""
        self._runtime.set_state(study, "JOB_STATE_PENDING")
        study.document["createTime"] = study.document["updateTime"]
        self._runtime.timers.set(study, "queued", QUEUED_SECONDS)
        self._store.add(study)

    def cancel(self, study: Study) -> None:
        """Cancel all trials. The study follows them. One that waits reads as before until then (recorded 2026-07)."""
        check_can_cancel(study)
        if study.is_cancelled:
            return
        study.is_cancelled = True
        if study.state == RUNNING:
            self._runtime.set_state(study, "JOB_STATE_CANCELLING")
        self._runtime.timers.cancel(study, "queued", "pending")
        self._stop_trials(study)
        if study.running:
            self._end_if_done(study)
        else:
            times = self._runtime.times
            self._runtime.timers.set(study, "end", times.scaled(times.cancel))
            self._store.save(study)

    def fire(self, study: Study, key: str) -> None:
        """Handle a due timer of a study."""
        created = parse_time(study.document["createTime"])
        if key == "queued":
            self._runtime.set_state(study, "JOB_STATE_QUEUED")
            study.document["startTime"] = format_time(provisional_start(study.name, created))
            pending = max(self._runtime.times.scaled(PENDING_SECONDS), QUEUED_SECONDS)
            self._runtime.timers.set_at(study, "pending", created + pending)
            self._runtime.timers.set_at(study, "settle", created + START_SECONDS)
        elif key == "pending":
            self._runtime.set_state(study, PENDING)
        elif key == "settle" and not study.is_finished:
            study.document["startTime"] = format_second(self._runtime.clock.now())
            if not study.is_cancelled:
                self._start_trials(study)
        elif key == "end":
            self._end_if_done(study)
        self._store.save(study)

    def _start_trials(self, study: Study) -> None:
        """Start trials until enough are running. End the study when nothing is left to do."""
        spec = study.document
        while study.is_open and len(study.running) < spec["parallelTrialCount"]:
            number = len(study.trials) + 1
            point = None if number > spec["maxTrialCount"] else self._suggest(study, number)
            if point is None:
                study.is_open = False
                break
            trial: Document = {
                "id": str(number),
                "state": "ACTIVE",
                "parameters": [{"parameterId": name, "value": value} for name, value in point.items()],
            }
            study.add_trial(trial)
            self._store.save(study)
            self._launch(study, trial, point)
        self._end_if_done(study)

    def resume(self, study: Study) -> None:
        """Continue after a restart of the emulator: find the jobs of trials that were being started."""
        self._runtime.timers.restore(study)
        if study.is_finished or {"queued", "pending", "settle"} & set(study.timers):
            return
        jobs = {job.trial: job for job in self._store.all(Job) if job.owner == study.name}
        for trial in study.trials:
            if "customJob" not in trial and trial["id"] in jobs:
                trial["customJob"] = jobs[trial["id"]].name
            elif "customJob" not in trial:
                point = _point(trial)
                self._launch(study, trial, point)
            elif (job := jobs.get(trial["id"])) is not None and job.is_finished:
                self.trial_ended(study, job)
        self._start_trials(study)

    def _suggest(self, study: Study, number: int) -> Point | None:
        metric = study.spec["metrics"][0]
        seen = []
        for trial in study.trials:
            value = measures.value(trial.get("finalMeasurement", {}), metric)
            if value is not None:
                seen.append((_point(trial), value))
        return search.suggest(study.spec, seen, number=number, seed=study.id)

    def _launch(self, study: Study, trial: Document, point: Point) -> None:
        job = self._factory.new_trial_job(study, trial["id"], arguments(point))
        self._engine.submit(job)
        trial["customJob"] = job.name

    # ------------------------------------------------------------ what happens by itself
    def trial_started(self, study: Study, job: Job) -> None:
        """Handle a trial whose job has started."""
        study.trial(job.trial).setdefault("startTime", format_nanoseconds(job.runs_since))
        if study.state == PENDING and not study.is_cancelled:
            self._runtime.set_state(study, RUNNING)
        self._store.save(study)

    def check_trial(self, study: Study, job: Job) -> bool:
        """Read a running trial's metrics, and stop it early if it is hopeless. Return whether to check it again."""
        trial = study.trial(job.trial)
        self._read_metrics(study, trial, job)
        if not measures.stops_early(study.spec) or trial["state"] != "ACTIVE":
            return True
        finished = [one.get("measurements", []) for one in study.trials if one["state"] == "SUCCEEDED"]
        if measures.is_hopeless(study.spec, trial.get("measurements", []), finished):
            trial["state"] = "STOPPING"
            self._store.save(study)
            self._engine.cancel(job)
            return False
        return True

    def trial_ended(self, study: Study, job: Job) -> None:
        """Handle a trial whose job has ended."""
        trial = study.trial(job.trial)
        if trial["state"] not in ("ACTIVE", "STOPPING"):
            return
        self._read_metrics(study, trial, job)
        final = measures.final(trial.get("measurements", []), study.spec)
        was_stopped = trial["state"] == "STOPPING"
        ended = job.ended_at or max(self._runtime.clock.now(), math.ceil(job.runs_since))
        trial["endTime"] = format_second(ended)
        if (job.state == SUCCEEDED or was_stopped) and final is not None:
            trial |= {"state": "SUCCEEDED", "finalMeasurement": final}
        else:
            trial["state"] = "INFEASIBLE"
            error = (job.outcome or {}).get("error", {})
            trial["infeasibleReason"] = str(error.get("message") or "The trial did not report the metric of the study.")
            study.failed += job.state != "JOB_STATE_CANCELLED"
        if study.is_open and _has_failed(study):
            study.has_failed = True
            self._stop_trials(study)
        self._store.save(study)
        self._start_trials(study)

    def _read_metrics(self, study: Study, trial: Document, job: Job) -> None:
        metrics = [metric["metricId"] for metric in study.spec["metrics"]]
        if job.script and job.state == SUCCEEDED:
            point = _point(trial)
            # The metric has its maximum, 1, where every parameter is at a third of its scale.
            places = [
                space.position_of(one, point[one["parameterId"]])
                for one in space.active(study.spec["parameters"], point)
            ]
            value = 1 - sum((place - 1 / 3) ** 2 for place in places)
            measured = [{"stepCount": "1", "metrics": [{"metricId": metrics[0], "value": value}]}]
        else:
            started = job.runs_since or self._runtime.clock.now()
            measured = measures.load(metric_file(job, self._folders), metrics, started=started)
        if measured and measured != trial.get("measurements"):
            trial["measurements"] = measured
            self._store.save(study)

    def _stop_trials(self, study: Study) -> None:
        study.is_open = False
        for name in study.running:
            job = self._store.get(Job, name)
            if job is not None and not job.is_finished:
                self._engine.cancel(job)

    def _end_if_done(self, study: Study) -> None:
        """End the study when no trial is running and none will follow."""
        if not study.is_open and not study.running and not study.is_finished:
            if study.is_cancelled:
                study.document["error"] = errors.status(errors.CANCELLED, "CANCELED")
                self._runtime.set_state(study, "JOB_STATE_CANCELLED")
            elif study.has_failed:
                reason = next(one["infeasibleReason"] for one in study.trials if one["state"] == "INFEASIBLE")
                text = f"Too many trials have failed ({study.failed}). The first one: {reason}"
                study.document["error"] = errors.status(errors.INVALID_ARGUMENT, text)
                self._runtime.set_state(study, FAILED)
            else:
                self._runtime.set_state(study, SUCCEEDED)
            study.document["endTime"] = study.document["updateTime"]
            self._store.save(study)
            self._study_changed(study)
        self._store.save(study)


def _point(trial: Document) -> Point:
    return {parameter["parameterId"]: parameter["value"] for parameter in trial["parameters"]}


def _has_failed(study: Study) -> bool:
    allowed = study.document.get("maxFailedTrialCount", 0)
    if allowed:
        return bool(study.failed >= allowed)
    ended = sum(trial["state"] in ("SUCCEEDED", "INFEASIBLE") for trial in study.trials)
    return study.failed == ended or (study.failed >= MIN_FAILED and study.failed > ended * MAX_FAILED_SHARE)


def arguments(point: Point) -> list[str]:
    """Return a point as command-line arguments: `--name=value`."""
    return [f"--{name}={_text(value)}" for name, value in point.items()]


def _text(value: space.Value) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
