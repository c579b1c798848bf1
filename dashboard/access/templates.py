"""Loaders for what a team keeps beside its jobs: templates, and a person's own drafts."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from dashboard.access.roles import Request, can, teams_of
from jobs.models import Draft, Template

LONGEST_NUMBER = 18
"""Digits of a key; a longer one fits no column."""


def templates_of(user: User) -> QuerySet[Template]:
    """Return the templates of the teams that `user` sees, by team and name."""
    return (
        Template.objects.filter(team__in=teams_of(user))
        .select_related("team", "created_by")
        .order_by("team__name", "name", "pk")
    )


def template_for(request: Request, pk: int, verb: str = "see") -> Template:
    """Return the template, or 404 for people outside its team, or 403 where `verb` asks for more than they may."""
    template = get_object_or_404(templates_of(request.user), pk=pk)
    if verb != "see" and not can(request.user, verb, template.team):
        raise PermissionDenied("Your role in this team lets you look at its templates; an engineer may change them.")
    return template


def draft_for(request: Request, pk: int) -> Draft:
    """Return the person's own draft for a team that they are still in, or 404."""
    mine = Draft.objects.filter(owner=request.user, team__in=teams_of(request.user)).select_related("team")
    return get_object_or_404(mine, pk=pk)


def number(text: str) -> int:
    """Read the key of a row from an address; raise Http404 for what is none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER):
        raise Http404("no such row")
    return int(text)
