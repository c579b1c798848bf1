"""The channels of the teams that the user leads, and messages that could not be delivered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages as notices
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.access import Request, teams_where
from dashboard.access.loaders import channel_for, team_to_lead
from dashboard.forms.message_forms import ChannelForm
from dashboard.pages.parts.message_rows import row_of
from dashboard.queries.messages import (
    count_undelivered,
    count_waiting,
    list_channels,
    list_newest,
    list_undelivered,
    undelivered_of,
)
from dashboard.queries.paging import parse_cursor
from jobs import tasks
from jobs.clock import database_now
from jobs.messages import DEFAULT_OF_CHANNEL
from jobs.messages import channels as verbs
from jobs.models import Channel, Delivery, Team


@dataclass(frozen=True, slots=True)
class TeamChannels:
    """A team that the user leads, with its channels."""

    team: Team
    channels: list[Channel]


@require_safe
def channels(request: Request) -> HttpResponse:
    """List the channels of the teams that the user leads."""
    teams = teams_where(request.user, "set_policy")
    if not teams:
        raise Http404("the person leads no team")
    found = list_channels(teams)
    groups = [TeamChannels(team, [each for each in found if each.team_id == team.pk]) for team in teams]
    context = {
        "teams": teams,
        "groups": [group for group in groups if group.channels],
        "waiting": count_waiting(found),
        "lost": count_undelivered(request.user),
        "now": database_now(),
    }
    return render(request, "messages/channels.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: Request, pk: int) -> HttpResponse:
    """Add a channel to a team. The secret of a webhook is shown once."""
    team = team_to_lead(request, pk)
    form = ChannelForm(_posted(request), is_new=True, initial={"kinds": list(DEFAULT_OF_CHANNEL)})
    if form.is_bound and form.is_valid():
        data = form.cleaned_data
        try:
            made = verbs.create_channel(team, by=request.user, now=database_now(), via=data["via"], **_wanted(data))
        except verbs.ChannelNotUsable as refusal:
            form.add_error(refusal.field, str(refusal))
        else:
            notices.success(request, _("Added %(name)s. Send a test to see whether it works.") % {"name": made.name})
            return _page(request, made, secret=made.secret) if made.secret else redirect("channel", made.pk)
    return render(request, "messages/channel_new.html", {"form": form, "team": team}, status=_status(form))


@require_http_methods(["GET", "HEAD", "POST"])
def channel(request: Request, pk: int) -> HttpResponse:
    """Show a channel with its newest messages. On POST, change it."""
    found = channel_for(request, pk)
    form = _form(found, _posted(request))
    if form.is_bound and form.is_valid():
        try:
            verbs.change_channel(found, by=request.user, **_wanted(form.cleaned_data))
        except verbs.ChannelNotUsable as refusal:
            form.add_error(refusal.field, str(refusal))
        else:
            notices.success(request, _("Saved %(name)s.") % {"name": form.cleaned_data["name"]})
            return redirect("channel", found.pk)
    return _page(request, found, form=form)


@require_POST
def act(request: Request, pk: int, action: str) -> HttpResponse:
    """Test, pause, resume or delete a channel, or rotate its secret."""
    found = channel_for(request, pk)
    if action not in ACTIONS:
        raise Http404("no such action")
    return ACTIONS[action](request, found)


def _test(request: Request, found: Channel) -> HttpResponse:
    if verbs.send_test(found, by=request.user, now=database_now()):
        tasks.enqueue_messages(str(found.pk))
        notices.success(request, _("A test message is on its way. Load this page again to see whether it arrived."))
    else:
        notices.warning(request, _("A test message waits already, or the channel is paused."))
    return redirect("channel", found.pk)


def _pause(request: Request, found: Channel) -> HttpResponse:
    verbs.set_paused(found, by=request.user, now=database_now(), is_paused=True)
    notices.success(
        request, _("%(name)s is paused. Messages sent while it is paused are not kept for it.") % {"name": found.name}
    )
    return redirect("channel", found.pk)


def _resume(request: Request, found: Channel) -> HttpResponse:
    verbs.set_paused(found, by=request.user, now=database_now(), is_paused=False)
    notices.success(request, _("%(name)s receives messages again.") % {"name": found.name})
    return redirect("channel", found.pk)


def _rotate(request: Request, found: Channel) -> HttpResponse:
    given = request.POST.get("fingerprint", "")
    secret = verbs.rotate_secret(found, by=request.user, now=database_now(), fingerprint=given)
    if secret is None:
        notices.error(request, _("The secret was not changed: somebody else has just changed it."))
        return redirect("channel", found.pk)
    return _page(request, channel_for(request, found.pk), secret=secret)


def _delete(request: Request, found: Channel) -> HttpResponse:
    if request.POST.get("sure") != found.name:
        return render(request, "messages/channel_delete.html", {"channel": found})
    verbs.delete_channel(found, by=request.user)
    notices.success(request, _("Deleted %(name)s.") % {"name": found.name})
    return redirect("channels")


ACTIONS: dict[str, Callable[[Request, Channel], HttpResponse]] = {
    "test": _test,
    "pause": _pause,
    "resume": _resume,
    "rotate": _rotate,
    "delete": _delete,
}


@require_safe
def undelivered(request: Request) -> HttpResponse:
    """List undelivered messages of the teams that the user leads."""
    if not teams_where(request.user, "set_policy"):
        raise Http404("the person leads no team")
    page = list_undelivered(request.user, parse_cursor(request.GET.get("after", ""), int))
    context = {"page": page, "rows": [row_of(each) for each in page.rows], "now": database_now()}
    return render(request, "messages/undelivered.html", context)


@require_POST
def send_again(request: Request, pk: int) -> HttpResponse:
    """Send an undelivered message again. With `all`, send every undelivered message of its team."""
    dead: Delivery = get_object_or_404(undelivered_of(request.user).select_related("team"), pk=pk)
    rows = undelivered_of(request.user)
    rows = rows if request.POST.get("all") else rows.filter(pk=pk)
    count = verbs.send_again(rows, dead.team, by=request.user, now=database_now())
    tasks.enqueue_messages(str(dead.channel_id) if dead.channel_id else "email")
    words = ngettext("%(count)s message will be sent again.", "%(count)s messages will be sent again.", count)
    notices.success(request, words % {"count": count})
    return redirect("undelivered")


def _posted(request: Request) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _form(found: Channel, data: QueryDict | None) -> ChannelForm:
    initial = {"name": found.name, "digest": found.digest, "kinds": found.kinds}
    return ChannelForm(data, is_new=False, initial=initial)


def _wanted(data: dict[str, Any]) -> dict[str, Any]:
    names = ("name", "address", "digest")
    return {name: data[name] for name in names} | {"kinds_wanted": data["kinds"]}


def _page(request: Request, found: Channel, *, form: ChannelForm | None = None, secret: str = "") -> HttpResponse:
    address = found.address
    if found.via != "email":  # anyone who has the full address of a chat webhook can post there
        address = f"{urlsplit(address).hostname}/…{address[-4:]}"
    context = {
        "channel": found,
        "form": form or _form(found, None),
        "secret": secret,
        "shown_address": address,
        "fingerprint": verbs.fingerprint_of(found),
        "rows": [row_of(each) for each in list_newest(found)],
        "now": database_now(),
    }
    return render(request, "messages/channel.html", context, status=_status(form) if form else 200)


def _status(form: ChannelForm) -> int:
    return 422 if form.errors else 200
