"""Tests of sources as links: addresses become links, everything else stays text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.drawing.sources import PLACE, source_link
from jobs.strategies import RULES


@pytest.mark.parametrize(
    ("title", "address"),
    [
        ("Agent Platform documentation, configure-compute", f"{PLACE}training/configure-compute"),
        ("Agent Platform documentation, general/locations", f"{PLACE}general/locations"),
        ("Agent Platform documentation, schedule-jobs-dws (Flex-start)", f"{PLACE}training/schedule-jobs-dws"),
        ("cloud.google.com/compute/docs/eol/k80-eol; and more", "https://cloud.google.com/compute/docs/eol/k80-eol"),
        ("gcloud ai custom-jobs create, its own checks", None),
        ("evil.example/cloud.google.com/x", None),
        ("cloud.google.com.evil.example/x", None),
    ],
)
def test_a_source_is_a_link_where_it_names_an_address(title: str, address: str | None) -> None:
    assert re.findall(r'href="([^"]+)"', source_link(title)) == ([address] if address else [])
    assert re.sub(r"<[^>]+>", "", source_link(title)) == title


def test_every_rule_from_a_page_of_google_leads_to_it() -> None:
    titles = {rule.source.title for rule in RULES.values()}
    pages = {title for title in titles if "Agent Platform documentation" in title or "cloud.google.com" in title}

    assert len(pages) > 10
    assert [title for title in pages if "href" not in source_link(title)] == []


@given(st.text())
def test_any_text_stays_text(title: str) -> None:
    assert source_link(title).count("<") == 2 * source_link(title).count("<a ")
