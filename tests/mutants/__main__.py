"""Take out each guard in a copy of the repository, and print who notices. The exit code is 1 if nobody does."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from queue import Queue

from tests.mutants.guards import Guard, find
from tests.mutants.in_process import ask_tests, copy_of
from tests.mutants.judges import QUICK, Judge, first_to_notice, judges_of, name, reason

ROOT = Path(__file__).resolve().parents[2]
MIGRATION = "jobs/migrations/9999_without_a_guard.py"
JudgesOf = Callable[[Guard], tuple[Judge, ...]]
WITHOUT_CONSTRAINT = """from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("jobs", "{newest}")]
    operations = [{operation}]
"""


@contextmanager
def without(guard: Guard, copy: Path) -> Iterator[None]:
    """Inside the block, the copy has no such guard."""
    path = copy / guard.path
    if guard.kind == "unique constraint":
        newest = max(each.stem for each in (copy / "jobs/migrations").glob("[0-9]*.py"))
        path, text = copy / MIGRATION, WITHOUT_CONSTRAINT.format(newest=newest, operation=guard.without)
        before = None
    else:
        before = path.read_text()
        text = guard.apply(before)
    try:
        _write(path, text)
        yield
    finally:
        if before is None:
            path.unlink()
        else:
            _write(path, before)


def _write(path: Path, text: str) -> None:
    """Write a module, and remove what Python has compiled of it: a file of the same second may look unchanged."""
    path.write_text(text)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def judge_all(guards: list[Guard], processes: int, judges_of: JudgesOf) -> Iterator[tuple[Guard, str, float]]:
    """Yield each guard with the name of who noticed, or "", and the seconds; in copies that work side by side."""
    with tempfile.TemporaryDirectory(prefix="tb-mutants-") as folder:
        copies: Queue[Path] = Queue()
        for number in range(processes):
            copies.put(copy_of(ROOT, Path(folder) / str(number)))

        @contextmanager
        def a_copy() -> Iterator[Path]:
            copy = copies.get()
            try:
                yield copy
            finally:
                copies.put(copy)

        def is_alarmed(judge: Judge) -> bool:
            with a_copy() as copy:
                return judge.notices(copy)

        def run(guard: Guard) -> tuple[Guard, str, float]:
            with a_copy() as copy, without(guard, copy):
                return guard, *first_to_notice(copy, judges_of(guard))

        with ThreadPoolExecutor(processes) as pool:
            judges = list(dict.fromkeys(judges_of(guard)[0] for guard in guards))
            alarmed = [
                judge.name for judge, is_wrong in zip(judges, pool.map(is_alarmed, judges), strict=True) if is_wrong
            ]
            if alarmed:
                raise SystemExit(f"These fail although nothing was taken out: {'; '.join(alarmed)}.")
            yield from pool.map(run, guards)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the guards without running anything")
    parser.add_argument("--quick", action="store_true", help="only the sample that belongs to the tests")
    parser.add_argument(
        "--only", action="append", default=[], help="a part of a path, key or constraint; may be repeated"
    )
    parser.add_argument("--tests-first", action="store_true", help="ask tests about all guards in one run before")
    parser.add_argument(
        "--tests-only", action="store_true", help="ask nobody else about what these tests do not notice"
    )
    parser.add_argument("--tries", type=int, default=6, help="tests that are asked about one guard in that run")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    judges: JudgesOf = (lambda guard: (QUICK[name(guard)],)) if options.quick else judges_of
    patterns = list(QUICK) if options.quick else [f"*{part}*" for part in options.only] or ["*"]
    found = [guard for guard in find(ROOT) if any(fnmatch(name(guard), pattern) for pattern in patterns)]
    left_out = {guard: why for guard in found if (why := reason(guard))}
    guards = [guard for guard in found if guard not in left_out]
    if options.list:
        print("\n".join(f"{name(guard):<70} {guard.kind:<12} {_line(guard)}" for guard in guards))
    for guard, why in left_out.items():
        print(f"left out  {name(guard)}: {why}")
    survivors, rest = [], guards
    for on_postgres in (False, True) if (options.tests_first or options.tests_only) and not options.list else ():
        with tempfile.TemporaryDirectory(prefix="tb-mutants-") as folder:
            asked = dict.fromkeys(each for guard in rest for each in judges(guard) if each.on_postgres == on_postgres)
            copy = copy_of(ROOT, Path(folder) / "copy")
            noticed = dict(ask_tests(rest, asked, copy, options.tries, on_postgres=on_postgres))
        for guard, test in noticed.items():
            print(f"{guard.path}:{guard.line} {guard.key}  {_line(guard)}\n    {test}", flush=True)
        rest = [guard for guard in rest if guard not in noticed]
        where = " on PostgreSQL" if on_postgres else ""
        print(f"{len(noticed)} of {len(guards)} are noticed by tests{where}.", flush=True)
    others: Iterable[tuple[Guard, str, float]] = judge_all(rest, options.processes, judges)
    if options.list or options.tests_only:
        others = [(guard, "", 0) for guard in rest if options.tests_only]
    for guard, by, seconds in others:
        print(
            f"{by or 'NOBODY':<34} {seconds:5.0f} s  {guard.path}:{guard.line} {guard.key}  {_line(guard)}", flush=True
        )
        survivors += [] if by else [guard]
    print(f"{len(guards)} guards, {len(survivors)} that nobody misses, {len(left_out)} left out.")
    return 1 if survivors else 0


def _line(guard: Guard) -> str:
    return " ".join(guard.code.split())[:80]


if __name__ == "__main__":
    sys.exit(main())
