"""The approvals inbox: jobs that need an approval, and for the selected one its cost, its reasons and the decision."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard.access import Request
from dashboard.drawing.marks import person_name
from dashboard.pages.parts.differences import changes_of
from dashboard.pages.parts.fallback_part import fallback_part, worst_case_of
from dashboard.pages.parts.fragments import live_page, version_of
from dashboard.pages.parts.rows import row_of
from dashboard.pages.parts.strategy_rows import StrategyRow
from dashboard.pages.parts.ways import asks_requester, cheaper, expected_usd_of, load_submission, ways_of
from dashboard.queries.approvals import list_approvals
from dashboard.queries.baselines import get_record
from jobs import budgets
from jobs.clock import display_now
from jobs.cost import CENT
from jobs.errors import NotPermitted
from jobs.models import Approval, Job, Vote
from jobs.requests.approver_groups import groups_of, who_is_in
from jobs.requests.deciders import Decider, approved_by
from jobs.strategies import strategy_label

MAX_ROWS = 50


@dataclass(frozen=True, slots=True)
class AskedGroup:
    """One group of approvers: its name, approvals needed, approvals given, and members who can approve this job."""

    who: str
    needed: int
    given: int
    able: int


@dataclass(frozen=True, slots=True)
class Ask:
    """An open approval in the list. `why_not` is why the user cannot decide, or "" if they can."""

    approval: Approval
    why_not: str
    votes: tuple[Vote, ...]
    groups: tuple[AskedGroup, ...]
    for_whom: str = ""
    """Name of the person whose deputy the user is here; "" if the user decides in their own name."""
    is_needed: bool = True
    """Whether an approval by this user is still needed."""
    is_offer: bool = False
    """Whether the job is the user's own, and another strategy is offered for it."""

    @property
    def needed(self) -> int:
        """Number of approvals that all groups need together."""
        return sum(group.needed for group in self.groups)

    @property
    def given(self) -> int:
        """Number of approvals given. An approval counts once for every group that the approver is in."""
        return sum(min(group.given, group.needed) for group in self.groups)

    @property
    def needs_person(self) -> bool:
        """Whether the approval waits for this user."""
        return self.is_offer or (not self.why_not and self.is_needed)

    @property
    def who(self) -> str:
        """Names of the groups that may decide."""
        return ", ".join(dict.fromkeys(group.who for group in self.groups))

    @property
    def job(self) -> Job:
        """The job that needs the approval."""
        return self.approval.job

    @property
    def key(self) -> str:
        """Identifier of the approval in the address."""
        return str(self.approval.job_id)


@require_safe
def approvals(request: Request) -> HttpResponse:
    """Show the open approvals of the user's teams, oldest first, and one of them in detail."""
    now = display_now()
    found = list_approvals(request.user, MAX_ROWS + 1)
    decider = Decider.load(request.user, [each.job for each in found], now=now)
    asks = [_ask(each, decider) for each in found[:MAX_ROWS]]
    # The approval in the address, else the oldest one that needs this user, else the oldest.
    named = next((ask for ask in asks if ask.key == request.GET.get("job", "")), None)
    chosen = named or next((ask for ask in asks if ask.needs_person), asks[0] if asks else None)
    facts = [(ask.key, ask.job.max_usd, ask.job.estimate_usd, ask.why_not, ask.is_needed, ask.groups) for ask in asks]
    version = version_of(facts, chosen and chosen.key, len(found), now.replace(second=0, microsecond=0))

    def context() -> dict[str, Any]:
        return {
            "now": now,
            "mine": [ask for ask in asks if ask.needs_person],
            "others": [ask for ask in asks if not ask.needs_person],
            "has_more": len(found) > MAX_ROWS,
            "max_rows": MAX_ROWS,
            "chosen": chosen,
            "is_asked_for": bool(request.GET.get("job")),
        } | (_details(request, chosen, now) if chosen else {})

    return live_page(request, "approvals.html", "inbox", version, context)


