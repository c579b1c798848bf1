"""What is kept of a job's metrics: thinned series, and how far the training was at which time. Pure.

A record is stored as JSON and goes on from there: folding lines in two parts gives what folding them at once gives.
"""

from bisect import insort
from dataclasses import asdict, dataclass, field
from typing import Any

from jobs.metrics.lines import Reading
from jobs.metrics.progress import Run
from jobs.metrics.totals import Totals

MAX_POINTS = 240
"""Of one series; when there are more, every second one goes, and of those to come every second is kept."""
MAX_SERIES = 24
MAX_RUNS = 60
"""Stretches in which progress only grew: one for each attempt."""

Point = tuple[float, int | None, float]
"""(seconds since 1970, step, value)"""


@dataclass(slots=True)
class Series:
    """One metric. `source`: the replica or trial that wrote it; `every`: of how many readings one is kept."""

    name: str
    source: str
    points: list[Point] = field(default_factory=list)
    every: int = 1
    count: int = 0
    last: Point | None = None

    def add(self, point: Point) -> None:
        """Take a point in; one that comes late takes its place."""
        if self.count % self.every == 0:
            insort(self.points, point, key=lambda each: each[0])
            if len(self.points) > MAX_POINTS:
                self.points, self.every = self.points[::2], self.every * 2
        self.count += 1
        if self.last is None or point[0] >= self.last[0]:
            self.last = point

    @property
    def shown(self) -> list[Point]:
        """Return the kept points, and the newest of all."""
        is_kept = not self.last or (self.points and self.points[-1][0] >= self.last[0])
        return list(self.points) if is_kept or self.last is None else [*self.points, self.last]


@dataclass(slots=True)
class Place:
    """How far one source was: the counts that its lines told last."""

    epoch: float | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    overall: int | None = None
    overall_of: int | None = None
    is_from_zero: bool = False

    def take(self, reading: Reading) -> None:
        """Take in what a line tells."""
        self.epochs = reading.epochs or self.epochs
        if reading.epoch is not None:
            self.is_from_zero = self.is_from_zero or (self.epoch is None and reading.epoch == 0)
            if reading.epoch != self.epoch:
                self.step = self.steps = None
            self.epoch = reading.epoch
        if reading.step is None:
            return
        if reading.is_inner:
            self.step, self.steps = reading.step, reading.steps
        elif self._counts(reading):
            self.overall, self.overall_of = reading.step, reading.steps or self.overall_of

    def _counts(self, reading: Reading) -> bool:
        """Whether a count of steps is that of the training: an evaluation has a shorter one in the midst of it."""
        total = self.overall_of
        return total is None or reading.steps in (None, total) or reading.steps > total or self.overall == total

    def fraction(self, totals: Totals, *, has_values: bool) -> float | None:
        """Return how much of the training is done, 0 to 1; None where no line and no argument tells of how much."""
        total = self.overall_of or totals.steps
        if self.overall is not None and total:
            return min(self.overall / total, 1.0)
        epochs = self.epochs or totals.epochs
        if self.epoch is None or not epochs:
            return None
        done = self.epoch - (not self.is_from_zero and self.epoch >= 1)
        if self.epoch % 1:
            done = self.epoch
        elif self.step is not None and self.steps:
            done += self.step / self.steps
        elif has_values:
            done += 1
        return max(0.0, min(done / epochs, 1.0))


@dataclass(slots=True)
class Record:
    """The metrics of a job and its progress, in the order in which they first came."""

    series: list[Series] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)

    @classmethod
    def load(cls, stored: dict[str, Any], totals: Totals) -> "Record":
        """Return the record that `as_json` gave."""
        return cls(
            series=[
                Series(**each | {"points": [tuple(point) for point in each["points"]], "last": tuple(each["last"])})
                for each in stored.get("series", ())
            ],
            places={source: Place(**each) for source, each in stored.get("places", {}).items()},
            runs=[Run(**each) for each in stored.get("runs", ())],
            totals=totals,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON."""
        return {
            "series": [asdict(each) for each in self.series],
            "places": {source: asdict(each) for source, each in self.places.items()},
            "runs": [asdict(each) for each in self.runs],
        }

    def take(self, reading: Reading, at: float, source: str, *, owner: str) -> None:
        """Take in what a line of `source` told at a time in seconds since 1970.

        `owner`: what the metrics belong to, a trial's name or "" for the job; of replicas that write the same metric
        the first counts.
        """
        if reading.is_empty or not (source in self.places or len(self.places) < MAX_SERIES):
            return
        place = self.places.setdefault(source, Place())
        place.take(reading)
        for name, value in reading.values.items():
            self._add(name, (at, reading.step if reading.step is not None else place.overall, value), source, owner)
        fraction = place.fraction(self.totals, has_values=bool(reading.values))
        if fraction is not None and not owner and source == next(iter(self.places)):
            self._advance(at, fraction)

    def _add(self, name: str, point: Point, source: str, owner: str) -> None:
        known = next((each for each in self.series if each.name == name and self._is_of(each, owner)), None)
        if known is None and len(self.series) < MAX_SERIES:
            known = Series(name, source)
            self.series.append(known)
        if known is not None and known.source == source:
            known.add(point)

    @staticmethod
    def _is_of(series: Series, owner: str) -> bool:
        return not owner or series.source.startswith(f"{owner} ")

    def _advance(self, at: float, fraction: float) -> None:
        """Note how far the training is; where it falls back a new run begins."""
        last = self.runs[-1] if self.runs else None
        if last is not None and at < last.until:
            return
        if last is None or fraction < last.reached:
            self.runs = [*self.runs, Run(at, fraction, at, fraction)][-MAX_RUNS:]
        else:
            last.move(at, fraction)
