"""Run many seeds and print how many a minute, or one and tell it; exit code 1 on a violation."""

import argparse
import gc
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

PORTION = 250


def violations(first: int, count: int, stops: bool) -> list[str]:
    """Run `count` seeds from `first` on; return what went wrong, in words."""
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
    with ProcessPoolExecutor(options.processes) as pool:
        for part in pool.map(violations, portions, counts, repeat(True)):
            found += part
            if found:
                pool.shutdown(wait=False, cancel_futures=True)
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
    print("\n".join(simulation.kernel.sentences()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
