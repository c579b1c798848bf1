"""Send the changes of persistent resources that people have requested, and that were allowed.

A change is recorded before it is sent, and so is the time of the call. If no answer came, the next step reads the
resource before it sends anything again:

create                  has a label that only this change has. Whatever has the name is followed, with its lifetime, if
                        it has the label, also after Vertex AI has refused a second try because the name is taken
resize, delete          describe the wanted result: sending them again does no harm, and an existing result is accepted
reboot                  would restart the machines twice, so it is sent once; the state shows whether it arrived

Every change but a creation reads the resource first: one that was made here has the label of its creation, and nothing
is sent to another of its name.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from jobs import vertex
from jobs.clients import INSTANCE_LABEL, account_of, client
from jobs.clock import Clock
from jobs.errors import NotAllowed
from jobs.models import PersistentResource, ResourceChange, Scope
from jobs.models.persistent_resource import CHANGE_LABEL, OF_OTHERS
from jobs.observation.failures import record_failure
from jobs.queue import claims, rate_limit
from jobs.requests.resource_requests import check_again
from jobs.spec import Severity
from jobs.vertex import wire

Action, Outcome = ResourceChange.Action, ResourceChange.Outcome
MAX_OPEN = timedelta(hours=1)
"""A change that could not be sent for this long is given up."""
MAX_START_SECONDS = 10.0
"""A call is not made if recording it took longer, because the claim might expire before the call ends."""
TAKEN = 409
"""HTTP status of a creation whose name is taken, with the reason ALREADY_EXISTS. Other answers 409 are Unavailable."""
RETRIABLE = (vertex.Unavailable, vertex.RateLimited, vertex.AuthFailed)
ACCEPTED = {
    Action.CREATE: "Vertex AI is preparing its machines.",
    Action.RESIZE: "Vertex AI is changing the number of its machines.",
    Action.REBOOT: "Vertex AI is restarting its machines.",
    Action.DELETE: "Vertex AI is deleting it.",
}


def send_change(change_id: int, *, clock: Clock) -> None:
    """Take one step of a change. Do nothing if it is not due, has ended or is claimed by another worker."""
    now = clock.now()
    if ResourceChange.objects.filter(pk=change_id, allowed_at=None).exclude(needs=[]).exists():
        return  # nobody has approved it, whatever made it due
    change = claims.claim_poll(ResourceChange, change_id, now)
    if change is None:
        return
    with record_failure(change, now=now) as result:
        if change.attempted_at is not None or _is_still_allowed(change, now):
            _end(change, *_send(change, now, clock), now=now)
    if result.failure is not None and now - change.asked_at > MAX_OPEN:
        words = f"Trainboard could not send the change for an hour: {result.failure}"
        may_have_arrived = ResourceChange.objects.filter(pk=change.pk, attempted_at__isnull=False).exists()
        lifetime = None if change.lifetime_hours is None else timedelta(hours=change.lifetime_hours)
        ResourceChange.objects.filter(pk=change.pk, ended_at=None).update(
            outcome=Outcome.UNKNOWN if may_have_arrived else Outcome.REFUSED,
            deletes_at=now + lifetime if may_have_arrived and lifetime is not None else None,
            ended_at=now, due_at=None, message=words,
        )  # fmt: skip
        _wake(change, now)


def _is_still_allowed(change: ResourceChange, now: datetime) -> bool:
    """Check a change again before its first call. Return False if it was refused or waits for a new approval."""
    try:
        return check_again(change, now)
    except NotAllowed as refusal:
        words = "; ".join(each.message for each in refusal.findings if each.severity is Severity.ERROR)
        message = f"Trainboard checked it again before sending it and refused it: {words}"
        _end(change, Outcome.REFUSED, message, now=now)
        return False


def _send(change: ResourceChange, now: datetime, clock: Clock) -> tuple[str, str]:
    """Make the call and return its outcome and a message for people. Raise VertexError if it is to be repeated.

    Raise ClaimLost before the call if the claim has expired, because a stalled worker would undo a later change.
    """
    if change.action == Action.EXTEND:  # a lifetime is Trainboard's own: Vertex AI knows none
        return Outcome.ACCEPTED, "Trainboard deletes it later."
    is_new = change.action == Action.CREATE and change.attempted_at is None
    if not is_new and (settled := _look(change, now)) is not None:
        return settled
    rate_limit.spend(rate_limit.creates(change.project, change.region), now=now)
    _begin_call(change, clock)
    try:
        client(account_of(change.project)).change_resource(
            change.action,
            project=change.project,
            region=change.region,
            resource_id=change.resource_id,
            body=_marked(change) if change.action == Action.CREATE else change.body,
        )
    except RETRIABLE as error:
        # This call certainly did not arrive. An earlier one that had no answer stays in doubt.
        if not getattr(error, "may_have_happened", False):
            _held(change).update(attempted_at=change.attempted_at)
        raise
    except vertex.NotFound as error:
        # It is gone, for example after a first call that had no answer.
        if change.action == Action.DELETE:
            return Outcome.ACCEPTED, "Vertex AI no longer has the persistent resource."
        return Outcome.REFUSED, str(error)
    except (vertex.Refused, vertex.PermissionDenied, vertex.QuotaExceeded) as error:
        if error.status == TAKEN:
            return _find_maker(change, now)
        return Outcome.REFUSED, str(error)
    return Outcome.ACCEPTED, ACCEPTED[Action(change.action)]


def _marked(change: ResourceChange) -> dict[str, Any]:
    """Return the body of a creation with labels that show who has made the resource."""
    ours = {CHANGE_LABEL: change.mark, INSTANCE_LABEL: settings.INSTANCE}
    return {**change.body, "labels": {**change.body.get("labels", {}), **ours}}


def _find_maker(change: ResourceChange, now: datetime) -> tuple[str, str]:
    """Return the outcome of a creation whose name is taken. Raise Unavailable if the resource does not show yet."""
    settled = _look(change, now)
    if settled is None:
        raise vertex.Unavailable("Vertex AI says that the persistent resource exists, but does not show it yet.")
    return settled


def _begin_call(change: ResourceChange, clock: Clock) -> None:
    """Record that a call leaves now, and hold the claim until it ends. Raise ClaimLost if it is not to leave."""
    began, now = clock.monotonic(), clock.now()
    if not _held(change).update(attempted_at=now, claimed_until=now + claims.JOB_LEASE):
        raise claims.ClaimLost
    if clock.monotonic() - began > MAX_START_SECONDS:  # the claim may have expired since
        _held(change).update(attempted_at=change.attempted_at)
        raise claims.ClaimLost


def _held(change: ResourceChange) -> QuerySet[ResourceChange]:
    """Select the change if no other worker has claimed it since."""
    return ResourceChange.objects.filter(pk=change.pk, claim=change.claim)


def _look(change: ResourceChange, now: datetime) -> tuple[str, str] | None:
    """Return the outcome of a call without an answer, or of one that is not to be sent. None if it may be sent."""
    rate_limit.spend(rate_limit.reads(change.project, change.region), now=now)
    try:
        found = client(account_of(change.project)).persistent_resource(
            project=change.project, region=change.region, resource_id=change.resource_id
        )
    except vertex.NotFound:
        if change.action == Action.DELETE:
            return Outcome.ACCEPTED, "Vertex AI no longer has the persistent resource."
        if change.action == Action.CREATE:
            return None
        return Outcome.REFUSED, "Vertex AI does not have the persistent resource."
    if change.action == Action.CREATE:
        if change.has_made(found.raw):
            return Outcome.ACCEPTED, "Vertex AI has the persistent resource."
        return Outcome.REFUSED, OF_OTHERS
    created_at = wire.moment(found.raw.get("createTime"))
    if change.action == Action.DELETE and created_at is not None and created_at > change.asked_at:
        return Outcome.ACCEPTED, "It was deleted, and one with the same name was created since, which is kept."
    maker = ResourceChange.find_maker(change.project, change.region, change.resource_id)
    if maker is not None and not maker.has_made(found.raw):
        maker.disown()
        return Outcome.REFUSED, f"{OF_OTHERS} Nothing was sent."
    return _settle(change, found) if change.attempted_at is not None else None


def _settle(change: ResourceChange, found: vertex.RemoteResource) -> tuple[str, str] | None:
    """Return the outcome of a call without an answer by what the resource is now, or None if it may be repeated."""
    if change.action == Action.RESIZE and (found.state == "UPDATING" or _has_size(found.raw, change.body)):
        return Outcome.ACCEPTED, "The persistent resource has the new size, or Vertex AI is changing its size."
    if change.action == Action.DELETE:
        return (Outcome.ACCEPTED, ACCEPTED[Action.DELETE]) if found.state == "STOPPING" else None
    if change.action == Action.REBOOT:
        if found.state == "REBOOTING":
            return Outcome.ACCEPTED, ACCEPTED[Action.REBOOT]
        words = (
            "It is unknown whether its machines were restarted, because Vertex AI did not answer or the database was "
            "restored. Trainboard did not send the request again."
        )
        return Outcome.UNKNOWN, words
    return None


def _has_size(resource: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether every resource pool has the requested number of replicas."""
    pools, asked = resource.get("resourcePools"), wanted.get("resourcePools")
    if not isinstance(pools, list) or not isinstance(asked, list) or len(pools) != len(asked):
        return False
    return all(
        isinstance(pool, dict) and str(pool.get("replicaCount", "")) == str(each.get("replicaCount", ""))
        for pool, each in zip(pools, asked, strict=True)
    )


