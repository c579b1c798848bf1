"""Data around the content of every page: the person's rights, open approvals and the rehearsal banner."""

from datetime import date

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property

from dashboard import __version__
from dashboard.access import teams_where
from dashboard.queries.approvals import approvals_for
from dashboard.queries.messages import MAX_COUNTED
from dashboard.sign_in_providers import Provider
from jobs.requests.one_person import COUNT_AS_ONE

THEME_COOKIE = "theme"
THEMES = ("light", "dark")
FURTHER_PAGES = frozenset(
    (
        "templates guide guide-page schedules import adopt compare catalogue rules policy doctor"
        " teams team team-invitations people audit"
    ).split()
)
"""Pages in the menu "More", by URL name."""

# Every page runs these queries. They are SQL, because building them from models took a quarter of an approver's page.
UNREAD = """
    SELECT 'unread', COUNT(*) FROM (
        SELECT 1 FROM jobs_delivery
        WHERE person_id = %(user)s AND via = 'browser' AND read_at IS NULL AND (
            %(is_superuser)s OR team_id IN (SELECT team_id FROM jobs_membership WHERE user_id = %(user)s)
        )
        LIMIT %(max_counted)s
    ) AS unread
"""
DEPUTIES = """
    SELECT 'deputies', COUNT(*) FROM jobs_deputy
    WHERE deputy_id = %(user)s AND ended_at IS NULL AND first_day <= %(today)s AND last_day >= %(today)s
"""
OF_GROUPS = """
    SELECT 'of_groups', COUNT(*) FROM jobs_approval AS approval
    JOIN jobs_job AS job ON job.id = approval.job_id
    JOIN jobs_askedgroup AS asked ON asked.job_id = approval.job_id AND asked.asked_at = approval.asked_at
    WHERE approval.decision = '' AND job.state = 'awaiting_approval' AND (
        %(is_superuser)s OR job.team_id IN (SELECT team_id FROM jobs_membership WHERE user_id = %(user)s)
    )
"""
TO_DECIDE = """
    SELECT 'to_decide', COUNT(*) FROM jobs_approval AS approval
    JOIN jobs_job AS job ON job.id = approval.job_id
    WHERE approval.decision = '' AND job.state = 'awaiting_approval' AND (
        %(is_superuser)s OR EXISTS (
            SELECT 1 FROM jobs_membership AS own
            WHERE own.team_id = job.team_id AND own.user_id = %(user)s AND (
                own.role = 'lead' OR own.role = 'approver' AND approval.role_needed = 'approver'
            )
        )
    )
    AND (approval.approver_names = '' OR approval.approver_names <> REPLACE(approval.approver_names, %(name)s, ''))
    AND NOT EXISTS (
        SELECT 1 FROM jobs_vote AS vote
        WHERE vote.job_id = approval.job_id AND vote.asked_at = approval.asked_at
            AND (
                vote.voter_id = %(user)s OR vote.counts_for_id = %(user)s AND NOT %(is_superuser)s
                OR vote.decision = 'approved' AND (
                    vote.voter_id <> %(user)s AND OF_VOTER OR vote.counts_for_id <> %(user)s AND OF_COUNTED
                )
            )
    )
    AND NOT OF_OWNER AND NOT OF_AUTHOR
    AND NOT EXISTS (
        SELECT 1 FROM jobs_job AS earlier
        WHERE earlier.sweep = job.sweep AND earlier.state = 'awaiting_approval'
            AND earlier.judged_usd = job.judged_usd AND earlier.id < job.id
    )
"""
TO_DECIDE = TO_DECIDE.replace("OF_OWNER", COUNT_AS_ONE % {"expressions": "%(user)s, job.owner_id"})
TO_DECIDE = TO_DECIDE.replace("OF_AUTHOR", COUNT_AS_ONE % {"expressions": "%(user)s, job.author_id"})
TO_DECIDE = TO_DECIDE.replace("OF_VOTER", COUNT_AS_ONE % {"expressions": "%(user)s, vote.voter_id"})
TO_DECIDE = TO_DECIDE.replace("OF_COUNTED", COUNT_AS_ONE % {"expressions": "%(user)s, vote.counts_for_id"})
"""Approvals that need the person's own vote. The same as `approvals_for` if the person is nobody's deputy and no
approval has several groups. Of the jobs of a sweep with the same amount, the first represents all."""

