"""Tests of the user's guide: every page, its links and anchors, and the words of the site that it names."""

import re
from html import escape
from pathlib import Path

import polib
import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.guide import FOLDER, GuidePage, find_sections, guide_pages
from tests.pages.conftest import SignIn, text_of

TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
CATALOGUE = Path("dashboard/locale/es/LC_MESSAGES/django.po")


@pytest.fixture
def reader(owner: User, signed_in: SignIn) -> Client:
    return signed_in(owner)


def test_lists_its_pages_in_order(reader: Client) -> None:
    text = text_of(reader.get("/docs/"))

    places = [text.rindex(page.summary.replace("\n", " ")) for page in guide_pages()]
    assert len(places) == len(TEXTS)
    assert places == sorted(places)


@pytest.mark.parametrize("page", guide_pages(), ids=lambda page: page.slug)
def test_a_page_has_its_title_once_and_its_text(reader: Client, page: GuidePage) -> None:
    html = reader.get(f"/docs/{page.slug}/").content.decode()

    assert html.count("<h1>") == 1
    assert f'<title lang="en">{escape(page.title)} · Trainboard</title>' in html
    assert all(f'id="{section.anchor}"' in html for section in page.sections[1:])


@pytest.mark.parametrize("page", guide_pages(), ids=lambda page: page.slug)
def test_links_lead_to_pages(reader: Client, page: GuidePage) -> None:
    links = re.findall(r'href="([^"]+)"', page.html)

    assert all(link.startswith("../") for link in links), "the guide links to itself only"
    assert [link for link in links if reader.get(f"/docs/{link.removeprefix('../')}").status_code != 200] == []


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_bold_is_a_word_of_the_site(name: str) -> None:
    known = {entry.msgid.rstrip("…") for entry in polib.pofile(str(CATALOGUE))} | {"Ctrl+K", "?"}
    prose = re.sub(r"```.*?```", "", TEXTS[name], flags=re.S)
    lists = re.sub(r"^- \*\*[^*]+\*\*:", "", prose, flags=re.M)  # the situation that an entry of a list is about

    words = [" ".join(each.split()) for each in re.findall(r"\*\*([^*]+)\*\*", lists)]

    assert [each for each in words if each not in known] == []


def test_the_search_finds_sections_with_all_words(reader: Client) -> None:
    found = find_sections("CHECKPOINT often")

    assert next((page.slug, section.anchor) for page, section in found) == ("spot", "how-often-is-often-enough")
    text = text_of(reader.get("/docs/", {"q": "checkpoint often"}))
    assert f"{len(found)} sections have “checkpoint often”" in text
    assert "0 sections have “<b>”" in text_of(reader.get("/docs/", {"q": "<b>"})).replace("&lt;", "<")
    assert find_sections("") == []


def test_an_unknown_page_is_missing(reader: Client) -> None:
    assert reader.get("/docs/no-such-page/").status_code == 404


def test_is_the_same_for_a_stranger_and_for_nobody_else(client: Client, stranger: User, signed_in: SignIn) -> None:
    assert client.get("/docs/spot/").status_code == 302
    assert signed_in(stranger).get("/docs/spot/").status_code == 200
