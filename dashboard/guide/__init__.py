"""The user's guide: Markdown files in the order of their names, rendered once per process.

A file is named `NN-slug.md`. It begins with its title, and the first paragraph is its summary. A text in bold is a word
of the site's own pages; `tests/pages/test_guide.py` looks each up.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt

FOLDER = Path(__file__).parent
FILE = re.compile(r"\d+-([a-z-]+)\.md")
"""A link to another page of the guide, as it works in a checkout too."""


@dataclass(frozen=True, slots=True)
class Section:
    """One heading with the text below it, as plain text for the search. `anchor` is empty for the page itself."""

    anchor: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class GuidePage:
    """One page of the guide. `html` is its content without the title."""

    slug: str
    title: str
    summary: str
    html: SafeString
    sections: tuple[Section, ...]


@lru_cache(maxsize=1)
def guide_pages() -> tuple[GuidePage, ...]:
    """Return the pages in their order."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.md")))


def find_sections(words: str) -> list[tuple[GuidePage, Section]]:
    """Return the sections that have all of the words, in any case; those with a word in their title first."""
    wanted = words.casefold().split()
    found = [
        (page, section)
        for page in guide_pages()
        for section in page.sections
        if wanted and all(word in f"{page.title} {section.title} {section.text}".casefold() for word in wanted)
    ]
    return sorted(found, key=lambda each: not any(word in each[1].title.casefold() for word in wanted))


def _read(path: Path) -> GuidePage:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(path.read_text(encoding="utf-8"))
    title, summary, rest = tokens[1].content, tokens[4].content, tokens[6:]
    sections = [(title, "", [summary])]
    for before, token in pairwise(rest):
        if before.type == "heading_open":
            anchor = slugify(token.content)
            before.attrSet("id", anchor)
            sections.append((token.content, anchor, []))
        elif token.type in ("inline", "fence"):
            sections[-1][2].append(token.content)
        for link in token.children or ():
            if name := FILE.fullmatch(str(link.attrGet("href") or "")):
                link.attrSet("href", f"../{name[1]}/")
    html = mark_safe(parser.renderer.render(rest, parser.options, {}))  # noqa: S308 - our own files, without HTML
    found = tuple(Section(anchor, name, " ".join(texts)) for name, anchor, texts in sections)
    return GuidePage(path.stem.partition("-")[2], title, summary, html, found)
