"""Tests of what other tests rely on: a colour scheme changes only colours."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHEETS = sorted((ROOT / "dashboard/static/trainboard").glob("*.css"))


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_a_colour_scheme_changes_colours_only(sheet: Path) -> None:
    """`light-dark()` chooses between two colours. No other rule may depend on the colour scheme."""
    text = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)

    assert "prefers-color-scheme" not in text
    for selector, body in re.findall(r"([^{}]*)\{([^{}]*)\}", text):
        if "data-theme" in selector:
            properties = [each.partition(":")[0].strip() for each in body.split(";") if each.strip()]
            assert all(name == "color-scheme" or name.startswith("--") for name in properties), selector


def test_nothing_else_asks_for_the_colour_scheme() -> None:
    scripts = [path for path in (ROOT / "dashboard").rglob("*") if path.suffix in {".js", ".py", ".svg"}]
    templates = list((ROOT / "templates").rglob("*.html"))

    assert scripts
    assert templates
    assert [path for path in scripts + templates if "prefers-color-scheme" in path.read_text()] == []
