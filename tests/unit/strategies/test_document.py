"""Tests that docs/rules.md describes the rules as they are."""

from pathlib import Path

from jobs.strategies import RULES
from jobs.strategies.rules_page import rules_page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "rules.md"


def test_page_is_what_the_rules_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == rules_page(), "run: python -m jobs.strategies.rules_page > docs/rules.md"


def test_page_lists_every_rule_once_with_its_source() -> None:
    page = rules_page()

    for code, rule in RULES.items():
        assert page.count(f"| `{code}` | {rule.severity} |") == 1
        assert rule.source.title in page
