"""The words of every search box for jobs: on the board, in the history and as `q` of the API.

Plain words search in names. `column:value` searches in one column, `cost>100` and `gpus<8` compare a figure. All words
must match, and quotes keep spaces.
"""

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.lookups import Exact, IsNull

from jobs.catalog import ACCELERATORS, MACHINES, REGIONS
from jobs.models import JobEvent
from jobs.states import FAILURES, FINISHED, RUNNING, SUCCESSFUL, WAITING, JobState
from jobs.strategies import STRATEGIES
from jobs.timeline import CANCELLED_FOR
from jobs.timeline.health import FAULTS

MAX_LENGTH = 200
MAX_COMPLETIONS = 12
STATE_WORDS: dict[str, frozenset[str]] = {
    "to-approve": frozenset({JobState.AWAITING_APPROVAL}),
    "waiting": WAITING,
    "running": RUNNING,
    "succeeded": SUCCESSFUL,
    "failed": FAILURES,
    "finished": FINISHED,
}
"""Words for several states. The name of a state, in any case, matches that state."""
IMAGES = [
    f"spec__{pools}__0__{key}"
    for pools in (
        "jobSpec__workerPoolSpecs",
        "trialJobSpec__workerPoolSpecs",
        "trainingTaskInputs__workerPoolSpecs",
        "trainingTaskInputs__trialJobSpec__workerPoolSpecs",
    )
    for key in ("containerSpec__imageUri", "pythonPackageSpec__executorImageUri")
]
"""Where each kind of job names the image of its first worker pool."""


def states_for(word: str) -> frozenset[str]:
    """Return the states that a word matches. An unknown word is returned as the name of a state."""
    key = word.lower()
    if key in STATE_WORDS:
        return STATE_WORDS[key]
    name = key.removeprefix("job_state_").replace("-", "_")
    return frozenset({JobState(name)}) if name in set(JobState) else frozenset({word})


def _image(value: str) -> Q:
    condition = Q()
    for path in IMAGES:
        condition |= Q(**{f"{path}__icontains": value})
    return condition


def _gpu(value: str) -> Q:
    """Match machines that have such an accelerator built in, and the name of one that is attached to a machine."""
    condition, name = Q(machines__icontains=value), value.upper().replace("-", "_")
    for machine in MACHINES.values():
        if name in machine.fixed_accelerator:
            condition |= Q(machines__contains=f" {machine.machine_type}")
    return condition


def _label(value: str) -> Q:
    key, equals, wanted = value.partition("=")
    found = KeyTextTransform(key, KeyTransform("labels", "spec"))  # not a path: a key may read like a lookup
    return Q(Exact(found, Value(wanted))) if equals else Q(IsNull(found, rhs=False))


def _health(value: str) -> Q:
    """Match jobs with this fault now or at their end, with any, or those that the policy cancelled for one."""
    code = value.lower().replace("-", "_")
    if code == "cancelled":
        ends = JobEvent.objects.filter(kind=JobEvent.Kind.CANCEL_REQUESTED, reason=CANCELLED_FOR)
        return Q(Exists(ends.filter(job=OuterRef("pk"))))
    return Q(health__code__gt="") if code == "any" else Q(health__code=code)


COLUMNS: dict[str, Callable[[str], Q]] = {
    "name": lambda value: Q(display_name__icontains=value),
    "state": lambda value: Q(state__in=states_for(value)),
    "strategy": lambda value: Q(strategy=value.lower().replace("-", "_")),
    "owner": lambda value: Q(owner__username__iexact=value),
    "team": lambda value: Q(team__name__iexact=value),
    "project": lambda value: Q(project__iexact=value),
    "region": lambda value: Q(region__iexact=value),
    "machine": lambda value: Q(machines__icontains=value),
    "gpu": _gpu,
    "label": _label,
    "image": _image,
    "health": _health,
}
FIGURES: dict[str, Callable[[float], tuple[str, float]]] = {
    "cost": lambda usd: ("cost_micros", usd * 1_000_000),
    "gpus": lambda count: ("gpus", count),
}
COMPARISON = re.compile(r"(\w{1,10})(>=|<=|>|<)\$?(\d{1,9}(?:\.\d{1,6})?)?", re.ASCII)
LOOKUPS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
KNOWN: dict[str, Callable[[], list[str]]] = {
    "state": lambda: [*STATE_WORDS, *(state.replace("_", "-") for state in JobState if state not in STATE_WORDS)],
    "strategy": lambda: [strategy.replace("_", "-") for strategy in STRATEGIES],
    "region": lambda: [*REGIONS],
    "machine": lambda: [*MACHINES],
    "health": lambda: ["any", *(code.replace("_", "-") for code in FAULTS), "cancelled"],
    "gpu": lambda: [re.sub("^NVIDIA_(TESLA_)?", "", name).replace("_", "-").lower() for name in ACCELERATORS],
}
"""Columns whose values are the same for everybody. Those of `owner`, `team` and `project` depend on the person."""


@dataclass(frozen=True, slots=True)
class Search:
    """What was typed. `unfinished` are words such as `state:`, which are still being typed and match everything."""

    names: tuple[str, ...] = ()
    """Texts that the job's name contains."""
    condition: Q = field(default_factory=Q)
    """The condition of all other words."""
    unfinished: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.condition)

    @property
    def whole(self) -> Q:
        """The condition of all words."""
        condition = self.condition
        for name in self.names:
            condition &= Q(display_name__icontains=name)
        return condition


def read_search(text: str) -> Search:
    """Return what a text searches for.

    A word with an unknown prefix is searched in names as a whole, so that no typing error is an error.
    """
    names, condition, unfinished = list[str](), Q(), list[str]()
    for word in _words(text[:MAX_LENGTH]):
        column, colon, value = word.partition(":")
        compared = COMPARISON.fullmatch(word)
        if compared and compared[1].lower() in FIGURES:
            if compared[3] is None:
                unfinished.append(word)
                continue
            name, figure = FIGURES[compared[1].lower()](float(compared[3]))
            condition &= Q(**{f"{name}__{LOOKUPS[compared[2]]}": figure})
        elif not colon or column.lower() not in COLUMNS:
            names.append(word)
        elif value:
            condition &= COLUMNS[column.lower()](value)
        else:
            unfinished.append(word)
    return Search(tuple(names), condition, tuple(unfinished))


def _words(text: str) -> list[str]:
    try:  # without NUL, which PostgreSQL does not accept in text
        return shlex.split(text.replace("\x00", ""))
    except ValueError:  # a quote that is not closed yet
        return text.replace("\x00", "").split()


def complete_search(text: str, values: Callable[[str], Iterable[str]]) -> list[str]:
    """Return at most MAX_COMPLETIONS texts that complete the last word of a search; none within quotes.

    `values(column)` gives the values of a column that is not in KNOWN.
    """
    head, space, word = text[:MAX_LENGTH].rpartition(" ")
    column, colon, typed = word.lower().partition(":")
    if '"' in text or "'" in text or (colon and column not in COLUMNS):
        return []
    if colon:
        possible = KNOWN[column]() if column in KNOWN else values(column)
        words = [(value.lower(), f"{column}:{shlex.quote(value)}") for value in possible]
    else:
        typed = column
        words = [(name, name) for name in (*(f"{each}:" for each in COLUMNS), *(f"{each}>" for each in FIGURES))]
    fitting = [(value, whole) for value, whole in words if typed in value]
    fitting.sort(key=lambda each: not each[0].startswith(typed))
    return [f"{head}{space}{whole}" for _value, whole in fitting[:MAX_COMPLETIONS]]
