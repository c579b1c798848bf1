"""The user's guide under /docs/: its pages, and a search in them."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.access import Request
from dashboard.guide import find_sections, guide_pages

MAX_WORDS = 100
"""Characters of a search."""


@require_safe
def guide(request: Request) -> HttpResponse:
    """List the pages of the guide, or the sections that have the words `q` of the address."""
    words = request.GET.get("q", "").strip()[:MAX_WORDS]
    return render(request, "guide.html", {"pages": guide_pages(), "words": words, "found": find_sections(words)})


@require_safe
def guide_page(request: Request, slug: str) -> HttpResponse:
    """Show one page of the guide."""
    page = next((page for page in guide_pages() if page.slug == slug), None)
    if page is None:
        raise Http404("the guide has no such page")
    return render(request, "guide.html", {"pages": guide_pages(), "page": page, "title_lang": "en"})
