"""Check a job before its row is written: it is not refused, it can be stored, and enough of the amount is left."""

from decimal import Decimal

from jobs import bounds, spec
from jobs.assessment import Assessment, Outcome
from jobs.cost import format_usd
from jobs.errors import NotAllowed
from jobs.spec.secrets import holds_mask
from jobs.texts import translatable as _

HALF_CHARACTERS = spec.Finding(
    code="text_cannot_be_kept",
    severity=spec.Severity.ERROR,
    field="",
    message=_("It contains a NUL character or an invalid character, which cannot be stored."),
    remedy=_("Write that value anew."),
)
HIDDEN_SECRET = spec.Finding(
    code="hidden_secret",
    severity=spec.Severity.ERROR,
    field="",
    message=_("It contains somebody else's secret, which is hidden."),
    remedy=_("Write your own value in its place."),
)


def check_may_be_written(assessment: Assessment, *, left_usd: Decimal | None = None) -> None:
    """Raise NotAllowed if a job is refused, contains what cannot be stored, or may cost more than `left_usd`.

    `left_usd` is the rest of the amount for all attempts of a request, or None if there is no such amount.
    """
    body = spec.rest_body(assessment.submission.job)
    if not bounds.is_storable_json(body):
        raise NotAllowed((HALF_CHARACTERS, *assessment.findings))
    if holds_mask(body):  # also if the site has turned off the rule about it
        raise NotAllowed((HIDDEN_SECRET, *assessment.findings))
    if assessment.outcome is Outcome.REFUSED:
        raise NotAllowed(assessment.findings)
    if left_usd is None or assessment.cap_cancels:  # the attempt's cap enforces the amount
        return
    if assessment.max_usd is None or assessment.max_usd > left_usd:
        words = _(
            "It may cost more than the %(usd)s that are left for all attempts together, and the team's policy cancels "
            "no job at its cap.",
            usd=format_usd(left_usd),
        )
        remedy = _("Raise the amount, or set a shorter timeout.")
        raise NotAllowed([spec.Finding("over_total_of_attempts", spec.Severity.ERROR, "", words, remedy)])
