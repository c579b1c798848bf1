"""The stored metrics of a job: thinned series, and the progress of the training over time. Pure.

A record is stored as JSON and continued from there: reading lines in two parts gives the same result as reading them at
once.
"""

from bisect import insort
from dataclasses import asdict, dataclass, field
from typing import Any

from jobs.metrics.figures import named
from jobs.metrics.lines import Reading, read_values
from jobs.metrics.progress import Run
from jobs.metrics.tables import Table
from jobs.metrics.totals import Totals

MAX_POINTS = 240
"""Points of one series. If there are more, every second one is dropped, and later every second new one is kept."""
MAX_SERIES = 36
BEGUN = 3
"""After this many lines that repeat metrics a training without steps has begun."""

Point = tuple[float, int | None, float]
"""(seconds since 1970, step, value)"""


@dataclass(slots=True)
class Series:
    """One metric. `source` and `rank` are the replica or trial that wrote it. One of `every` readings is kept.

    `has_step` means that its values stand next to a step.
    """

    name: str
    source: str
    points: list[Point] = field(default_factory=list)
    every: int = 1
    count: int = 0
    last: Point | None = None
    rank: int | None = None
    has_step: bool = False

    def add(self, point: Point) -> None:
        """Add a point. A late one is inserted in order of time."""
        if self.count % self.every == 0:
            insort(self.points, point, key=lambda each: each[0])
            if len(self.points) > MAX_POINTS:
                self.points, self.every = self.points[::2], self.every * 2
        self.count += 1
        if self.last is None or point[0] >= self.last[0]:
            self.last = point

    def drop(self, points: list[Point]) -> None:
        """Remove the points that turned out to belong to another series."""
        self.points = [each for each in self.points if each not in points]
        self.count -= len(points) - 1
        self.last = self.points[-1] if self.points else self.last

    @property
    def is_measured(self) -> bool:
        """Whether the values change as measurements do, and not as settings, which stay, or counts, which only grow."""
        values = [point[2] for point in self.points[-3:]]
        is_count = all(value % 1 == 0 for value in values) and values == sorted(values)
        return len(values) > 2 and len({*values}) > 1 and not is_count

    @property
    def shown(self) -> list[Point]:
        """The kept points, and the newest of all."""
        is_kept = not self.last or (self.points and self.points[-1][0] >= self.last[0])
        return list(self.points) if is_kept or self.last is None else [*self.points, self.last]


