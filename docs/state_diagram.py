"""Draw the diagram of states in `lifecycle.md` from the table that decides: `make diagram`.

It is a Mermaid diagram, which GitHub and editors draw. Vertex AI's states that behave alike share one box.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from jobs.states import FINISHED, REMOTE, JobState, may_follow

PAGE = Path(__file__).parent / "lifecycle.md"
FIRST, LAST = "```mermaid\n", "```\n"
BEGINNING = "[*]"


def box_of(state: str) -> str:
    """Return the name of the box that shows a state: its own for Trainboard's states."""
    if state not in REMOTE:
        return state
    if state in FINISHED:
        return "ended"
    others = REMOTE - FINISHED - {state}
    return "at_vertex" if any(may_follow(state, other) for other in others) else state


def arrows() -> Iterator[tuple[str, str, str]]:
    """Yield (from, to, label) for each pair of boxes with an allowed transition, in the order of `JobState`."""
    drawn = set()
    for before in ("", *JobState):
        for after in JobState:
            for is_adopted in (False, True):
                if may_follow(before, after, is_adopted=is_adopted):
                    ends = (box_of(before) if before else BEGINNING, box_of(after))
                    if ends not in drawn:
                        drawn.add(ends)
                        yield (*ends, "adopted" if is_adopted else "")


def diagram() -> str:
    """Return the fenced block of the page."""
    boxes: defaultdict[str, list[str]] = defaultdict(list)
    for state in JobState:
        boxes[box_of(state)].append(state.upper() if state in REMOTE else state)
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{", ".join(states)}" as {box}' for box, states in boxes.items() if states != [box]]
    lines += [f"    {before} --> {after}{f' : {label}' if label else ''}" for before, after, label in arrows()]
    return FIRST + "\n".join(lines) + "\n" + LAST


def with_diagram(page: str) -> str:
    """Return the text of the page with the diagram of today."""
    before, _, rest = page.partition(FIRST)
    return before + diagram() + rest.partition(LAST)[2]


if __name__ == "__main__":
    PAGE.write_text(with_diagram(PAGE.read_text()))
