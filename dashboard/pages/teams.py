"""Teams and their settings: members, roles, where jobs run and write, and which Google Cloud resources they may use."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.access import Request, can
from dashboard.access.confirmation import by_admin, confirmed
from dashboard.access.loaders import parse_key, team_for
from dashboard.forms.team_form import KINDS, ROLES, AllowedForm, MemberForm, PlacesForm, ProjectForm, TeamForm
from dashboard.pages.parts.forbidding import forbidding
from dashboard.queries.teams import MAX_TEAMS, find_allowed, find_member, list_allowed, list_members, list_teams
from jobs import proposals
from jobs.clock import database_now
from jobs.models import Membership, Role, Team
from jobs.people import members, team_settings
from jobs.people.members import NotChanged

KIND_WORDS = dict(KINDS)


@require_http_methods(["GET", "HEAD", "POST"])
def teams(request: Request) -> HttpResponse:
    """List the user's teams. An admin sees all teams and can create one."""
    form = TeamForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and not request.user.is_superuser:
        raise PermissionDenied(_("Only an admin of this site creates teams."))
    if form.is_valid():
        try:
            made = team_settings.create_team(**form.cleaned_data, by=request.user)
        except NotChanged as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("%(name)s is created. Add its people now.") % {"name": made.name})
            return redirect("team", made.pk)
    search = request.GET.get("q", "")[:100].strip()
    found = list_teams(request.user, search)
    context = {"teams": found, "search": search, "form": form, "is_full": len(found) == MAX_TEAMS}
    return render(request, "teams.html", context, status=422 if form.errors else 200)


@require_safe
def team(request: Request, pk: int) -> HttpResponse:
    """Show the settings of a team, also to members who may not change them."""
    return _page(request, team_for(request, pk))


@require_POST
@confirmed(lambda request, **_: by_admin(request) or request.POST.get("do") == "confirm")
def change_members(request: Request, pk: int) -> HttpResponse:
    """Add or remove a member, or change a role. Every member may leave."""
    found, do = team_for(request, pk), request.POST.get("do")
    if do == "add":
        form = MemberForm(request.POST)
        return _apply(request, found, "member_form", form, lambda data: _add_member(request, found, **data))
    key = parse_key(request.POST.get("member", ""))
    if do == "confirm":
        return _confirm(request, found, key)
    try:
        with forbidding():
            has_left = _change_member(request, found, key, removes=do == "remove")
    except NotChanged as refusal:
        messages.error(request, str(refusal))
    else:
        if has_left:
            return redirect("teams")
    return redirect("team", found.pk)


def _confirm(request: Request, team: Team, key: int) -> HttpResponse:
    """Record that the user knows who an invited member is."""
    if (member := find_member(team, key)) is None:
        raise Http404("no such member")
    with forbidding():
        proposals.confirm_account(team, member.user, by=request.user, now=database_now())
    messages.success(request, _("The account of %(person)s is confirmed.") % {"person": member.user.get_username()})
    return redirect("team", team.pk)


def _add_member(request: Request, team: Team, name: str, role: str) -> None:
    """Add a member; as an engineer if a second person has to accept the role."""
    is_powerful = role in members.POWERFUL
    with transaction.atomic():
        member = members.add_member(team, name, Role.ENGINEER if is_powerful else role, by=request.user)
        if is_powerful:
            _propose_role(request, team, member, role)


def _propose_role(request: Request, team: Team, member: Membership | None, role: str) -> bool:
    """Propose a role that gives more power. Return False if it does not, or nobody has the key."""
    if member is None:
        return False
    try:
        row = proposals.propose_role(team, member, role, by=request.user, now=database_now())
    except proposals.AlreadyProposed as refusal:
        raise NotChanged(str(refusal)) from None
    if row is None:
        return False
    words = _("%(person)s becomes %(role)s when a second person accepts it.")
    if row.decision:
        words = _("%(person)s is now %(role)s. You are the only site admin, so nobody else had to accept it.")
    messages.success(request, words % {"person": member.user.get_username(), "role": role})
    return True


