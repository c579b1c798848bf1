"""The life of a hyperparameter tuning job: it is what its trials are, and every trial is a custom job."""

from collections.abc import Callable
from pathlib import Path

from emulator.lifecycle.engine import Engine
from emulator.protocol import errors
from emulator.protocol.documents import Document
from emulator.protocol.errors import precondition
from emulator.protocol.timestamps import moment, stamp
from emulator.state.records import Job, Study
from emulator.tuning import measures, search, space
from emulator.tuning.space import Point

SUCCESS, FAILURE = "JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"
FAILED_SHARE, LEAST_FAILED = 0.5, 3
"""Without maxFailedTrialCount a study fails with its first trial, later when so many trials have failed (our rule)."""
Launch = Callable[[Study, str, list[str]], Job]


class Tuning:
    """Leads every study. `launch` makes and submits a trial's job, `metric_file` says where it reports."""

    def __init__(self, engine: Engine, launch: Launch, metric_file: Callable[[Job], Path]) -> None:
        self._engine, self._launch, self._metric_file = engine, launch, metric_file
        self.ended: Callable[[Study], None] = lambda study: None  # noqa: ARG005
        self.started: Callable[[Study], None] = lambda study: None  # noqa: ARG005

    # ------------------------------------------------------------ verbs
    def submit(self, study: Study) -> None:
        """Take a study in and start its first trials."""
        self._state(study, "JOB_STATE_PENDING")
        study.document["createTime"] = study.document["updateTime"]
        self._engine.store.add(study)
        self.go_on(study)

    def cancel(self, study: Study) -> None:
        """Cancel all trials that run; the study follows them."""
        if study.is_finished:
            raise precondition(f"The {study.message} {study.name} is in state {study.state} and cannot be cancelled.")
        if study.state != "JOB_STATE_CANCELLING":
            self._state(study, "JOB_STATE_CANCELLING")
            self._call_off(study)
            self._settle(study)

    def go_on(self, study: Study) -> None:
        """Start trials until enough run, or end the study when nothing is left to do."""
        spec = study.document
        while study.is_open and len(study.running) < spec["parallelTrialCount"]:
            number = len(study.trials) + 1
            point = None if number > spec["maxTrialCount"] else self._suggest(study, number)
            if point is None:
                study.is_open = False
                break
            self._start(study, str(number), point)
        self._settle(study)

    def resume(self, study: Study) -> None:
        """Catch up after the emulator was gone: find the jobs of trials that it was just starting, then go on."""
        if study.is_finished:
            return
        jobs = {job.trial: job for job in self._engine.store.all(Job) if job.owner == study.name}
        for trial in study.trials:
            if "customJob" not in trial and trial["id"] in jobs:
                trial["customJob"] = jobs[trial["id"]].name
            elif "customJob" not in trial:
                point = {one["parameterId"]: one["value"] for one in trial["parameters"]}
                trial["customJob"] = self._launch(study, trial["id"], arguments(point)).name
            elif (job := jobs.get(trial["id"])) is not None and job.is_finished:
                self.trial_ended(study, job)
        self.go_on(study)

    def _suggest(self, study: Study, number: int) -> Point | None:
        metric = study.spec["metrics"][0]
        seen = []
        for trial in study.trials:
            value = measures.value(trial.get("finalMeasurement", {}), metric)
            if value is not None:
                seen.append(({one["parameterId"]: one["value"] for one in trial["parameters"]}, value))
        return search.suggest(study.spec, seen, number=number, seed=study.id)

    def _start(self, study: Study, trial_id: str, point: Point) -> None:
        trial: Document = {
            "id": trial_id,
            "state": "ACTIVE",
            "parameters": [{"parameterId": name, "value": value} for name, value in point.items()],
            "startTime": stamp(self._engine.clock.now()),
        }
        study.trials.append(trial)
        self._engine.store.save(study)
        job = self._launch(study, trial_id, arguments(point))
        trial["customJob"] = job.name

    # ------------------------------------------------------------ what happens
    def trial_started(self, study: Study) -> None:
        """A trial's job runs."""
        if study.state == "JOB_STATE_PENDING":
            self._state(study, "JOB_STATE_RUNNING")
            study.document.setdefault("startTime", study.document["updateTime"])
            self._engine.store.save(study)
            self.started(study)

    def watch(self, study: Study, job: Job) -> bool:
        """Look at a running trial's metrics; stop it early if it is hopeless. Returns whether to look again."""
        trial = study.trial(job.trial)
        self._measure(study, trial, job)
        if not measures.stops_early(study.spec) or trial["state"] != "ACTIVE":
            return True
        finished = [one.get("measurements", []) for one in study.trials if one["state"] == "SUCCEEDED"]
        if measures.is_hopeless(study.spec, trial.get("measurements", []), finished):
            trial["state"] = "STOPPING"
            self._engine.store.save(study)
            self._engine.cancel(job)
            return False
        return True

    def trial_ended(self, study: Study, job: Job) -> None:
        """A trial's job has ended."""
        trial = study.trial(job.trial)
        if trial["state"] not in ("ACTIVE", "STOPPING"):
            return
        self._measure(study, trial, job)
        final = measures.final(trial.get("measurements", []), study.spec)
        was_stopped = trial["state"] == "STOPPING"
        trial["endTime"] = stamp(self._engine.clock.now())
        if (job.state == SUCCESS or was_stopped) and final is not None:
            trial |= {"state": "SUCCEEDED", "finalMeasurement": final}
        else:
            trial["state"] = "INFEASIBLE"
            trial["infeasibleReason"] = self._reason(job)
            study.failed += job.state != "JOB_STATE_CANCELLED"
        if study.is_open and _has_failed(study):
            study.is_open = False
            study.has_failed = True
            self._call_off(study)
        self._engine.store.save(study)
        self.go_on(study)

    def _reason(self, job: Job) -> str:
        error = (job.outcome or {}).get("error", {})
        return str(error.get("message") or "The trial did not report the metric of the study.")

    def _measure(self, study: Study, trial: Document, job: Job) -> None:
        metrics = [metric["metricId"] for metric in study.spec["metrics"]]
        if job.story and job.state == SUCCESS:
            point = {one["parameterId"]: one["value"] for one in trial["parameters"]}
            found = [{"stepCount": "1", "metrics": [{"metricId": metrics[0], "value": _told(study.spec, point)}]}]
        else:
            found = measures.read(self._metric_file(job), metrics, started=moment(trial["startTime"]))
        if found and found != trial.get("measurements"):
            trial["measurements"] = found
            self._engine.store.save(study)

    def _call_off(self, study: Study) -> None:
        study.is_open = False
        for name in study.running:
            job = self._engine.store.get(Job, name)
            if job is not None and not job.is_finished:
                self._engine.cancel(job)

    def _settle(self, study: Study) -> None:
        """End the study when no trial runs and none will follow."""
        if not study.is_open and not study.running and not study.is_finished:
            if study.state == "JOB_STATE_CANCELLING":
                study.document["error"] = errors.status(errors.CANCELLED, "CANCELED")
                self._state(study, "JOB_STATE_CANCELLED")
            elif study.has_failed:
                reason = next(one["infeasibleReason"] for one in study.trials if one["state"] == "INFEASIBLE")
                text = f"Too many trials have failed ({study.failed}). The first one: {reason}"
                study.document["error"] = errors.status(errors.INVALID_ARGUMENT, text)
                self._state(study, FAILURE)
            else:
                self._state(study, SUCCESS)
            study.document["endTime"] = study.document["updateTime"]
            self._engine.store.save(study)
            self.ended(study)
        self._engine.store.save(study)

    def _state(self, study: Study, state: str) -> None:
        now = self._engine.clock.now()
        study.document["state"] = state
        study.document["updateTime"] = stamp(now)
        study.live(now, state)


def _has_failed(study: Study) -> bool:
    allowed = study.document.get("maxFailedTrialCount", 0)
    if allowed:
        return bool(study.failed >= allowed)
    ended = sum(trial["state"] in ("SUCCEEDED", "INFEASIBLE") for trial in study.trials)
    return study.failed == ended or (study.failed >= LEAST_FAILED and study.failed > ended * FAILED_SHARE)


def arguments(point: Point) -> list[str]:
    """Return a point as command-line arguments: `--name=value`."""
    return [f"--{name}={_text(value)}" for name, value in point.items()]


def _text(value: space.Value) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def _told(study: Document, point: Point) -> float:
    """Return the metric of a trial that a story plays: best, 1, where every parameter is a third up its scale."""
    places = [space.unit_of(one, point[one["parameterId"]]) for one in space.active(study["parameters"], point)]
    return 1 - sum((place - 1 / 3) ** 2 for place in places)
