"""Apply the matching rules of a team's policy to a job: set values, find errors, and decide who approves. Pure.

A job that no rule decides on is allowed. Only `jobs.assessment` and the test of a policy on past jobs call this.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from jobs.policy_rules import Facts, Matched, Rule
from jobs.policy_words import describe, explain, who_decides
from jobs.spec import Finding, Severity, Submission
from jobs.spec.worker_pool import EncryptionSpec
from jobs.texts import joined
from jobs.texts import translatable as _

SOURCE = "policy of the team"
SETS = "policy_sets_"
"""Prefix of the codes of findings about a value that the policy sets, or that differs from it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's decision about a job: findings, the deciding rule and its number, counted from 1, and the facts."""

    findings: tuple[Finding, ...]
    rule: Rule | None
    number: int
    facts: Facts
    limit_usd: Decimal | None
    """The lowest amount above which a rule asks about a job like this; None if no rule asks by cost."""
    version: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as JSON, the form stored with the event and the approval of a job."""
        rule = self.rule
        needs: dict[str, Any] | None = None
        if rule is not None and rule.outcome == "ask":
            needs = {"approvals": rule.approvals, "role": rule.role, "approvers": list(rule.approvers)}
            if rule.further:
                needs["further"] = [each.model_dump(mode="json") for each in rule.further]
        return {
            "version": self.version,
            "rule": self.number or None,
            "words": describe(rule) if rule is not None else _("No rule speaks of it."),
            "figures": self.facts.as_dict(),
            "needs": needs,
        }


def decide(submission: Submission, matched: Matched) -> Decision:
    """Return the policy's decision about a submission; for a sweep, about all its jobs together."""
    found = [
        finding
        for number, rule in matched.rules
        if rule.outcome == "require"
        for finding in _missing(rule, submission, _where(matched, number))
    ]
    deciding = (each for each in matched.rules if each[1].outcome in ("allow", "ask", "refuse"))
    number, decided_by = next(deciding, (0, None))
    if decided_by is not None and decided_by.outcome != "allow":
        severity = Severity.ERROR if decided_by.outcome == "refuse" else Severity.APPROVAL
        code, message, remedy = explain(decided_by, matched)
        if matched.version:
            who = _("Decided by %(who)s.", who=who_decides(decided_by.groups)) if decided_by.outcome == "ask" else ""
            message = joined(decided_by.words, message, _where(matched, number), who)
        found.append(Finding(code=code, severity=severity, field="", message=message, remedy=remedy, source=SOURCE))
    return Decision(tuple(found), decided_by, number, matched.facts, matched.limit_usd, matched.version)


def _where(matched: Matched, number: int) -> str:
    """Return the version and number of a rule for a message; "" if the policy was never saved as rules."""
    if not matched.version:
        return ""
    return _("(Policy %(version)s, rule %(number)s.)", version=matched.version, number=number)


def _missing(rule: Rule, submission: Submission, where: str) -> list[Finding]:
    """Return an error for each thing that a rule requires and the job lacks."""
    spec, job = submission.job_spec, submission.job
    labels = ", ".join(key for key in rule.require_labels if key not in job.labels)
    wanted = [
        (bool(labels), "labels", "labels", _("It lacks these labels: %(labels)s.", labels=labels)),
        (rule.require_service_account and not spec.service_account, "service_account",
         submission.spec_field("serviceAccount"), _("It names no service account.")),
        (rule.require_network and not spec.network and spec.psc_interface_config is None, "network",
         submission.spec_field("network"), _("It names no network.")),
        (rule.require_encryption and not (job.encryption_spec and job.encryption_spec.kms_key_name), "encryption",
         "encryptionSpec.kmsKeyName", _("It names no encryption key.")),
        (rule.require_timeout and spec.scheduling.timeout is None, "timeout",
         submission.spec_field("scheduling.timeout"), _("It has no timeout.")),
    ]  # fmt: skip
    return [
        Finding(
            code=f"policy_requires_{name}",
            severity=Severity.ERROR,
            field=path,
            message=joined(words, _("The policy of the team requires it."), where),
            remedy=rule.words,
            source=SOURCE,
        )
        for is_missing, name, path, words in wanted
        if is_missing
    ]


