"""May this job be submitted? The rules of its strategy and the limits of its team, weighed into one decision. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from jobs.cost import Estimate
from jobs.cost.estimate import in_words
from jobs.spec import Finding, Severity, Submission
from jobs.strategies import Known, Severities, check

SOURCE = "policy of the team"


class Verdict(StrEnum):
    """What becomes of a request."""

    ALLOW = "allow"
    """It may be submitted at once."""
    ASK = "ask"
    """An approver decides."""
    REFUSE = "refuse"
    """It cannot be submitted like this."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a team may do without asking, and what it may not do at all."""

    ask_over_usd: Decimal
    """A job that may cost more than this needs an approval; zero asks about whatever costs anything."""
    refuse_over_usd: Decimal | None
    """A job that may cost more than this is refused; None: no job is too expensive."""
    regions: tuple[str, ...]
    """Regions that may be used; empty: every region."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What policy says of a submission, and every finding that it rests on, the strategy's rules first."""

    verdict: Verdict
    findings: tuple[Finding, ...]


def judge(
    submission: Submission,
    *,
    estimate: Estimate,
    limits: Limits,
    severities: Severities | None = None,
    pools: Known = (),
    found: Iterable[Finding] | None = None,
) -> Decision:
    """Weigh all findings: the worst severity decides. Never raises on a submission that could be read.

    `severities` are the rules' severities that the site has set, `pools` the persistent resources that are known.
    `found` is what its rules find, for a caller that has judged it by them already.
    """
    findings = (
        *(check(submission, severities=severities, pools=pools) if found is None else found),
        *_region(submission, limits),
        *_cost(estimate, limits),
    )
    weights = {finding.severity for finding in findings}
    if Severity.REFUSE in weights:
        return Decision(Verdict.REFUSE, findings)
    return Decision(Verdict.ASK if Severity.ASK in weights else Verdict.ALLOW, findings)


def _region(submission: Submission, limits: Limits) -> tuple[Finding, ...]:
    if not limits.regions or submission.region in limits.regions:
        return ()
    return (
        Finding(
            code="region_not_allowed",
            severity=Severity.REFUSE,
            field="",
            message=f"The team may not use {submission.region or 'a job without a region'}.",
            remedy=f"Choose one of {', '.join(limits.regions)}.",
            source=SOURCE,
        ),
    )


def _cost(estimate: Estimate, limits: Limits) -> tuple[Finding, ...]:
    """Weigh the most that may be spent: an expected run time is a guess, which nothing holds the job to."""
    least, most = estimate.expected_usd, estimate.most_usd
    known = most if most is not None else least
    if limits.refuse_over_usd is not None and known is not None and known > limits.refuse_over_usd:
        limit = f"The team refuses jobs over {in_usd(limits.refuse_over_usd)}."
        return (_finding("over_refuse_limit", Severity.REFUSE, f"{_spends(estimate)} {limit}", _remedy(estimate)),)
    if least is None or most is None:
        why = "Nobody can say what this job will cost, so somebody has to approve it."
        return (_finding("cost_unknown", Severity.ASK, f"{why} {_why_unknown(estimate)}"),)
    if most > limits.ask_over_usd:
        limit = f"Jobs over {in_usd(limits.ask_over_usd)} need an approval."
        remedy = _SHORTER_TIMEOUT if least <= limits.ask_over_usd and _ends_at_timeout(estimate) else ""
        return (_finding("over_ask_limit", Severity.ASK, f"{_spends(estimate)} {limit}", remedy),)
    return ()


def _why_unknown(estimate: Estimate) -> str:
    missing = dict.fromkeys(line.resource for line in estimate.lines if line.unit_usd is None)
    if missing:
        return f"No price is known for {', '.join(missing)}."
    return "With that many machines that may be preempted it might never finish."


_CHEAPER = "Run it for a shorter time, on fewer or smaller machines, or under another strategy."
_SHORTER_TIMEOUT = "Set a shorter timeout, the longest time that a run may really take."


def _remedy(estimate: Estimate) -> str:
    return f"{_SHORTER_TIMEOUT} {_CHEAPER}" if _ends_at_timeout(estimate) else _CHEAPER


def _ends_at_timeout(estimate: Estimate) -> bool:
    """Whether it is the timeout that makes the job dear: the most is what runs cost that last until then."""
    most, expected = estimate.most_usd, estimate.expected_usd
    return most is not None and most == estimate.until_timeout_usd and most != expected


def _spends(estimate: Estimate) -> str:
    expected, most = estimate.expected_usd, estimate.most_usd
    if expected is None:
        return f"It may cost {in_usd(most or Decimal(0))}."
    begin = f"It is expected to cost {in_usd(expected)}"
    if most is None or in_usd(most) == in_usd(expected):
        return f"{begin}."
    if not _ends_at_timeout(estimate):
        return f"{begin} and costs at most {in_usd(most)}."
    time = in_words(estimate.timeout_hours)
    why = f"until its timeout of {time}" if estimate.has_timeout else f"for {time}, as no timeout is set"
    each = "each of its trials" if estimate.trials > 1 else "it"
    return f"{begin} and costs at most {in_usd(most)}, because {each} may run {why}."


def _finding(code: str, severity: Severity, message: str, remedy: str = "") -> Finding:
    return Finding(code=code, severity=severity, field="", message=message, remedy=remedy, source=SOURCE)


def in_usd(amount: Decimal) -> str:
    """Write an amount for people, to the cent."""
    return f"{amount:,.2f} USD"
