"""A user's messages: the inbox, and preferences for which ones to receive."""

from django.conf import settings
from django.contrib import messages as notices
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.access import Request, teams_where
from dashboard.forms.message_forms import PreferenceForm
from dashboard.pages.parts.message_rows import grouped, row_of
from dashboard.queries.messages import get_message, list_inbox
from dashboard.queries.paging import parse_cursor
from jobs.clock import database_now, display_now
from jobs.messages import choices_of, path_of
from jobs.messages.inbox import mark_all_read, mark_topic_read, preference_of, set_preference


@require_safe
def messages(request: Request) -> HttpResponse:
    """List the user's messages, newest first, those with the same topic on a page as one."""
    unread_only = request.GET.get("show") == "unread"
    after = parse_cursor(request.GET.get("after", ""), int)
    page = list_inbox(request.user, after, unread_only=unread_only)
    context = {
        "page": page,
        "groups": grouped([row_of(each) for each in page.rows]),
        "unread_only": unread_only,
        "leads": bool(teams_where(request.user, "set_policy")),
        "now": display_now(),
    }
    return render(request, "messages.html", context)


@require_safe
def count(request: Request) -> HttpResponse:
    """Return the badge beside the user's name. The badge polls this view."""
    return render(request, "_/unread.html")


@require_safe
def open_message(request: Request, pk: int) -> HttpResponse:
    """Mark a message and the earlier ones with its topic as read, and redirect to its subject."""
    found = get_message(request.user, pk)
    if found is None:
        raise Http404("no such message")
    if request.method == "GET":
        mark_topic_read(request.user, found.message, database_now())
    return HttpResponseRedirect(path_of(found.message))


@require_POST
def read_all(request: Request) -> HttpResponse:
    """Mark all messages of the user as read."""
    mark_all_read(request.user, database_now())
    return redirect("messages")


@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: Request) -> HttpResponse:
    """Show which messages the user receives. On POST, save the choice."""
    kept = preference_of(request.user)
    initial = {"about_others": kept.about_others, "digest": kept.digest}
    data = request.POST if request.method == "POST" else None
    form = PreferenceForm(data, choices=choices_of(kept), initial=initial)
    if data is not None and form.is_valid():
        cleaned = form.cleaned_data
        set_preference(request.user, form.chosen(), about_others=cleaned["about_others"], digest=cleaned["digest"])
        notices.success(request, _("Notification settings saved."))
        return redirect("message-settings")
    context = {
        "form": form,
        "sends_email": settings.SENDS_EMAIL,
        "leads": bool(teams_where(request.user, "set_policy")),
    }
    return render(request, "messages/settings.html", context, status=422 if form.errors else 200)