def _change_member(request: Request, team: Team, key: int, *, removes: bool) -> bool:
    """Apply the change. Return True if the user left and can no longer see the team."""
    if not removes:
        role = request.POST.get("role", "")
        if _propose_role(request, team, find_member(team, key), role):
            return False
        member = members.set_role(team, key, role, by=request.user)
        messages.success(
            request,
            _("%(person)s is now %(role)s of %(name)s.")
            % {"person": member.user.get_username(), "role": member.role, "name": team.name},
        )
        return False
    member = members.remove_member(team, key, by=request.user)
    messages.success(
        request, _("%(person)s is no longer in %(name)s.") % {"person": member.user.get_username(), "name": team.name}
    )
    return member.user_id == request.user.pk and not request.user.is_superuser


@require_POST
def change_places(request: Request, pk: int) -> HttpResponse:
    """Set where jobs run and write."""
    found = team_for(request, pk, "manage")

    def act(data: dict[str, Any]) -> None:
        places = team_settings.Places(data["default_region"], data["bucket"], tuple(data["regions"]))
        team_settings.set_places(found, places, by=request.user)

    return _apply(request, found, "places_form", PlacesForm(request.POST), act)


@require_POST
@confirmed(by_admin)
def change_project(request: Request, pk: int) -> HttpResponse:
    """Set the default project and the service account for its calls; site admins only."""
    found = team_for(request, pk, "manage")
    if not request.user.is_superuser:
        raise PermissionDenied(_("Only a site admin sets the project of a team."))
    form = ProjectForm(request.POST)
    return _apply(
        request, found, "project_form", form, lambda data: team_settings.set_project(found, **data, by=request.user)
    )


@require_POST
@confirmed(by_admin)
def change_allowed(request: Request, pk: int) -> HttpResponse:
    """Add or remove a project, bucket or service account that the team may use."""
    found = team_for(request, pk, "manage")
    if key := request.POST.get("remove"):
        if (row := find_allowed(found, parse_key(key))) is None:
            raise Http404("no such row")
        with forbidding():
            team_settings.disallow(row, by=request.user)
        messages.success(request, _("%(name)s is no longer allowed.") % {"name": row.name})
        return redirect("team", found.pk)
    form = AllowedForm(request.POST, is_admin=request.user.is_superuser)
    return _apply(
        request, found, "allowed_form", form, lambda data: team_settings.allow(found, **data, by=request.user)
    )


@require_http_methods(["GET", "HEAD", "POST"])
def close_allowed(request: Request, pk: int) -> HttpResponse:
    """List what the team's jobs have used. On POST, allow only that and what is listed already; site admins only."""
    found = team_for(request, pk, "manage")
    if not request.user.is_superuser:
        raise PermissionDenied(_("Only a site admin closes the lists of a team."))
    if request.method == "POST":
        try:
            added = team_settings.close_lists(found, by=request.user)
        except NotChanged as refusal:
            messages.error(request, str(refusal))
        else:
            words = _("%(name)s may use only what is listed. Added: %(count)s.")
            messages.success(request, words % {"name": found.name, "count": added})
        return redirect("team", found.pk)
    shown = [(KIND_WORDS[kind], name) for kind, name in team_settings.used_by(found)]
    return render(request, "team/close.html", {"team": found, "used": shown, "max_jobs": team_settings.MAX_JOBS})


def _apply(request: Request, team: Team, name: str, form: Any, act: Callable[[dict[str, Any]], Any]) -> HttpResponse:
    """Apply a form and show the settings again. If it fails, show the form as typed with the error."""
    if form.is_valid():
        try:
            with forbidding():
                act(form.cleaned_data)
        except NotChanged as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("Saved."))
            return redirect("team", team.pk)
    return _page(request, team, {name: form}, status=422)


def _page(request: Request, team: Team, forms: dict[str, Any] | None = None, *, status: int = 200) -> HttpResponse:
    policy = getattr(team, "policy", None)
    places = {"default_region": team.default_region, "bucket": team.bucket, "regions": policy.regions if policy else []}
    context = {
        "team": team,
        "policy": policy,
        "members": list_members(team),
        "allowed": list_allowed(team),
        "roles": ROLES,
        "may_manage": can(request.user, "manage", team),
        "is_admin": request.user.is_superuser,
        "member_form": MemberForm(),
        "places_form": PlacesForm(initial=places),
        "project_form": ProjectForm(initial={"project": team.project, "acts_as": team.acts_as}),
        "allowed_form": AllowedForm(is_admin=request.user.is_superuser),
    }
    return render(request, "team.html", context | (forms or {}), status=status)
