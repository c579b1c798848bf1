"""Tables of benchmark results: the measure, both sides, their ratio, and the target if there is one."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line. `ratio` compares ours with theirs in the way that `against` describes. `target` is an upper bound."""

    what: str
    ours: float
    peer: float
    unit: str
    ratio: float
    against: str
    target: float | None = None

    @property
    def is_missed(self) -> bool:
        """Whether the target is missed."""
        return self.target is not None and self.ours > self.target


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    with_targets = any(row.target is not None for row in rows)
    target = f"{'target':>14}  " if with_targets else ""
    print(f"{'what':<34}{'ours':>14}  {target}{'peer':>14}  {'ratio':>8}  against")
    for row in rows:
        aim = "" if row.target is None else f"<= {_figure(row.target, row.unit)}"
        aim = f"{aim:>14}  " if with_targets else ""
        figures = f"{_figure(row.ours, row.unit):>14}  {aim}{_figure(row.peer, row.unit):>14}"
        missed = "  MISSED" if row.is_missed else ""
        print(f"{row.what:<34}{figures}  {_ratio(row.ratio):>8}  {row.against}{missed}")


def _figure(value: float, unit: str) -> str:
    places = {"s": 2, "ms": 3 if value < 1 else 1}.get(unit, 0)
    return f"{value:,.{places}f} {unit}"


def _ratio(value: float) -> str:
    return f"{value:.1f}×" if value >= 1 else f"{value:.2f}×"


@dataclass
class Figure:
    """One line of a list. `limit` is a minimum if `is_rate`, else a maximum; None if there is no target."""

    what: str
    measured: float
    unit: str
    limit: float | None = None
    is_rate: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the target is met."""
        return self.limit is None or (self.measured >= self.limit if self.is_rate else self.measured <= self.limit)

    def __str__(self) -> str:
        target = "" if self.limit is None else f"{'>=' if self.is_rate else '<='} {self.limit:,.0f} {self.unit}".strip()
        verdict = "" if self.limit is None else "met" if self.is_kept else "MISSED"
        return f"{self.what:<64}{self.measured:>11,.2f} {self.unit:<6}{target:>16}  {verdict}".rstrip()


def tell(figures: Sequence[Figure]) -> int:
    """Print the list with the results and return the exit code of the program."""
    print(f"{'what':<64}{'measured':>11} {'':<6}{'target':>16}  verdict")
    print("\n".join(map(str, figures)))
    return 0 if all(figure.is_kept for figure in figures) else 1
