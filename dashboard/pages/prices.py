"""The price book: every price with its source, date and history. An admin records prices and accepts imports."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dashboard.access import Request
from dashboard.access.confirmation import by_admin, confirmed
from dashboard.forms.price_form import PriceFilterForm, PriceForm
from dashboard.pages.parts.regions import default_region
from dashboard.queries.prices import KeyLine, key_in, list_history, list_keys
from jobs import prices as recorded
from jobs.catalog import REGIONS
from jobs.clients import billing_client
from jobs.clock import database_now, display_now
from jobs.errors import NotPermitted
from jobs.queue.claims import last_run
from jobs.tasks import enqueue_price_import

PAGE_SIZE = 50


@require_safe
def prices(request: Request) -> HttpResponse:
    """Show the prices of a region, and the history of the price in the address."""
    asked = request.GET.get("region", "")
    region = asked if asked in REGIONS else default_region(request.user)
    return render(request, "prices.html", _context(request, region, request.GET.get("price", "")))


@require_POST
@confirmed(by_admin)
def record(request: Request) -> HttpResponse:
    """Record the price of a key. Show the form with its errors if it is not valid."""
    region, name = request.POST.get("region", ""), request.POST.get("price", "")
    if region not in REGIONS or (key := key_in(region, name)) is None:
        raise Http404
    form = PriceForm(request.POST)
    if form.is_valid():
        try:
            recorded.record_price(key, **form.cleaned_data, by=request.user, now=database_now())
        except (NotPermitted, ValueError) as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(
                request, _("The price of %(name)s in %(region)s is recorded.") % {"name": key[0], "region": region}
            )
            return HttpResponseRedirect(f"{reverse('prices')}?{urlencode({'region': region, 'price': name})}#history")
    return render(request, "prices.html", _context(request, region, name) | {"form": form}, status=422)


@require_POST
@confirmed(by_admin)
def accept(request: Request) -> HttpResponse:
    """Record the selected proposals of the daily import."""
    names, reason = request.POST.getlist("proposal"), request.POST.get("reason", "")
    try:
        count = recorded.accept(names, reason=reason, by=request.user, now=database_now())
    except (NotPermitted, ValueError) as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("Prices recorded: %(count)s.") % {"count": count})
    return redirect("prices")


@require_POST
def import_now(request: Request) -> HttpResponse:
    """Ask a worker to run the daily import of Google's prices now."""
    try:
        recorded.request_import(by=request.user, now=database_now())
    except NotPermitted as refusal:
        messages.error(request, str(refusal))
    else:
        enqueue_price_import()
        messages.success(request, _("A worker was asked to import Google's prices; that takes about a minute."))
    return redirect("prices")


def _context(request: Request, region: str, name: str) -> dict[str, Any]:
    now, book = display_now(), recorded.current_book()
    filters = PriceFilterForm({"show": "known"} | request.GET.dict() | {"region": region})
    filters.is_valid()
    text, show = filters.cleaned_data.get("q", ""), filters.cleaned_data.get("show") or "known"
    lines = list_keys(book, region=region, text=text, show=show, today=now.date())
    key = key_in(region, name)
    is_admin = request.user.is_superuser
    last = last_run(recorded.UPKEEP) if is_admin else None
    return {
        "now": now,
        "filters": filters,
        "region": region,
        "page": Paginator(lines, PAGE_SIZE).get_page(request.GET.get("page")),
        "chosen": KeyLine(key, None) if key else None,
        "history": list_history(book, key) if key else (),
        "form": PriceForm(initial={"as_of": now.date()}) if key and is_admin else None,
        "last_import": last,
        "may_import": is_admin and billing_client() is not None,
        "is_import_due": last is not None and last.due_at is not None and last.due_at <= now,
        "proposals": recorded.proposals(last),
    }
