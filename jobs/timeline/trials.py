"""A study, from the rows of its trials: the best trials, the failures, and the progress of the search."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.bounds import parse_digits
from jobs.models import Job, Trial
from jobs.timeline.study_spec import objects, study_spec, whole
from jobs.timeline.trial_time import ENDED, INFEASIBLE, SUCCEEDED, is_running, is_waiting, state_now


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of the study. If `limit` is set, it is no objective but must not be worse than that (safetyConfig)."""

    id: str
    is_more_better: bool
    limit: float | None = None

    def is_better(self, one: float, other: float) -> bool:
        """Return whether the first value is strictly better."""
        return one > other if self.is_more_better else one < other

    def allows(self, trial: Trial) -> bool:
        """Return whether a trial meets the limit. A trial without this metric does not."""
        if self.limit is None:
            return True
        value = trial.metrics.get(self.id)
        return value is not None and not self.is_better(self.limit, value)


@dataclass(frozen=True, slots=True)
class Step:
    """One trial of the search: its value, or None, and the best value so far."""

    trial: Trial
    number: int
    value: float | None
    best: float | None


@dataclass(frozen=True, slots=True)
class Study:
    """What a tuning job searches for, and its progress. `trials` are in order of their numbers.

    `allowed_failures` is None if the job sets none. Vertex AI then ends the job when its first trial fails, or later
    when too many have failed (vertex-facts 2.2). `best` contains one trial, or with several objectives the Pareto
    front: all trials that no other beats.
    """

    objectives: tuple[Metric, ...]
    limits: tuple[Metric, ...]
    parameters: tuple[str, ...]
    trials: tuple[Trial, ...]
    best: tuple[Trial, ...]
    most: int
    parallel: int
    allowed_failures: int | None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The objectives, then the limits."""
        return self.objectives + self.limits

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials in each state as pages show it, in the order in which the states first appear."""
        return dict(Counter(map(state_now, self.trials)))

    @property
    def failed(self) -> int:
        """Number of trials without a result, including those that were stopped."""
        return sum(trial.state == INFEASIBLE for trial in self.trials)

    @property
    def succeeded(self) -> int:
        """Number of trials with a result."""
        return sum(trial.state == SUCCEEDED for trial in self.trials)

    @property
    def running(self) -> int:
        """Number of trials whose machines are running now."""
        return sum(map(is_running, self.trials))

    @property
    def waiting(self) -> int:
        """Number of trials that have begun but have no machines."""
        return sum(map(is_waiting, self.trials))

    @property
    def under_way(self) -> int:
        """Number of trials that have begun and not ended."""
        return sum(trial.state not in ENDED for trial in self.trials)

    @property
    def to_come(self) -> int:
        """Number of trials that Vertex AI has not begun. Early ends and grids may reduce it."""
        return max(self.most - len(self.trials), 0)


def study(job: Job, trials: Iterable[Trial]) -> Study | None:
    """Return a job's study, or None if the job has none."""
    body = study_spec(job)
    if body is None:
        return None
    metrics = [_metric(each) for each in objects(body["studySpec"].get("metrics"))]
    objectives = tuple(metric for metric in metrics if metric.limit is None)
    limits = tuple(metric for metric in metrics if metric.limit is not None)
    rows = tuple(sorted(trials, key=lambda trial: (number_of(trial), trial.trial_id)))
    names = dict.fromkeys(_parameters(objects(body["studySpec"].get("parameters"))))
    names |= dict.fromkeys(name for trial in rows for name in sorted(trial.parameters))
    return Study(
        objectives=objectives,
        limits=limits,
        parameters=tuple(names),
        trials=rows,
        best=tuple(_best(rows, objectives, limits)),
        most=whole(body.get("maxTrialCount")),
        parallel=whole(body.get("parallelTrialCount")),
        allowed_failures=whole(body.get("maxFailedTrialCount")) or None,
    )


def progress(study: Study, metric: Metric) -> list[Step]:
    """Return the progress of the search by one metric, trial by trial.

    A trial that breaks a limit is never the best.
    """
    steps: list[Step] = []
    best: float | None = None
    for trial in study.trials:
        value = value_of(trial, metric)
        is_fit = value is not None and all(limit.allows(trial) for limit in study.limits)
        if value is not None and is_fit and (best is None or metric.is_better(value, best)):
            best = value
        steps.append(Step(trial, number_of(trial), value, best))
    return steps


def ranked(study: Study, metric: Metric) -> list[Trial]:
    """Return the trials, best of this metric first and those without a value last.

    Ties are in order of their numbers.
    """

    def place(trial: Trial) -> tuple[bool, float]:
        value = value_of(trial, metric)
        return value is None, (-value if metric.is_more_better else value) if value is not None else 0.0

    return sorted(study.trials, key=place)


def value_of(trial: Trial, metric: Metric) -> float | None:
    """Return the value that a succeeded trial reached, or None for any other trial."""
    value: float | None = trial.metrics.get(metric.id) if trial.state == SUCCEEDED else None
    return value


def number_of(trial: Trial) -> int:
    """Return a trial's number, or 0 if its id is not a number."""
    return parse_digits(trial.trial_id) or 0


def _metric(raw: dict[str, Any]) -> Metric:
    """Return a metric of the study. Without a goal, higher values are better (vertex-facts 2.3)."""
    safety = raw.get("safetyConfig")
    threshold = safety.get("safetyThreshold", 0) if isinstance(safety, dict) else None
    limit = float(threshold) if isinstance(threshold, int | float) else None
    return Metric(str(raw.get("metricId", "")), raw.get("goal") != "MINIMIZE", limit)


def _parameters(raw: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the parameters in order, each followed by the conditional parameters that depend on it."""
    for parameter in raw:
        yield str(parameter.get("parameterId", ""))
        conditional = objects(parameter.get("conditionalParameterSpecs"))
        yield from _parameters(objects([each.get("parameterSpec") for each in conditional]))


def _best(trials: Sequence[Trial], objectives: Sequence[Metric], limits: Sequence[Metric]) -> list[Trial]:
    """Return the trials that no other beats. Of equal ones under one objective, only the first is returned."""
    points = [
        (trial, [trial.metrics[metric.id] for metric in objectives])
        for trial in trials
        if trial.state == SUCCEEDED
        and all(metric.id in trial.metrics for metric in objectives)
        and all(limit.allows(trial) for limit in limits)
    ]
    front: list[tuple[Trial, list[float]]] = []
    for trial, values in points if objectives else ():
        if len(objectives) == 1 and any(held == values for _, held in front):
            continue
        if not any(_beats(held, values, objectives) for _, held in front):
            front = [each for each in front if not _beats(values, each[1], objectives)] + [(trial, values)]
    return [trial for trial, _ in front]


def _beats(one: Sequence[float], other: Sequence[float], objectives: Sequence[Metric]) -> bool:
    """Return whether a point is nowhere worse and somewhere better."""
    compared = list(zip(objectives, one, other, strict=True))
    return not any(metric.is_better(theirs, ours) for metric, ours, theirs in compared) and any(
        metric.is_better(ours, theirs) for metric, ours, theirs in compared
    )
