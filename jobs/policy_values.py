"""Values that a team's policy sets in a job that lacks them; it never writes over what a person typed. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from jobs.policy_rules import Facts, Rule, matches
from jobs.spec import Finding, Severity, Submission
from jobs.spec.worker_pool import EncryptionSpec

SETS = "policy_sets_"
"""What the code of a finding begins with that tells of a value that policy sets, or that differs from it."""
SOURCE = "policy of the team"


@dataclass(frozen=True, slots=True)
class Filled:
    """A submission with the values that rules set, and a finding for each: a note, or an error for a conflict."""

    submission: Submission
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Value:
    """One value that a rule sets: as the job has it, None where it lacks it, and what makes a job that has it."""

    code: str
    name: str
    field: str
    wanted: str
    found: str | None
    fill: Callable[[Submission], Submission]


def fill(submission: Submission, rules: Sequence[Rule], facts: Facts, *, version: int = 0) -> Filled:
    """Return the submission with what the rules set, from top to bottom: the first that sets a value counts.

    A job that has another value keeps it; where the rule says that it must not, that is an error. `facts` are those of
    the submission as it was typed, and `version` is the policy's.
    """
    filled, findings = submission, list[Finding]()
    for number, rule in enumerate(rules, 1):
        if rule.outcome != "set" or not matches(rule, facts):
            continue
        where = f" (Policy {version}, rule {number}.)" if version else ""
        typed = {value.code: value.found for value in _values(rule, submission)}
        for value in _values(rule, filled):
            if value.found is None:
                filled = value.fill(filled)
                findings.append(_set(value, rule, where))
            elif rule.must and typed[value.code] not in (None, value.wanted):
                findings.append(_conflict(value, rule, where))
    return Filled(filled, tuple(findings))


def _values(rule: Rule, submission: Submission) -> Iterator[_Value]:
    """Yield what a rule sets, with what the submission has in its place."""
    job, spec, path = submission.job, submission.job_spec, submission.spec_field
    for pair in rule.set_labels:
        key, _, wanted = pair.partition("=")
        found = job.labels.get(key)
        yield _Value(f"labels_{key}", f"the label {key}", "labels", wanted, found, _with_label(key, wanted))
    if wanted := rule.set_service_account:
        yield _Value(
            "service_account", "the service account", path("serviceAccount"), wanted, spec.service_account or None,
            lambda old: old.with_job_spec(old.job_spec.but(service_account=rule.set_service_account)),
        )  # fmt: skip
    if wanted := rule.set_network:
        found = spec.network or ("a PSC interface" if spec.psc_interface_config is not None else None)
        yield _Value(
            "network", "the network", path("network"), wanted, found,
            lambda old: old.with_job_spec(old.job_spec.but(network=rule.set_network)),
        )  # fmt: skip
    if wanted := rule.set_encryption_key:
        found = (job.encryption_spec.kms_key_name or None) if job.encryption_spec is not None else None
        yield _Value("encryption", "the encryption key", "encryptionSpec.kmsKeyName", wanted, found, _with_key(wanted))
    if rule.set_timeout_hours is not None:
        timeout, limit = spec.scheduling.timeout, timedelta(hours=float(rule.set_timeout_hours))
        found = None if timeout is None else _hours(timeout)
        yield _Value("timeout", "the timeout", path("scheduling.timeout"), _hours(limit), found, _with_timeout(limit))


def _with_label(key: str, value: str) -> Callable[[Submission], Submission]:
    return lambda old: replace(old, job=old.job.but(labels={**old.job.labels, key: value}))


def _with_key(name: str) -> Callable[[Submission], Submission]:
    return lambda old: replace(old, job=old.job.but(encryption_spec=EncryptionSpec(kms_key_name=name)))


def _with_timeout(limit: timedelta) -> Callable[[Submission], Submission]:
    return lambda old: old.with_job_spec(old.job_spec.but(scheduling=old.job_spec.scheduling.but(timeout=limit)))


def _hours(span: timedelta) -> str:
    return f"{span / timedelta(hours=1):g} h"


def _set(value: _Value, rule: Rule, where: str) -> Finding:
    words = f"The policy of the team sets {value.name} to {value.wanted}, as the job has none.{where}"
    return Finding(f"{SETS}{value.code}"[:80], Severity.NOTE, value.field, words, rule.words, SOURCE)


def _conflict(value: _Value, rule: Rule, where: str) -> Finding:
    found = value.found or "an empty text"
    words = f"The job has {found} as {value.name}; the policy of the team allows {value.wanted} only.{where}"
    remedy = rule.words or f"Write {value.wanted}, or leave it empty: the policy sets it."
    return Finding(f"{SETS}other_{value.code}"[:80], Severity.ERROR, value.field, words, remedy, SOURCE)
