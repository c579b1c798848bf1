"""Print how the cost of regular expressions and parsers grows with the worst input that is found.

Lines are printed for each that grows by more than LIMIT when its input doubles; then the exit code is 1. The cost is
CPU time and only its ratios count. It is for `make search`, not for the tests: a busy machine disturbs it.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from random import Random
from time import process_time

import django

from tests.growth.inputs import Cost, growth_of, worst_growth

LIMIT = 3.0
LENGTHS = (2_000, 4_000, 8_000, 16_000)
MIN_SECONDS = 0.000_1
"""Less is counted as this, because the clock is too coarse for it."""
LONG_ENOUGH = 1.0
"""A call of this many seconds is not repeated."""
COMMON = [*"aA0 \n_-./:=\"'()[]{}<$\\,@#é"]
MAX_WORDS = 80


def seconds(run: Callable[[str], object]) -> Cost:
    """Return what measures the CPU time of a call: the best of two."""

    def cost(text: str) -> float:
        before = process_time()
        run(text)
        first = process_time() - before
        if first > LONG_ENOUGH or first < MIN_SECONDS:
            return max(first, MIN_SECONDS)
        before = process_time()
        run(text)
        return max(min(first, process_time() - before), MIN_SECONDS)

    return cost


def words_of(pattern: re.Pattern[str]) -> list[str]:
    """Return the literal texts and characters of a regular expression, and common characters."""
    plain = re.sub(r"\\[wWdDsSbBAZnt]|\(\?[:=!<>PimsxaL-]*", " ", pattern.pattern)
    parts = re.findall(r"[A-Za-z]{2,}|[^\sA-Za-z]", plain.replace("\\", ""))
    return list(dict.fromkeys([*COMMON, *parts]))[:MAX_WORDS]


def targets() -> Iterator[tuple[str, Callable[[str], object], Sequence[str]]]:
    """Yield the name, the function and the words of everything that is searched."""
    from tests.growth.parsers import PARSERS, WORDS
    from tests.growth.patterns import subjects

    for name, parse in PARSERS.items():
        yield name, parse, WORDS
    for subject in subjects():
        yield f"{subject.name} {subject.method}", subject.run, words_of(subject.pattern)


def main() -> int:
    """Search, print what grows too fast, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the name of what is searched")
    parser.add_argument("--tries", type=int, default=200, help="inputs tried for each (default: 200)")
    parser.add_argument("--seed", type=int, default=Random().randrange(10**6))
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    searched, found = 0, 0
    for name, run, words in targets():
        if options.only not in name:
            continue
        searched += 1
        cost = seconds(run)
        growth = worst_growth(cost, words, Random(options.seed), options.tries, LENGTHS)
        if growth.ratio > LIMIT and (again := growth_of(cost, growth.recipe, LENGTHS)).ratio > LIMIT:
            found += 1
            print(f"{again.ratio:4.1f} {again.costs[-1]:7.3f} s  {name}\n     {again.recipe}", flush=True)
    print(f"{found} of {searched} grow by more than {LIMIT} when the input doubles (seed {options.seed})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
