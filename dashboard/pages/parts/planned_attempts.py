"""The attempts planned in a form, each assessed like the first one: its maximum cost, and its errors.

All use the context of the first attempt, so that a preview needs no further queries. Each attempt is assessed again
when it is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from dashboard.forms.compose.form import Compose
from jobs import fallback
from jobs.assessment import Context, assess
from jobs.spec import Finding, Severity, Submission
from jobs.strategies import strategy_of
from jobs.texts import translatable as _


@dataclass(frozen=True, slots=True)
class PlannedAttempt:
    """One attempt of a plan: its strategy, region and maximum cost, which is None if it is not known."""

    number: int
    key: str
    strategy: str
    region: str
    max_usd: Decimal | None
    needs_approval: bool
    errors: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Attempts:
    """All attempts of a plan and their maximum total cost, which is None if it is not known."""

    rows: Sequence[PlannedAttempt]
    worst_usd: Decimal | None

    @property
    def has_errors(self) -> bool:
        """Whether a later attempt would be refused."""
        return any(row.errors for row in self.rows[1:])

    @property
    def needs_approval(self) -> bool:
        """Whether all attempts need an approval before the first one starts."""
        return any(row.needs_approval and not row.errors for row in self.rows)


def assess_attempts(form: Compose, submission: Submission | None, context: Context | None) -> Attempts | None:
    """Assess the attempts planned in a form and add their errors to its rows; None if it plans none."""
    plan = form.fallback.plan
    if plan is None or submission is None or context is None or form.expected is None:
        return None
    context = replace(context, identical=(), cap_usd=plan.cap(context.cap_usd))
    rows = []
    for number, each in enumerate(fallback.attempts_of(submission, plan), 1):
        found, strategy = assess(each, context, expected=form.expected), strategy_of(each)
        most, asks = found.max_usd, bool(found.approvals)
        rows.append(PlannedAttempt(number, strategy.key, strategy.label, each.region, most, asks, found.errors))
    asked = [n for n in range(1, fallback.MAX_FURTHER + 1) if form.fallback.cleaned_data.get(f"then_{n}")]
    for number, row in zip(asked, rows[1:], strict=True):
        for error in row.errors:
            words = _("Attempt %(number)s would be refused: %(why)s", number=row.number, why=error.message)
            form.fallback.add_finding(f"then_{number}", Finding(error.code, Severity.ERROR, "", words, error.remedy))
    return Attempts(rows, fallback.worst_case([row.max_usd for row in rows], plan))
