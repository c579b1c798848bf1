"""The approvals inbox: which jobs need an approval, and of one what it costs, why it asks, and the decision."""

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard.access import Request
from dashboard.pages.parts.differences import changes_of
from dashboard.pages.parts.fallback_part import fallback_part, worst_case_of
from dashboard.pages.parts.fragments import live_page, version_of
from dashboard.pages.parts.rows import row_of
from dashboard.pages.parts.ways import asks_requester, cheaper, label_of, load_submission, ways_of
from dashboard.queries.approvals import list_approvals
from dashboard.queries.records import get_record
from jobs import budgets
from jobs.clock import display_now
from jobs.errors import NotPermitted
from jobs.models import Approval, Job, Vote
from jobs.requests.deciders import Decider, names_of, who_decides

MAX_ROWS = 50


@dataclass(frozen=True, slots=True)
class Ask:
    """An open approval in the list; `why_not` says why this person cannot decide, "" where they can."""

    approval: Approval
    why_not: str
    votes: tuple[Vote, ...] = ()
    for_whom: str = ""
    """The name of the person in whose place this person decides, "" for in their own."""

    @property
    def missing(self) -> int:
        """How many more have to approve."""
        return max(self.approval.votes_needed - len(self.votes), 0)

    @property
    def who(self) -> str:
        """Who may decide."""
        return who_decides(self.approval)

    @property
    def job(self) -> Job:
        """The job that asks."""
        return self.approval.job

    @property
    def key(self) -> str:
        """What the address calls it."""
        return str(self.approval.job_id)


@require_safe
def approvals(request: Request) -> HttpResponse:
    """Show the open approvals of the person's teams, oldest first, and one of them in full."""
    now = display_now()
    found = list_approvals(request.user, MAX_ROWS + 1)
    decider = Decider.load(request.user, [each.job for each in found], now=now)
    asks = [_ask(each, decider) for each in found[:MAX_ROWS]]
    chosen = _chosen(request.GET.get("job", ""), asks)
    facts = [(ask.key, ask.job.max_usd, ask.job.estimate_usd, ask.why_not, ask.missing) for ask in asks]
    version = version_of(facts, chosen and chosen.key, len(found), now.replace(second=0, microsecond=0))

    def context() -> dict[str, Any]:
        return {
            "now": now,
            "mine": [ask for ask in asks if not ask.why_not],
            "others": [ask for ask in asks if ask.why_not],
            "has_more": len(found) > MAX_ROWS,
            "max_rows": MAX_ROWS,
            "chosen": chosen,
            "is_asked_for": bool(request.GET.get("job")),
        } | (_details(request, chosen, now) if chosen else {})

    return live_page(request, "approvals.html", "inbox", version, context)


def _chosen(key: str, asks: list[Ask]) -> Ask | None:
    """Return the approval that the address names, else the oldest that needs this person, else the oldest."""
    named = next((ask for ask in asks if ask.key == key), None)
    return named or next((ask for ask in asks if not ask.why_not), asks[0] if asks else None)


def _details(request: Request, ask: Ask, now: datetime) -> dict[str, Any]:
    """Return what is shown of one request beside its place in the list."""
    job, loaded = ask.job, load_submission(ask.job, now)
    ways = ways_of(job, *loaded) if loaded is not None else []
    return {
        "row": row_of(job, now),
        "changes": changes_of(request.user, job),
        "spec_text": json.dumps(job.spec, indent=2, ensure_ascii=False),
        "record": get_record(job),
        "ways": ways,
        "offers": cheaper(ways, job) if not ask.why_not else [],
        "asks_requester": asks_requester(job),
        "budgets": [(each, each.left_usd - (job.max_usd or Decimal(0))) for each in budgets.left_for_job(job, now)],
        **fallback_part(job, now),
        "worst_usd": worst_case_of(job, *loaded) if loaded is not None else None,
    }


@require_safe
def count(request: Request) -> HttpResponse:
    """Return the mark beside "Approvals" in the navigation, which asks for it again and again."""
    return render(request, "_/to_decide.html")


def _ask(approval: Approval, decider: Decider) -> Ask:
    """Return an approval with why this person cannot decide, if so; `jobs.requests` refuses in the same cases."""
    job, votes = approval.job, tuple(decider.votes_for(approval))
    if job.owner_id == decider.by.pk and approval.requested_spec is not None:
        return Ask(
            approval,
            _("Approved under %(strategy)s, which you have to accept on the page of the job.")
            % {"strategy": label_of(job)},
            votes,
        )
    if job.owner_id == decider.by.pk:
        return Ask(approval, _("You requested this job: another approver or lead of the team decides."), votes)
    if any(vote.voter_id == decider.by.pk for vote in votes):
        missing = approval.votes_needed - len(votes)
        if missing > 0:
            words = _("You approved it; %(missing)s more of %(all)s needed.")
        else:
            words = _("You approved it; the requester has to accept it.")
        return Ask(approval, words % {"missing": missing, "all": approval.votes_needed}, votes)
    try:
        person = decider.voter_for(job, approval)
    except NotPermitted:
        who = who_decides(approval)
        if not names_of(approval) and approval.role_needed != "lead":
            return Ask(approval, _("An approver or lead of %(team)s decides.") % {"team": job.team}, votes)
        known = {"who": f"{who[:1].upper()}{who[1:]}", "team": job.team}
        return Ask(approval, _("%(who)s of %(team)s decides.") % known, votes)
    return Ask(approval, "", votes, "" if person.pk == decider.by.pk else person.get_username())
