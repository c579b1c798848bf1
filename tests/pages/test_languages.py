"""Pages in the language of whoever reads them: which one that is, and that no text of a page stays English."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from dashboard.access.reader import zone_names
from tests.pages.conftest import SignIn
from tests.pages.test_every_address import ACCESS, NO_ONE, address_of, keys, patterns
from tests.support.pseudo import pseudo_language

__all__ = ["keys"]
pytestmark = pytest.mark.django_db

TEMPLATES = sorted(Path(settings.BASE_DIR, "templates").rglob("*.html"))
MARKED = re.compile(
    r"{%\s*blocktranslate.*?{%\s*endblocktranslate\s*%}|{%\s*comment.*?endcomment\s*%}|{%.*?%}|{{.*?}}|{#.*?#}",
    re.DOTALL,
)
WORD = re.compile(r"[A-Za-z]{2,}")
AS_IT_IS = frozenset({"code", "kbd", "samp", "pre", "script", "style", "bdi"})
"""Elements whose text is the same in every language."""
SPOKEN = frozenset({"aria-label", "title", "placeholder", "alt"})
ENGLISH = re.compile(r"\b(the|of|is|are|for|not|no|to|and|was|has|with|that|which|where|it|this|an)\b")
"""Words that no sentence is without, and that no name of the tests has."""


class Texts(HTMLParser):
    """The texts of a page that somebody reads or hears, with their lines, but not what stands as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._open: list[tuple[str, bool]] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        stays = tag in AS_IT_IS or given.get("translate") == "no" or (given.get("lang") == "en" and tag != "html")
        if not (stays or self._stays()):
            spoken = (value for name, value in attrs if name in SPOKEN and value)
            self.found += [(self.getpos()[0], outside_brackets(value)[0]) for value in spoken]
        if tag not in {"input", "br", "img", "link", "meta", "hr", "wbr"}:
            self._open.append((tag, stays))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self._open and self._open[-1][0] == tag:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in (name for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        left, self._depth = outside_brackets(data, self._depth)
        if not self._stays():
            self.found.append((self.getpos()[0], left))

    def _stays(self) -> bool:
        return any(stays for _, stays in self._open)


def outside_brackets(text: str, depth: int = 0) -> tuple[str, int]:
    """Return what of a text stands outside ⟦⟧, and how many are open at its end: they may hold elements and others."""
    kept = []
    for sign in text:
        depth += sign == "⟦"
        if depth == 0:
            kept.append(sign)
        depth -= sign == "⟧"
    return "".join(kept), depth


def texts_of(html: str) -> list[tuple[int, str]]:
    texts = Texts()
    texts.feed(html)
    return texts.found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(settings.BASE_DIR / "templates")))
def test_every_text_of_a_template_is_marked(path: Path) -> None:
    html = MARKED.sub(lambda found: "\n" * found[0].count("\n"), path.read_text())
    assert [(line, text.strip()) for line, text in texts_of(html) if WORD.search(text)] == []


def test_no_sentence_of_a_page_is_english_only(
    keys: dict[str, Any], admin: User, signed_in: SignIn, tmp_path: Path
) -> None:
    wrong = {}
    with pseudo_language(tmp_path):
        client = signed_in(admin)
        for pattern in patterns():
            address = address_of(pattern, keys)
            answer = client.get(address) if ACCESS[str(pattern.name)].get != NO_ONE else None
            if answer is None or "html" not in answer.headers.get("content-type", ""):
                continue
            texts = (" ".join(text.split()) for _, text in texts_of(answer.content.decode()))
            if left := [text for text in texts if ENGLISH.search(text) and text.replace(" ", "_") not in zone_names()]:
                wrong[address] = left

    assert wrong == {}


def choose(client: Client, language: str) -> int:
    form = {"first_name": "", "last_name": "", "time_zone": "", "language": language}
    return client.post("/account/", form).status_code


def language_of(client: Client, **headers: str) -> str | None:
    answer = client.get("/account/", headers=headers)
    assert f'<html lang="{answer["Content-Language"]}"' in answer.content.decode()
    return answer["Content-Language"]


@pytest.mark.both_databases
class TestWhichLanguage:
    def test_is_what_the_browser_asks_for(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert language_of(client) == "en"
        assert language_of(client, **{"accept-language": "pt-BR,pt;q=0.9,en;q=0.8"}) == "pt"
        assert language_of(client, **{"accept-language": "de,fr;q=0.9"}) == "en"

    def test_is_what_the_person_has_chosen_in_every_browser(
        self, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        assert choose(signed_in(owner), "es") == 302

        assert language_of(signed_in(owner), **{"accept-language": "pt"}) == "es"
        assert language_of(signed_in(teammate)) == "en"

    def test_unknown_ones_are_refused(self, owner: User, signed_in: SignIn) -> None:
        assert choose(signed_in(owner), "tlh") == 422

    def test_of_a_page_before_sign_in(self, client: Client) -> None:
        assert client.get("/accounts/login/", headers={"accept-language": "id"})["Content-Language"] == "id"
