"""Reservation: machines that Compute Engine holds for you, and bills whether used or not."""

from collections.abc import Iterator

from jobs.catalog import Machine
from jobs.spec import MachineSpec, ReservationAffinity, Severity, Submission
from jobs.strategies.base import Problem, Strategy, is_reserved, rule, set_strategy
from jobs.strategies.sources import RESERVATIONS
from jobs.texts import translatable as _

ANY = ReservationAffinity(reservation_affinity_type="ANY_RESERVATION")


@rule(Severity.ERROR, RESERVATIONS)
def reservation_is_asked_for(submission: Submission) -> Iterator[Problem]:
    """A job on a reservation asks for it in the machine spec of a pool."""
    if submission.pools and not any(is_reserved(pool.machine_spec) for _, pool in submission.pools):
        yield Problem(
            submission.pool_path(submission.pools[0][0], "machineSpec.reservationAffinity"),
            _("No pool asks for a reservation."),
            _("Set ANY_RESERVATION, or SPECIFIC_RESERVATION with its name."),
        )


@rule(Severity.ERROR, RESERVATIONS)
def reservation_holds_one_machine(submission: Submission) -> Iterator[Problem]:
    """Pools that share a reservation have exactly the machine that it holds, so all the same."""
    first: dict[str, tuple[int, MachineSpec]] = {}
    for index, pool in submission.pools:
        spec = pool.machine_spec
        for name in spec.reservation_affinity.values if spec.reservation_affinity is not None else ():
            before, other = first.setdefault(name, (index, spec))
            if _hardware(spec) != _hardware(other):
                yield Problem(
                    submission.pool_path(index, "machineSpec"),
                    _(
                        "Pools %(before)s and %(index)s share a reservation but differ in their machine.",
                        before=before,
                        index=index,
                    ),
                    _("A reservation holds one machine type with one number of accelerators; match it exactly."),
                )


def _hardware(spec: MachineSpec) -> tuple[str, str, int, str]:
    return spec.machine_type, spec.accelerator, spec.accelerator_count, spec.tpu_topology


@rule(Severity.NOTE, RESERVATIONS)
def reservation_covers_every_pool(submission: Submission) -> Iterator[Problem]:
    """A pool without a reservation of its own is provisioned on demand."""
    reserved = [index for index, pool in submission.pools if is_reserved(pool.machine_spec)]
    for index, _pool in submission.pools:
        if reserved and index not in reserved:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("Worker pool %(index)s names no reservation and is provisioned on demand.", index=index),
                _("Add the reservation here too, unless this is intended."),
            )


@rule(Severity.NOTE, RESERVATIONS)
def any_reservation_falls_back(submission: Submission) -> Iterator[Problem]:
    """ANY_RESERVATION takes machines on demand, in the same zone, when no reservation has room."""
    for index, pool in submission.pools:
        affinity = pool.machine_spec.reservation_affinity
        if affinity is not None and affinity.reservation_affinity_type == "ANY_RESERVATION":
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity.reservationAffinityType"),
                _("When no reservation has room, ANY_RESERVATION takes machines on demand at the full price."),
                _("Name one with SPECIFIC_RESERVATION to avoid that."),
            )


def serves(found: Machine) -> bool:
    """Return whether a machine can be reserved for training: all machines that train."""
    return found.trainable


def apply(submission: Submission) -> Submission:
    """Return the submission with its reservations, or if it has none, with any reservation that has room."""
    pools = submission.job_spec.worker_pool_specs
    if not any(is_reserved(pool.machine_spec) for _, pool in submission.pools):
        pools = tuple(
            pool if pool.is_empty else pool.but(machine_spec=pool.machine_spec.but(reservation_affinity=ANY))
            for pool in pools
        )
    return set_strategy(submission, strategy="", pools=pools)


def recognizes(submission: Submission) -> bool:
    """Return whether a submission takes machines of a reservation."""
    return any(is_reserved(pool.machine_spec) for _, pool in submission.pools)


STRATEGY = Strategy(
    key="reservation",
    label="Reservation",
    summary=_(
        "Machines that a Compute Engine reservation holds for you. Always available, and billed whether used or not."
    ),
    sets="machineSpec.reservationAffinity of each pool; scheduling.strategy left out",
    machines="CPU and GPU machines, TPUs in preview; exactly the machine that the reservation holds",
    serves=serves,
    price_key="reservation",
    billing=_(
        "Compute Engine bills the reservation, used or not; Vertex AI adds its management fee while the job runs."
    ),
    quota="custom_model_training_",
    quota_rule="Not documented; custom training quota probably applies.",
    preemptible=False,
    restart_allowance=3,
    restart_rule=_("As for standard jobs."),
    wait_rule=_("Starts when the reservation has room; ANY_RESERVATION falls back to machines on demand."),
    default_wait=None,
    console=_("Only the REST API can submit this."),
    longest_run=None,
    source=RESERVATIONS,
    rules=(
        reservation_is_asked_for,
        reservation_holds_one_machine,
        reservation_covers_every_pool,
        any_reservation_falls_back,
    ),
    apply=apply,
    recognizes=recognizes,
    precedence=3,
    safety=0,
    queued=_("waits for its reservation"),
    is_held=True,
    form_field="reservation",
)
