"""A gate by mutation: guards are taken out of a copy of the code, one at a time, and something has to notice.

`guards` generates the list from the syntax tree: conditions, locks, terms of filters, and unique constraints. `judges`
runs what may notice, the cheapest first: seeds of the protocol, the tests of the module, seeds of the whole site.

    python -m tests.mutants                   every guard; prints a table, and exits with 1 if nobody notices one
    python -m tests.mutants --list            the guards, without running anything
    python -m tests.mutants --only submit.py  those of one module
    python -m tests.mutants --quick           the few of QUICK, as part of the tests
    python -m tests.mutants --tests-first     asks tests about all guards in one process first, which is much faster
    python -m tests.mutants --tests-only      asks nobody else

A mutation library such as mutmut or cosmic-ray changes operators and constants. It does not know that a lock or a term
of a filter is a guard, and it has one judge. The part that it would replace here is some forty lines of `ast`.
"""
