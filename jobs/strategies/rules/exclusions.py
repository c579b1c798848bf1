"""Rules about strategies that exclude each other: Spot, Flex-start, reservations and persistent resources."""

from collections.abc import Iterator

from jobs.spec import Severity, Submission
from jobs.strategies.base import Problem, is_reserved, rule
from jobs.strategies.sources import API, PIPELINE_COMPONENTS, RESERVATIONS, SPOT
from jobs.texts import translatable as _

CURRENT = {"LOW_COST": "SPOT", "ON_DEMAND": "STANDARD"}
SPOT_NAMES = frozenset({"SPOT", "LOW_COST"})


def reserved_pools(submission: Submission) -> list[int]:
    """Return the indexes of the pools that take their machines from a reservation."""
    return [index for index, pool in submission.pools if is_reserved(pool.machine_spec)]


@rule(Severity.NOTE, API, by_strategy=True)
def strategy_name_is_current(submission: Submission) -> Iterator[Problem]:
    """LOW_COST and ON_DEMAND are the old names of SPOT and STANDARD."""
    name = submission.job_spec.scheduling.strategy
    if name in CURRENT:
        yield Problem(
            submission.spec_field("scheduling.strategy"),
            _("%(name)s is an old name.", name=name),
            _("Write %(current)s.", current=CURRENT[name]),
        )


@rule(Severity.ERROR, PIPELINE_COMPONENTS, by_strategy=True)
def waiting_belongs_to_flex_start(submission: Submission) -> Iterator[Problem]:
    """A maximum wait is accepted with Flex-start only."""
    scheduling = submission.job_spec.scheduling
    if scheduling.max_wait_duration is not None and scheduling.strategy != "FLEX_START":
        yield Problem(
            submission.spec_field("scheduling.maxWaitDuration"),
            _("maxWaitDuration is accepted with FLEX_START only."),
            _("Remove it, or set strategy: FLEX_START."),
        )


@rule(Severity.ERROR, SPOT, by_strategy=True)
def spot_needs_no_reservation(submission: Submission) -> Iterator[Problem]:
    """Spot machines do not come from a reservation."""
    if submission.job_spec.scheduling.strategy in SPOT_NAMES:
        for index in reserved_pools(submission)[:1]:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("Spot machines do not come from a reservation."),
                _("Remove the reservation, or the strategy SPOT."),
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def flex_start_needs_no_reservation(submission: Submission) -> Iterator[Problem]:
    """Flex-start and reservations exclude each other."""
    if submission.job_spec.scheduling.strategy == "FLEX_START":
        for index in reserved_pools(submission)[:1]:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("Flex-start cannot be combined with a reservation."),
                _("Remove the reservation, or the strategy FLEX_START."),
            )


@rule(Severity.ERROR, RESERVATIONS, by_strategy=True)
def persistent_resource_needs_no_reservation(submission: Submission) -> Iterator[Problem]:
    """A job on a persistent resource does not name a reservation."""
    if submission.job_spec.persistent_resource_id:
        for index in reserved_pools(submission)[:1]:
            yield Problem(
                submission.pool_path(index, "machineSpec.reservationAffinity"),
                _("A job on a persistent resource cannot take machines from a reservation."),
                _("Remove the reservation here; the resource itself may have been created with one."),
            )


@rule(Severity.ERROR, API, by_strategy=True)
def persistent_resource_needs_no_strategy(submission: Submission) -> Iterator[Problem]:
    """A job on a persistent resource provisions nothing, so Spot and Flex-start do not apply."""
    strategy = submission.job_spec.scheduling.strategy
    if submission.job_spec.persistent_resource_id and strategy in SPOT_NAMES | {"FLEX_START"}:
        yield Problem(
            submission.spec_field("scheduling.strategy"),
            _(
                "The machines of a persistent resource are there already; %(strategy)s does not apply.",
                strategy=strategy,
            ),
            _("Remove the strategy, or the persistent resource."),
        )


EXCLUSIONS = (
    waiting_belongs_to_flex_start,
    spot_needs_no_reservation,
    flex_start_needs_no_reservation,
    persistent_resource_needs_no_reservation,
    persistent_resource_needs_no_strategy,
)
"""Rules about fields that belong to another strategy than the job's."""
RULES = (strategy_name_is_current, *EXCLUSIONS)
