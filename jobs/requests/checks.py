"""What a job has to pass before its row is written: no refusal, nothing that cannot be kept, an amount that is left."""

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
    """Raise NotAllowed for a job that is refused, holds what cannot be kept, or may cost more than `left_usd`.

    That is what is left for all attempts of a request together; None: there is no such amount.
    """
    body = spec.rest_body(assessment.submission.job)
    if not bounds.is_storable_json(body):
        raise NotAllowed((HALF_CHARACTERS, *assessment.findings))
    if holds_mask(body):  # also where the site has switched off the rule about it
        raise NotAllowed((HIDDEN_SECRET, *assessment.findings))
    if assessment.outcome is Outcome.REFUSED:
        raise NotAllowed(assessment.findings)
    if left_usd is None or assessment.cap_cancels:  # the cap of the attempt keeps the amount
        return
    if assessment.max_usd is None or assessment.max_usd > left_usd:
        words = _(
            "It may cost more than the %(usd)s that are left for all attempts together, and the team's policy cancels "
            "no job at its cap.",
            usd=format_usd(left_usd),
        )
        remedy = _("Raise the amount, or set a shorter timeout.")
        raise NotAllowed([spec.Finding("over_total_of_attempts", spec.Severity.ERROR, "", words, remedy)])
