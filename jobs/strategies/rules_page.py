"""Generate docs/rules.md. `python -m jobs.strategies.rules_page` writes it to standard output."""

import sys
from collections.abc import Iterable, Iterator

from jobs.strategies import STRATEGIES, Rule, Strategy
from jobs.strategies.permissions import ADDRESSES, NEEDS
from jobs.strategies.rule_lists import CHAPTERS

OPENING = """# Rules

Trainboard checks every job by these rules before it is sent. What a rule finds is an *error* (Vertex AI would refuse
the job, or it could not run), needs an *approval*, or is a *note*. A site can give a rule another severity, or switch
it off, by its code. This page is made from the rules themselves:
`python -m jobs.strategies.rules_page > docs/rules.md`.

Rules about persistent resources compare the job with what Trainboard last saw of the resource.
"""
PERMISSIONS = (
    """The compose page lists those that a job really uses, and `manage.py jobspec check --json` prints them."""
)
FACTS = (
    ("Sets", "sets"),
    ("Machines", "machines"),
    ("Billing", "billing"),
    ("Quota", "quota_rule"),
    ("Waiting", "wait_rule"),
    ("Restarts", "restart_rule"),
    ("By hand", "console"),
)


def rules_page() -> str:
    """Return the page as Markdown."""
    lines = [OPENING, "## Strategies", ""]
    for strategy in STRATEGIES.values():
        lines += _strategy(strategy)
    lines += ["## Permissions", "", PERMISSIONS, "", *_needs(), "", "## Every job", ""]
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


def _needs() -> Iterator[str]:
    yield from ("| who | what for | role | permissions | source | read |", "|---|---|---|---|---|---|")
    for need in NEEDS:
        names = ", ".join(f"`{name.format(collection='customJobs')}`" for name in need.permissions)
        role = f"`{need.role}`" if need.role else "–"
        who = f"{need.who} (`{ADDRESSES[need.who]}`)" if need.who in ADDRESSES else need.who
        yield f"| {who} | {need.what} | {role} | {names or '–'} | {need.source.title} | {need.source.read} |"


def _table(rules: Iterable[Rule]) -> Iterator[str]:
    yield from ("| code | severity | rule | source | read |", "|---|---|---|---|---|")
    for rule in rules:
        yield f"| `{rule.code}` | {rule.severity} | {rule.message} | {rule.source.title} | {rule.source.read} |"


if __name__ == "__main__":
    sys.stdout.write(rules_page())
