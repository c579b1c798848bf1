"""Versions of a team's policy."""

from django.http import Http404

from jobs.bounds import parse_digits
from jobs.models import PolicyVersion, Team
from jobs.policy_rules import RULES, Rule
from jobs.policy_words import describe
from jobs.texts import joined, translatable

MAX_VERSIONS = 50


def list_versions(team: Team) -> list[PolicyVersion]:
    """Return the latest versions of a team's policy with the people who saved them. One query."""
    rows = PolicyVersion.objects.filter(team=team).select_related("saved_by").defer("rules")
    return list(rows.order_by("-number")[:MAX_VERSIONS])


def get_version(team: Team, number: str) -> PolicyVersion:
    """Return the version with this number. Raise Http404 if there is none."""
    found = PolicyVersion.objects.filter(team=team, number=parse_digits(number) or 0).select_related("saved_by").first()
    if found is None:
        raise Http404("no such version")
    return found


def rules_in(version: PolicyVersion) -> tuple[Rule, ...]:
    """Return the rules of a version."""
    return RULES.validate_python(version.rules)


def sentences(rules: tuple[Rule, ...]) -> list[str]:
    """Return each rule as a sentence, with its message for the requester."""
    return [joined(translatable("%(rule)s.", rule=describe(rule)), rule.words) for rule in rules]