# ---------------------------------------------------------------- values that a policy sets
@dataclass(frozen=True, slots=True)
class Filled:
    """A submission with the values that rules set, and a finding for each: a note, or an error for a conflict."""

    submission: Submission
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Value:
    """One value that a rule sets, what the job has (None if it has none), and a function that sets it."""

    code: str
    name: str
    field: str
    wanted: str
    found: str | None
    fill: Callable[[Submission], Submission]


def fill(submission: Submission, matched: Matched) -> Filled:
    """Return the submission with the values that rules set, from top to bottom; the first rule that sets a value wins.

    A value that the job has already is kept, because a person typed it. If the rule does not allow it, it is an error.
    """
    filled, findings = submission, list[Finding]()
    for number, rule in matched.rules:
        if rule.outcome != "set":
            continue
        where = _where(matched, number)
        typed = {value.code: value.found for value in _values(rule, submission)}
        for value in _values(rule, filled):
            if value.found is None:
                filled = value.fill(filled)
                findings.append(_set(value, rule, where))
            elif rule.must and typed[value.code] not in (None, value.wanted):
                findings.append(_conflict(value, rule, where))
    return Filled(filled, tuple(findings))


def _values(rule: Rule, submission: Submission) -> Iterator[_Value]:
    """Yield each value that a rule sets, with what the submission has."""
    job, spec, path = submission.job, submission.job_spec, submission.spec_field
    for pair in rule.set_labels:
        key, wanted = pair.split("=", 1)
        found = job.labels.get(key)
        yield _Value(
            f"labels_{key}", _("the label %(name)s", name=key), "labels", wanted, found, _with_label(key, wanted)
        )
    if wanted := rule.set_service_account:
        yield _Value(
            "service_account", _("the service account"), path("serviceAccount"), wanted, spec.service_account or None,
            lambda old: old.with_job_spec(old.job_spec.but(service_account=rule.set_service_account)),
        )  # fmt: skip
    if wanted := rule.set_network:
        found = spec.network or (_("a PSC interface") if spec.psc_interface_config is not None else None)
        yield _Value(
            "network", _("the network"), path("network"), wanted, found,
            lambda old: old.with_job_spec(old.job_spec.but(network=rule.set_network)),
        )  # fmt: skip
    if wanted := rule.set_encryption_key:
        found = (job.encryption_spec.kms_key_name or None) if job.encryption_spec is not None else None
        name, field = _("the encryption key"), "encryptionSpec.kmsKeyName"
        yield _Value(
            "encryption", name, field, wanted, found,
            lambda old: replace(
                old, job=old.job.but(encryption_spec=EncryptionSpec(kms_key_name=rule.set_encryption_key))
            ),
        )  # fmt: skip
    if rule.set_timeout_hours is not None:
        timeout, limit = spec.scheduling.timeout, timedelta(hours=float(rule.set_timeout_hours))
        found = None if timeout is None else _hours(timeout)
        yield _Value(
            "timeout", _("the timeout"), path("scheduling.timeout"), _hours(limit), found,
            lambda old: old.with_job_spec(old.job_spec.but(scheduling=old.job_spec.scheduling.but(timeout=limit))),
        )  # fmt: skip


def _with_label(key: str, value: str) -> Callable[[Submission], Submission]:
    # A separate function, because lambdas made in the loop over the labels would all use the last label.
    return lambda old: replace(old, job=old.job.but(labels={**old.job.labels, key: value}))


def _hours(span: timedelta) -> str:
    return _("%(hours)s h", hours=f"{span / timedelta(hours=1):g}")


def _set(value: _Value, rule: Rule, where: str) -> Finding:
    words = {"name": value.name, "value": value.wanted}
    message = joined(_("The policy of the team sets %(name)s to %(value)s, as the job has none.", **words), where)
    return Finding(f"{SETS}{value.code}"[:80], Severity.NOTE, value.field, message, rule.words, SOURCE)


def _conflict(value: _Value, rule: Rule, where: str) -> Finding:
    words = {"name": value.name, "value": value.wanted, "found": value.found or _("an empty text")}
    message = _("The job has %(found)s as %(name)s; the policy of the team allows %(value)s only.", **words)
    remedy = rule.words or _("Write %(value)s, or leave it empty: the policy sets it.", value=value.wanted)
    code = f"{SETS}other_{value.code}"[:80]
    return Finding(code, Severity.ERROR, value.field, joined(message, where), remedy, SOURCE)
