"""The rules as a page, docs/rules.md. `python -m jobs.strategies.document` writes it to standard output."""

import sys
from collections.abc import Iterable, Iterator

from jobs.strategies import STRATEGIES, Rule, Strategy
from jobs.strategies.rules import (
    affinity,
    containers,
    disks,
    holes,
    machines,
    names,
    parameters,
    pipelines,
    pools,
    scheduling,
    secrets,
    surroundings,
    tpus,
    tuning,
)

OPENING = """# Rules

Trainboard judges every job by these rules before it is submitted. A rule *refuses* (Vertex AI would not take the job,
or it could not run), *asks* (somebody has to approve it) or *advises*. A site can give a rule another
severity, or switch it off, by its code. This page is made from the rules themselves:
`python -m jobs.strategies.document > docs/rules.md`.

Rules about persistent resources compare the job with what Trainboard last saw of the resource.
"""
FACTS = (
    ("Sets", "sets"),
    ("Machines", "machines"),
    ("Billing", "billing"),
    ("Quota", "quota_rule"),
    ("Waiting", "wait_rule"),
    ("Restarts", "restart_rule"),
    ("Roles", "roles"),
)
CHAPTERS = (
    ("Names, labels, region", names.RULES + holes.RULES),
    ("Worker pools", pools.RULES),
    ("Machines and accelerators", machines.RULES),
    ("TPUs", tpus.RULES),
    ("Boot disks", disks.RULES),
    ("Reservation affinities", affinity.RULES),
    ("Containers and Python packages", containers.RULES),
    ("Secrets", secrets.RULES),
    ("Identity, networks, outputs", surroundings.RULES),
    ("Time, and strategies that exclude each other", scheduling.RULES),
    ("Tuning jobs", tuning.RULES),
    ("Parameters of a study", parameters.RULES),
    ("Training pipelines", pipelines.RULES),
)


def document() -> str:
    """Return the page as Markdown."""
    lines = [OPENING, "## Strategies", ""]
    for strategy in STRATEGIES.values():
        lines += _strategy(strategy)
    lines += ["## Every job", ""]
    for title, rules in CHAPTERS:
        lines += [f"### {title}", "", *_table(rules), ""]
    return "\n".join(lines).rstrip() + "\n"


def _strategy(strategy: Strategy) -> Iterator[str]:
    yield from (f"### {strategy.label}", "", strategy.summary, "")
    for label, name in FACTS:
        yield f"- {label}: {getattr(strategy, name)}"
    preempted = "yes" if strategy.preemptible else "no"
    yield f"- Can be preempted: {preempted}"
    yield f"- Source: {strategy.source.title}, read {strategy.source.read}"
    yield from ("", *_table(strategy.rules), "")


def _table(rules: Iterable[Rule]) -> Iterator[str]:
    yield from ("| code | severity | rule | source | read |", "|---|---|---|---|---|")
    for rule in rules:
        yield f"| `{rule.code}` | {rule.severity} | {rule.sentence} | {rule.source.title} | {rule.source.read} |"


if __name__ == "__main__":
    sys.stdout.write(document())
