"""Run many seeds and print the rate, or run one and describe it. The exit code is 1 on a violation."""

import argparse
import gc
import os
import sys
import time
from multiprocessing import get_context

PORTION = 250
MAX_PORTIONS = 20
"""Of one process, which keeps ever more, so that collecting it takes ever longer; then a fresh one takes its place."""


def violations(portion: tuple[int, int, bool]) -> list[str]:
    """Run seeds, given as (first, count, whether to stop at the first violation); return what went wrong, in words."""
    first, count, stops = portion
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests.simulation.run import Simulation, Violation

    gc.disable()
    found = []
    for seed in range(first, first + count):
        try:
            Simulation(seed).run()
        except Violation as violation:
            found.append(str(violation))
            if stops:
                break
        if seed % 25 == 0:
            gc.collect()
    return found


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run one seed and tell what happened")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if options.seed is not None:
        return run_one(options.seed)
    began = time.monotonic()
    portions = range(options.first, options.first + options.seeds, PORTION)
    counts = [min(PORTION, options.first + options.seeds - first) for first in portions]
    found: list[str] = []
    tasks = [(first, count, True) for first, count in zip(portions, counts, strict=True)]
    with get_context("fork").Pool(options.processes, maxtasksperchild=MAX_PORTIONS) as pool:
        for part in pool.imap(violations, tasks):
            found += part
            if found:
                break
    seconds = time.monotonic() - began
    if found:
        print(found[0])
        return 1
    print(
        f"{options.seeds:,} seeds without a violation in {seconds:.0f} s: {options.seeds / seconds * 60:,.0f} a minute"
    )
    return 0


def run_one(seed: int) -> int:
    """Run one seed and print what happened."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests.simulation.run import Simulation, Violation

    simulation = Simulation(seed)
    try:
        simulation.run()
    except Violation as violation:
        print(violation)
        return 1
    print("\n".join(simulation.kernel.messages()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