CHANGES = """
    SELECT 'proposals', COUNT(*) FROM jobs_proposal AS proposal
    WHERE decision = '' AND NOT OF_PROPOSER
        AND NOT (kind IN ('role', 'account') AND subject = %(key)s)
        AND (%(is_superuser)s OR kind <> 'ceiling' AND EXISTS (
            SELECT 1 FROM jobs_membership AS own
            WHERE own.team_id = proposal.team_id AND own.user_id = %(user)s AND own.role = 'lead'
        ))
    UNION ALL
    SELECT 'resources', COUNT(*) FROM jobs_resourcechange AS change
    WHERE ended_at IS NULL AND allowed_at IS NULL AND due_at IS NULL AND NOT OF_REQUESTER
        AND (%(is_superuser)s OR EXISTS (
            SELECT 1 FROM jobs_membership AS own
            WHERE own.team_id = change.team_id AND own.user_id = %(user)s AND own.role IN ('lead', 'approver')
        ))
        AND (CAST(change.approved_by AS TEXT) = '[]' OR NOT EXISTS (
            SELECT 1 FROM auth_user AS giver
            WHERE REPLACE(REPLACE(REPLACE(CAST(change.approved_by AS TEXT), '[', ','), ']', ','), ' ', '')
                LIKE '%%,' || giver.id || ',%%' AND OF_GIVER
        ))
"""
CHANGES = CHANGES.replace("OF_PROPOSER", COUNT_AS_ONE % {"expressions": "%(user)s, proposal.proposed_by_id"})
CHANGES = CHANGES.replace("OF_REQUESTER", COUNT_AS_ONE % {"expressions": "%(user)s, change.asked_by_id"})
CHANGES = CHANGES.replace("OF_GIVER", COUNT_AS_ONE % {"expressions": "%(user)s, giver.id"})
"""Changes for two people that the person may accept, and changes of persistent resources that they may approve: not
those that they, or an account that counts as one with theirs, have approved already."""
OFFERS = """
    SELECT 'offers', COUNT(*) FROM jobs_approval AS approval
    JOIN jobs_job AS job ON job.id = approval.job_id
    WHERE approval.decision = '' AND approval.requested_spec IS NOT NULL
        AND job.state = 'awaiting_approval' AND job.owner_id = %(user)s
"""
"""Other strategies that an approver offers the person for a job of their own."""


def count_for_frame(user: User, today: date) -> dict[str, int]:
    """Return what waits for a person, each with its count: unread, offers, to_decide, proposals and resources.

    The last three are left out for people whose roles permit no decision. One query, and one more for a current deputy
    and if several groups must approve.
    """
    may_decide = bool(teams_where(user, "approve"))
    name = f",{user.get_username()},"
    values: dict[str, bool | int | str | date] = {
        "user": user.pk,
        "key": str(user.pk),
        "is_superuser": user.is_superuser,
        "name": name,
        "today": today,
        "max_counted": MAX_COUNTED,
    }
    with connection.cursor() as cursor:
        parts = (UNREAD, OFFERS, DEPUTIES, *((OF_GROUPS, TO_DECIDE, CHANGES) if may_decide else ()))
        cursor.execute("UNION ALL".join(parts), values)
        counts = dict(cursor.fetchall())
    if counts["deputies"] or counts.get("of_groups"):
        counts["to_decide"] = approvals_for(user, today).count()
    return counts


class Frame:
    """Runs only the queries that a template needs, so that a fragment needs no query here."""

    def __init__(self, request: HttpRequest) -> None:
        self.user = request.user if isinstance(request.user, User) else None
        chosen = request.COOKIES.get(THEME_COOKIE, "")
        self.theme = chosen if chosen in THEMES else ""
        """ "light" or "dark" as chosen in this browser, "" for the system's."""
        self.further = FURTHER_PAGES
        self.version = __version__

    @property
    def providers(self) -> tuple[Provider, ...]:
        """Sign-in providers, in the order of the setting."""
        return tuple(settings.SIGN_IN_PROVIDERS)

    @property
    def has_passwords(self) -> bool:
        """Whether people can sign in with passwords."""
        return bool(settings.PASSWORD_SIGN_IN)

    @property
    def rehearsal(self) -> bool:
        """Whether jobs run as processes on this machine."""
        return bool(settings.REHEARSAL)

    @cached_property
    def _counts(self) -> dict[str, int]:
        return {} if self.user is None else count_for_frame(self.user, timezone.now().date())

    @property
    def to_decide(self) -> int:
        """Number of open approvals that need this person, and of offers made to them."""
        return self._counts.get("to_decide", 0) + self._counts.get("offers", 0)

    @property
    def proposals(self) -> int:
        """Number of changes for two people that this person may accept."""
        return self._counts.get("proposals", 0)

    @property
    def resources(self) -> int:
        """Number of changes of persistent resources that this person may approve."""
        return self._counts.get("resources", 0)

    @property
    def needing(self) -> int:
        """Number of everything that waits for this person."""
        return self.to_decide + self.proposals + self.resources

    @property
    def unread(self) -> int:
        """Number of unread messages of the person, at most 100."""
        return self._counts.get("unread", 0)

    @cached_property
    def may_request(self) -> bool:
        """Whether the person may request a job in any team."""
        return self.user is not None and (self.user.is_superuser or bool(teams_where(self.user, "request")))

    @cached_property
    def may_audit(self) -> bool:
        """Whether the person leads a team or is an admin, and may read the audit log."""
        return self.user is not None and (self.user.is_superuser or bool(teams_where(self.user, "manage")))


def frame(request: HttpRequest) -> dict[str, Frame]:
    """Return `frame` for every template, as a context processor."""
    return {"frame": Frame(request)}
