"""A question to the approvers of a team: what has to be approved, by whom, and until when."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from jobs.models import Approval, AskedGroup, Job
from jobs.requests.policy_versions import current_version, terms_of


def ask(
    job: Job,
    findings: Sequence[Mapping[str, Any]],
    policy: Mapping[str, Any] | None,
    *,
    now: datetime,
    attempts: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Write the open question about a job; an earlier one, with its answer, makes room for it.

    `attempts` are all that the answer is to hold for, as `jobs.requests.planned` writes them; None: this job only.

    `policy` is `jobs.policy.Decision.as_dict()`: it says who has to approve. Where a rule of the site asks and policy
    does not, one approver or lead is enough.
    """
    needs = (policy or {}).get("needs") or {"approvals": 1, "role": "approver", "approvers": []}
    terms = terms_of(current_version(job.team))
    defaults = {
        "asked_at": now,
        "findings": list(findings),
        "decision": "",
        "decided_by": None,
        "decided_at": None,
        "comment": "",
        "votes_needed": needs["approvals"],
        "role_needed": needs["role"],
        "approver_names": _joined(needs["approvers"]),
        "policy": policy,
        "attempts": attempts,
        "digest": digest_of(job, policy, attempts),
        "decided_usd": None,
        "cap_usd": None,
        "requested_spec": None,
        "remind_at": now + timedelta(hours=terms.remind_hours) if terms.remind_hours else None,
        "expires_at": now + timedelta(hours=terms.expire_hours) if terms.expire_hours else None,
    }
    Approval.objects.update_or_create(job=job, defaults=defaults)
    if further := needs.get("further"):
        AskedGroup.objects.bulk_create(_row(job, now, *each) for each in enumerate([needs, *further]))


def _row(job: Job, now: datetime, position: int, needs: Mapping[str, Any]) -> AskedGroup:
    return AskedGroup(
        job=job,
        asked_at=now,
        position=position,
        votes_needed=needs["approvals"],
        role_needed=needs["role"],
        approver_names=_joined(needs["approvers"]),
    )


def _joined(names: Sequence[str]) -> str:
    return f",{','.join(names)}," if names else ""


def digest_of(job: Job, policy: Mapping[str, Any] | None, attempts: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Return the digest of what is decided about: the spec, the most that it may cost, the policy and its figures.

    Where the answer is for all attempts, they are part of it.
    """
    about = [job.spec_digest or job.spec, job.expected_seconds, str(job.max_usd), policy]
    about += [attempts] if attempts is not None else []
    return sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