def _end(change: ResourceChange, outcome: str, message: str, *, now: datetime) -> None:
    """Record the outcome of a change if it is still claimed, and have its scope polled soon."""
    deletes_at = None
    if outcome == Outcome.ACCEPTED and change.lifetime_hours is not None:
        started = now
        if change.action == Action.EXTEND:
            ends = ResourceChange.lifetime_ends(change.project, change.region, change.resource_id)
            started = max(now, ends or now)
        deletes_at = started + timedelta(hours=change.lifetime_hours)
    ended = _held(change).update(
        deletes_at=deletes_at,
        outcome=outcome, message=message, ended_at=now, attempted_at=None, due_at=None, claim=None, claimed_until=None,
        last_error="", failures=0, failing_since=None, answered_at=now,
    )  # fmt: skip
    if ended:
        _wake(change, now)


def _wake(change: ResourceChange, now: datetime) -> None:
    kind = Scope.Kind.PERSISTENT_RESOURCE
    claims.wake_scope(project=change.project, region=change.region, kind=kind, due_at=now)


def resize_body(resource: PersistentResource, sizes: Mapping[int, int]) -> dict[str, Any]:
    """Return the REST body that sets the number of replicas of resource pools, given by their index.

    An autoscaling pool keeps its limits and cannot be given a number.
    """
    pools = [dict(pool) for pool in resource.body.get("resourcePools", [])]
    for index, size in sizes.items():
        pools[index] |= {"replicaCount": str(size)}
    for pool in pools:
        pool.pop("usedReplicaCount", None)
    return {"resourcePools": pools}