@dataclass(slots=True)
class Place:
    """The position of one source: the counts of its last lines, and the table it is printing.

    `is_through` means that steps next to an epoch count through all epochs, as those of PaddleSeg do. `is_headed` means
    that lines of their own begin the epochs, `is_inside` that steps of lines without an epoch do not fit the whole
    training, and `is_doubtful` that `overall` may count inside an epoch. `lines` is the
    number of lines that repeated metrics, at most `BEGUN`.
    """

    epoch: float | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    overall: int | None = None
    overall_of: int | None = None
    is_from_zero: bool = False
    is_through: bool = False
    is_headed: bool = False
    is_inside: bool = False
    is_doubtful: bool = False
    part: str = ""
    lines: int = 0
    is_marked: bool = False
    table: Table = field(default_factory=Table)

    def take(self, reading: Reading) -> bool:
        """Update the position from a line. Return False and change nothing if the line is a remark."""
        if self._is_remark(reading) or (reading.is_bare and self.part and reading.steps != self.overall_of):
            return False  # a bar of an evaluation, which a line began
        self.epochs = reading.epochs or self.epochs
        self.is_marked = self.is_marked or (reading.heading == "" and reading.step is not None)
        if reading.epoch is not None:
            self.is_from_zero = self.is_from_zero or (self.epoch is None and reading.epoch == 0)
            if reading.epoch != self.epoch:
                self._begin_epoch(reading)
            self.epoch = reading.epoch
            self.is_headed = self.is_headed or (
                reading.epoch % 1 == 0 and not (reading.epochs is None and reading.values)
            )
        if reading.step is not None and (reading.steps or 0) >= (self.overall_of or self.steps or 1) and self.epochs:
            begun = (self.epoch or 0) - (not self.is_from_zero)
            count = reading.step / (reading.steps or 1) * self.epochs
            self.is_inside = self.is_inside or not begun - 0.1 <= count <= begun + 1.1
        if self.is_headed and (self.is_doubtful or self.is_inside):
            self.overall, self.overall_of, self.is_doubtful = None, None, False
        is_inner = reading.is_inner or (self.is_headed and (reading.is_bare or self.is_inside))
        if reading.step is None:
            is_count = self.overall_of and (self.overall is not None or (reading.steps or 0) < self.overall_of)
            self.overall_of = self.overall_of if is_count else reading.steps or self.overall_of
        elif is_inner and not self.is_through and self.epoch is not None:
            if reading.steps is None or not self._is_shorter(reading.steps, self.step, self.steps):
                self.step, self.steps = reading.step, reading.steps
        elif reading.steps is None or not self._is_shorter(reading.steps, self.overall, self.overall_of):
            known = self.overall_of if reading.step <= (self.overall_of or 0) else None  # else that of another count
            self.overall, self.overall_of = reading.step, reading.steps or known
            self.is_doubtful = reading.is_bare or is_inner
        return True

    def _is_remark(self, reading: Reading) -> bool:
        """Return whether a line only mentions a reached step or epoch: "saved after epoch 26", "Epoch 26/40 done".

        Such a line has no metric. It repeats the present epoch without a step, or names an earlier epoch or step
        without a total. With a total it means that a training begins again.
        """
        if reading.values or reading.steps is not None:
            return False
        if reading.step is None and reading.epoch is not None and reading.epoch == self.epoch:
            return True
        if reading.epochs is not None:
            return False
        is_earlier = reading.step is not None and self.overall is not None and reading.step < self.overall
        return is_earlier or (reading.epoch is not None and self.epoch is not None and reading.epoch < self.epoch)

    def _begin_epoch(self, reading: Reading) -> None:
        """Forget the steps of the previous epoch. If they continue to count, they are steps of the whole training."""
        is_next = self.epoch is not None and reading.epoch is not None and reading.epoch > self.epoch
        if is_next and reading.is_inner and reading.step is not None:
            if self.is_through and reading.step < (self.overall or 0):
                self.is_through, self.overall, self.overall_of = False, None, None
            elif self.step is not None and reading.steps is not None and reading.steps == self.steps:
                self.is_through = reading.step > self.step
        self.step = self.steps = None

    def is_evaluated(self, reading: Reading) -> bool:
        """Return whether a line that counts fewer steps is of an evaluation, which a line began: "Eval begin..."."""
        is_unmarked = self.is_marked and reading.heading is None and reading.step is not None and reading.epoch is None
        is_shorter = reading.steps is not None and reading.steps < (self.steps or self.overall_of or 0)
        return bool(self.part) and (is_unmarked or is_shorter)

    @staticmethod
    def _is_shorter(total: int, count: int | None, known: int | None) -> bool:
        """Return whether a count of steps belongs to an evaluation, which is shorter and runs during the training."""
        return known is not None and total < known and count != known

    def fraction(self, totals: Totals, *, has_values: bool) -> float | None:
        """Return the progress of the training, 0 to 1, or None if no line and no argument contains the total."""
        total = self.overall_of or totals.steps
        if self.overall is not None and total:
            return min(self.overall / total, 1.0)
        epochs = self._epochs(totals)
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

    def _epochs(self, totals: Totals) -> int | None:
        """Return the total number of epochs, or None if no line and no argument contains it.

        Lines that count from zero name the last epoch: YOLOv5, Lightning and PyTorch's tutorials write `0/99` for 100
        epochs. Programs that write `0/100` for them are recognized only by the job's arguments.
        """
        if not self.is_from_zero or self.epochs is None or self.epochs == totals.epochs:
            return self.epochs or totals.epochs
        return self.epochs + 1


