"""The user's own account: name, password, linked sign-in providers and signed-in browsers."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.access import Request, openid
from dashboard.access.loaders import parse_key
from dashboard.access.locale import profile_of, zone_names
from dashboard.drawing.browser_names import browser_name
from dashboard.forms.account_forms import ProfileForm
from jobs.people import browsers
from jobs.people.accounts import set_reader
from jobs.people.provider_links import list_links


@require_http_methods(["GET", "HEAD", "POST"])
def account(request: Request) -> HttpResponse:
    """Show the account. On POST, save name, time zone and language."""
    if request.method != "POST":
        return _page(request)
    form = ProfileForm(request.POST, instance=request.user, zones=zone_names())
    if not form.is_valid():
        request.user.refresh_from_db()
        return _page(request, {"profile_form": form}, status=422)
    chosen = {name: form.cleaned_data[name] for name in ("time_zone", "language")}
    set_reader(form.save(), **chosen)
    with translation.override(chosen["language"] or translation.get_language()):
        messages.success(request, _("Saved."))
    return redirect("account")


@require_POST
def change_password(request: Request) -> HttpResponse:
    """Change the password. Sign out every browser except this one."""
    form = PasswordChangeForm(request.user, request.POST)
    if not (request.user.has_usable_password() and form.is_valid()):
        return _page(request, {"password_form": form}, status=422)
    before = str(request.session.session_key)
    update_session_auth_hash(request, form.save())
    browsers.replace_session(before, str(request.session.session_key))
    browsers.sign_out(request.user, keeping=str(request.session.session_key))
    messages.success(request, _("Your password is changed, and every other browser is signed out."))
    return redirect("account")


@require_POST
def sign_out_browsers(request: Request) -> HttpResponse:
    """Sign out one browser, or all except this one."""
    key, here = request.POST.get("browser"), str(request.session.session_key)
    count = browsers.sign_out(request.user, pk=parse_key(key) if key else None, keeping=here)
    messages.success(request, _("Browsers signed out: %(count)s.") % {"count": count})
    return redirect("account")


def _page(request: Request, more: dict[str, Any] | None = None, *, status: int = 200) -> HttpResponse:
    now, here = timezone.now(), request.session.session_key
    rows = [
        (row, browser_name(row.browser), row.session_key == here)
        for row in browsers.list_browsers(request.user, now=now)
    ]
    profile = profile_of(request.user)
    chosen = {"time_zone": profile.time_zone, "language": profile.language}
    profile_form = ProfileForm(instance=request.user, zones=zone_names(), initial=chosen)
    password_form = None
    if request.user.has_usable_password():
        password_form = PasswordChangeForm(request.user)
        # Django's form sets autofocus, but the page is about more than the password.
        password_form.fields["old_password"].widget.attrs.pop("autofocus", None)
    context = {
        "profile_form": profile_form,
        "password_form": password_form,
        "browsers": rows,
        "links": [(row, openid.name_of(row.provider)) for row in list_links(request.user)],
        "now": now,
    }
    return render(request, "account.html", context | (more or {}), status=status)