def _details(request: Request, ask: Ask, now: datetime) -> dict[str, Any]:
    """Return the details of one request, in addition to its row in the list."""
    job, loaded = ask.job, load_submission(ask.job, now)
    ways = ways_of(job, *loaded) if loaded is not None else []
    return {
        "row": row_of(job, now),
        "changes": changes_of(request.user, job),
        "spec_text": json.dumps(job.spec, indent=2, ensure_ascii=False),
        "record": get_record(job),
        "ways": ways,
        "new_usd": _new_estimate(ways, job),
        "offers": cheaper(ways, job) if not ask.why_not else [],
        "asks_requester": asks_requester(job),
        "budgets": budgets.left_for_job(job, now),
        **fallback_part(job, now),
        "worst_usd": worst_case_of(job, *loaded) if loaded is not None else None,
    }


def _new_estimate(ways: list[StrategyRow], job: Job) -> Decimal | None:
    """Return the expected cost if the job were requested now; None if it is unchanged."""
    expected = expected_usd_of(ways, job)
    if expected is None or job.estimate_usd is None or expected.quantize(CENT) == job.estimate_usd.quantize(CENT):
        return None
    return expected


@require_safe
def count(request: Request) -> HttpResponse:
    """Return the badge beside "Approvals" in the navigation. The badge polls this view."""
    return render(request, "_/to_decide.html")


def _ask(approval: Approval, decider: Decider) -> Ask:
    """Return an approval with the reason why this user cannot decide, if any.

    `jobs.requests` enforces the same rules.
    """
    votes, groups = tuple(decider.votes_for(approval)), tuple(_groups(approval, decider))
    found = Ask(approval, "", votes, groups)
    if why_not := _why_not(found, decider):
        is_own = approval.job.owner_id == decider.by.pk
        return replace(found, why_not=why_not, is_offer=is_own and approval.requested_spec is not None)
    try:
        person = decider.voter_for(approval.job, approval)
    except NotPermitted:
        return replace(found, why_not=_others_decide(found))
    for_whom = "" if person.pk == decider.by.pk else person_name(person)
    return replace(found, for_whom=for_whom, is_needed=decider.is_needed(approval.job, approval))


def _groups(approval: Approval, decider: Decider) -> Iterator[AskedGroup]:
    job, roster, approved = approval.job, decider.roster, approved_by(decider.votes_for(approval))
    names_of = {user.get_username(): person_name(user) for user in roster.people.values()}
    for group in groups_of(approval):
        given, able = roster.count(group, approved, job), roster.count(group, roster.people, job)
        yield AskedGroup(who_is_in(group, names_of), group.approvals, given, able)


def _why_not(ask: Ask, decider: Decider) -> str:
    """Return why the user cannot decide because the job is their own or they have voted already, else ""."""
    is_own = ask.job.owner_id == decider.by.pk
    if is_own and ask.approval.requested_spec is not None:
        words = _("Approved under %(strategy)s, which you have to accept.")
        return words % {"strategy": strategy_label(ask.job.strategy)}
    if is_own:
        return _("You requested this job: another approver or lead of the team decides.")
    if all(vote.voter_id != decider.by.pk for vote in ask.votes):
        return ""
    if missing := ask.needed - ask.given:
        return _("You approved it; %(missing)s more of %(all)s needed.") % {"missing": missing, "all": ask.needed}
    return _("You approved it; the requester has to accept it.")


def _others_decide(ask: Ask) -> str:
    first, *further = groups_of(ask.approval)
    if not (further or first.approvers or first.role == "lead"):
        return _("An approver or lead of %(team)s decides.") % {"team": ask.job.team}
    who = ask.who
    return _("%(who)s of %(team)s decides.") % {"who": f"{who[:1].upper()}{who[1:]}", "team": ask.job.team}
