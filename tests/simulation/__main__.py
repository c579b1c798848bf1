"""Run many seeds of a simulation and print the rate, or run one and describe it. The exit code is 1 on a violation."""

import argparse
import gc
import logging
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, NamedTuple

PORTIONS = {"protocol": 250, "site": 5}
"""Seeds that a process runs before it returns what it found, by simulation."""
MAX_PORTIONS = 20
"""Of one process, which keeps ever more, so that collecting it takes ever longer; then a fresh one takes its place."""

PROGRESS = {"protocol": 10_000, "site": 100}
"""Seeds after which a long run says how far it is."""


class Portion(NamedTuple):
    """Seeds to run one after the other."""

    simulation: str
    first: int
    count: int


def prepared(simulation: str) -> Callable[[int], Any]:
    """Return what makes a run of a seed: of the protocol, or of the whole site over the configured database."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    logging.disable(logging.CRITICAL)  # a simulated site logs what it survives
    if simulation == "protocol":
        from tests.simulation.run import Simulation

        return Simulation
    from tests.simulation.site.run import SiteSimulation
    from tests.simulation.site.world import database, prepare

    prepare()
    return lambda seed: SiteSimulation(seed, database())


def violations(portion: Portion) -> list[str]:
    """Run seeds up to the first violation; return what went wrong, in words."""
    from tests.simulation.run import Violation

    make = prepared(portion.simulation)
    gc.disable()
    for seed in range(portion.first, portion.first + portion.count):
        try:
            make(seed).run()
        except Violation as violation:
            return [str(violation)]
        except Exception as error:  # noqa: BLE001 - a fault of the simulation; the other seeds are of use
            return [f"Seed {seed} raised {error!r}\n{traceback.format_exc()}"]
        if seed % 25 == 0:
            gc.collect()
    return []


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument(
        "--protocol", action="store_true", help="only the submission protocol, over a model of the database"
    )
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run one seed and tell what happened")
    parser.add_argument("--all", action="store_true", help="go on after a violation, and print the first line of each")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    simulation = "protocol" if options.protocol else "site"
    with servers(simulation):
        return run_one(simulation, options.seed) if options.seed is not None else run_many(simulation, options)


@contextmanager
def servers(simulation: str) -> Iterator[None]:
    """Inside the block, the PostgreSQL server of the tests runs if they are to use one."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    if simulation == "protocol" or os.environ.get("TRAINBOARD_TEST_POSTGRES") != "1":
        yield
        return
    import django

    django.setup()
    from tests.simulation.site.world import server

    with server():
        yield


def run_many(simulation: str, options: argparse.Namespace) -> int:
    """Run many seeds in processes and print the rate or what was found."""
    began, size = time.monotonic(), 1 if options.all else PORTIONS[simulation]
    ends = options.first + options.seeds
    portions = [Portion(simulation, first, min(size, ends - first)) for first in range(options.first, ends, size)]
    prepared(simulation)  # once, before the processes begin
    found: list[str] = []
    used = processor_seconds()
    with get_context("fork").Pool(options.processes, maxtasksperchild=MAX_PORTIONS) as pool:
        for portion, part in zip(portions, pool.imap(violations, portions), strict=True):
            found += part
            done, step = portion.first + portion.count - options.first, PROGRESS[simulation]
            if done // step > (done - portion.count) // step:
                minutes = (time.monotonic() - began) / 60
                print(f"{done:,} seeds in {minutes:.0f} min", file=sys.stderr, flush=True)
            if found and not options.all:
                break
            for each in part:
                print(each.partition("\n")[0], flush=True)
        else:  # wait for the processes, whose time counts when they have ended
            pool.close()
            pool.join()
    seconds = time.monotonic() - began
    if found:
        print(f"{len(found)} seeds with a violation" if options.all else found[0])
        return 1
    used = processor_seconds() - used
    rate, per_seed = options.seeds / seconds * 60, used / options.seeds
    print(f"{options.seeds:,} seeds without a violation in {seconds:.0f} s: {rate:,.0f} a minute")
    print(f"{per_seed:.3g} s of processor time a seed: {60 / per_seed:,.0f} seeds per minute of one processor")
    return 0


def processor_seconds() -> float:
    """Return the processor time that this process and its ended children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def run_one(simulation: str, seed: int) -> int:
    """Run one seed and print what happened."""
    run = prepared(simulation)(seed)
    from tests.simulation.run import Violation

    try:
        run.run()
    except Violation as violation:
        print(violation)
        return 1
    print("\n".join(run.kernel.messages()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