@dataclass(slots=True)
class Record:
    """The metrics of a job and its progress, in the order of their first appearance.

    `doubtful` are values with unknown names, which become series when they turn out to be measurements.
    """

    series: list[Series] = field(default_factory=list)
    doubtful: list[Series] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)

    @classmethod
    def load(cls, stored: dict[str, Any], totals: Totals) -> "Record":
        """Return the record from the JSON of `as_json`."""
        series, doubtful = (
            [Series(**each | {"points": [*map(tuple, each["points"])], "last": tuple(each["last"])}) for each in kept]
            for kept in (stored.get("series", ()), stored.get("doubtful", ()))
        )
        return cls(
            series=series,
            doubtful=doubtful,
            places={
                source: Place(**each | {"table": Table(**each.get("table", {}))})
                for source, each in stored.get("places", {}).items()
            },
            runs=[Run(**each) for each in stored.get("runs", ())],
            totals=totals,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON."""
        return {name: value for name, value in asdict(self).items() if name != "totals"}

    def take(self, reading: Reading, at: float, source: str, *, owner: str) -> None:
        """Add a line of `source` at a time in seconds since 1970.

        `owner` is what the metrics belong to: a trial's name, or "" for the job. If several replicas write the same
        metric, the first one is used; likewise of the processes of a replica.
        """
        where = f"{source} rank {reading.rank}" if reading.rank else source
        place = self.places.get(where)
        if reading.is_rule and place is not None:
            reading = read_values(place.table.end())
        heading = "" if reading.heading is None and reading.has_position and not reading.is_bare else reading.heading
        is_evaluated = place is not None and place.is_evaluated(reading)
        if place is not None and heading is not None and not is_evaluated:
            place.part = heading
        has_begun = place is not None and (place.epoch is not None or place.overall is not None or place.lines == BEGUN)
        values = reading.values | reading.within if has_begun else reading.values
        is_nothing = reading.is_empty and not (values or reading.maybe)
        if is_nothing or (place is None and len(self.places) >= MAX_SERIES):
            return
        place = self.places.setdefault(where, place or Place(part=heading or ""))
        if reading.columns or reading.cell is not None:
            place.table.take(reading.columns, reading.cell, place.part)
            return
        is_taken = not is_evaluated and place.take(reading)
        if reading.values and place.lines < BEGUN:
            place.lines += not {each.name.lower() for each in self.series}.isdisjoint(map(str.lower, reading.values))
        has_step = reading.step is not None or reading.steps is not None
        for name, value in (reading.maybe | values).items():
            point = (at, reading.step if reading.step is not None else place.overall, value)
            new = Series(named(name, place.part), source, rank=reading.rank, has_step=has_step)
            self._add(new, point, owner, is_sure=name in values)
        fraction = place.fraction(self.totals, has_values=bool(reading.values) or not reading.has_position)
        if fraction is not None and is_taken and not owner and where == next(iter(self.places)):
            self._advance(at, fraction)

    def columns_of(self, source: str) -> list[str]:
        """Return the columns of the table that a source is printing, or [] if it prints none."""
        return self.places.get(source, Place()).table.columns

    def _add(self, new: Series, point: Point, owner: str, *, is_sure: bool) -> None:
        """Add a point to the series of a name. What lines without a step summarize is another series."""
        known, whole = self._find(self.series, new.name, owner), None
        if known is not None and known.has_step and not new.has_step:
            whole, new.name = known, f"{new.name} (summary)"
            known = self._find(self.series, new.name, owner)
        kept = self.series if known is not None or (is_sure and whole is None) else self.doubtful
        known = known or self._find(kept, new.name, owner)
        if known is None and len(kept) < MAX_SERIES:
            known = new
            kept.append(known)
        if known is None or (known.source, known.rank) != (new.source, new.rank):
            return
        known.has_step = known.has_step or new.has_step
        known.add(point)
        if kept is self.doubtful and known.is_measured and len(self.series) < MAX_SERIES:
            self.doubtful.remove(known)
            self.series.append(known)
            if whole is not None:
                whole.drop(known.points)
        elif kept is self.doubtful and whole is not None:
            whole.add(point)  # until it is certain that there are summaries

    @staticmethod
    def _find(kept: list[Series], name: str, owner: str) -> Series | None:
        is_of = (each for each in kept if each.name.lower() == name.lower())
        return next((each for each in is_of if not owner or each.source.startswith(f"{owner} ")), None)

    def _advance(self, at: float, fraction: float) -> None:
        """Record the progress of the training. If it falls back, a new run begins."""
        last = self.runs[-1] if self.runs else None
        if last is not None and at < last.until:
            return
        if last is None or fraction < last.reached:
            self.runs = [*self.runs, Run(at, fraction, at, fraction)][-60:]  # more than a job has attempts
        else:
            last.move(at, fraction)
