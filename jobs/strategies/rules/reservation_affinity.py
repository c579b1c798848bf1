"""Rules about reservation affinities: their types, keys and values. They apply to every job."""

import re
from collections.abc import Iterator

from jobs.spec import ReservationAffinity, Severity, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import API, RESERVATIONS
from jobs.texts import translatable as _

KEY = "compute.googleapis.com/reservation-name"
NAME = re.compile(
    r"projects/[^/]+/zones/([a-z0-9-]+)/reservations/[^/]+(?:/reservationBlocks/[^/]+(?:/reservationSubBlocks/[^/]+)?)?"
)


def affinities(submission: Submission) -> Iterator[tuple[str, ReservationAffinity]]:
    """Yield the path and value of each reservation affinity that is given."""
    for index, pool in submission.pools:
        if pool.machine_spec.reservation_affinity is not None:
            yield submission.pool_path(index, "machineSpec.reservationAffinity"), pool.machine_spec.reservation_affinity


@rule(Severity.ERROR, API, by_strategy=True)
def affinity_has_a_type(submission: Submission) -> Iterator[Problem]:
    """A reservation affinity has a type."""
    for path, affinity in affinities(submission):
        if affinity.reservation_affinity_type == "TYPE_UNSPECIFIED":
            yield Problem(
                f"{path}.reservationAffinityType",
                _("A reservation affinity is given without its type."),
                _("Set NO_RESERVATION, ANY_RESERVATION or SPECIFIC_RESERVATION, or remove it."),
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def specific_reservation_is_named(submission: Submission) -> Iterator[Problem]:
    """A specific reservation is named by the documented key and its full name."""
    for path, affinity in affinities(submission):
        if affinity.reservation_affinity_type != "SPECIFIC_RESERVATION":
            continue
        if affinity.key != KEY and not is_placeholder(affinity.key):
            yield Problem(
                f"{path}.key",
                _("The key of a specific reservation is %(key)s.", key=KEY),
                _("Set key: %(key)s.", key=KEY),
            )
        if not affinity.values:
            yield Problem(
                f"{path}.values", _("No reservation is named."), _("Write projects/P/zones/Z/reservations/NAME.")
            )
        for at, name in enumerate(affinity.values[:20]):
            if not NAME.fullmatch(name[:1000]) and not is_placeholder(name):
                yield Problem(
                    f"{path}.values[{at}]",
                    _("%(name)s is not the full name of a reservation.", name=quoted(name)),
                    _("Write projects/P/zones/Z/reservations/NAME."),
                )


@rule(Severity.ERROR, API, by_strategy=True)
def other_affinities_name_nothing(submission: Submission) -> Iterator[Problem]:
    """Only a specific reservation has a key and values."""
    for path, affinity in affinities(submission):
        other = affinity.reservation_affinity_type in ("ANY_RESERVATION", "NO_RESERVATION")
        if other and (affinity.key or affinity.values):
            yield Problem(
                f"{path}.values",
                _("%(kind)s takes no key and no values.", kind=affinity.reservation_affinity_type),
                _("Set SPECIFIC_RESERVATION, or remove key and values."),
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def reservation_is_in_the_region(submission: Submission) -> Iterator[Problem]:
    """The zone of a reservation lies in the job's region."""
    for path, affinity in affinities(submission):
        for at, name in enumerate(affinity.values[:20]):
            found = NAME.fullmatch(name[:1000])
            if found and submission.region and found.group(1).rpartition("-")[0] != submission.region:
                yield Problem(
                    f"{path}.values[{at}]",
                    _(
                        "The reservation is in %(place)s, the job in %(region)s.",
                        place=quoted(found.group(1)),
                        region=quoted(submission.region),
                    ),
                    _("Use a reservation of the job's region."),
                )


RULES = (
    affinity_has_a_type,
    specific_reservation_is_named,
    other_affinities_name_nothing,
    reservation_is_in_the_region,
)
