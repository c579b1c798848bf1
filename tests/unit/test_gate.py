"""Tests of the gate: what a request adds, and which ceilings it exceeds."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.gate import CeilingKind, CeilingUse, Charge, check

AMOUNTS = st.decimals(min_value=0, max_value=10**6, places=2)


def charge(usd: int | None = 10, hourly: int | None = 1, gpus: int = 1, jobs: int = 1) -> Charge:
    known = [None if amount is None else Decimal(amount) for amount in (usd, hourly)]
    return Charge(known[0], known[1], gpus, jobs)


@pytest.mark.parametrize(
    ("kind", "limit", "used", "is_over"),
    [("job", 10, 0, False), ("job", 9, 0, True), ("hour", 1, 0, False), ("hour", 1, 1, True), ("gpus", 5, 4, False),
     ("gpus", 5, 5, True), ("person_day", 30, 20, False), ("person_day", 30, 21, True), ("hour", 10, None, True)],
)  # fmt: skip
def test_a_ceiling_is_exceeded_by_more_than_its_amount(kind: str, limit: int, used: int | None, is_over: bool) -> None:
    ceiling = CeilingUse(CeilingKind(kind), Decimal(limit), None if used is None else Decimal(used))

    assert bool(check(charge(), (), [ceiling])) == is_over


@pytest.mark.parametrize("kind", ["job", "hour", "person_day"])
def test_what_is_not_known_exceeds_every_ceiling_in_dollars(kind: str) -> None:
    (found,) = check(charge(None, None), (), [CeilingUse(CeilingKind(kind), Decimal(10**9), Decimal(0))])

    assert (found.code, found.severity) == ("over_ceiling", "error")
    assert found.remedy == "A site admin can record a price for it, or change the ceiling."


def test_what_adds_nothing_passes_whatever_is_used() -> None:
    ceilings = [CeilingUse(kind, Decimal(0), Decimal(5)) for kind in CeilingKind]

    assert check(charge(0, 0, 0), (), ceilings) == ()


def test_the_message_names_the_ceiling_its_use_and_who_can_change_it() -> None:
    (found,) = check(charge(), (), [CeilingUse(CeilingKind.PERSON_DAY, Decimal(12), Decimal("2.5"), "vision")])

    assert found.message == (
        "The ceiling of the team vision for one person and day is $12.00. Requests of this person that run, or ended "
        "within a day, use $2.50, and this one can cost up to $10.00 if nobody but Google ends it."
    )
    assert "Only a site admin can change a ceiling." in found.remedy


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.integers(1, 9))
def test_many_jobs_pass_only_if_they_pass_together(each: Decimal, used: Decimal, limit: Decimal, jobs: int) -> None:
    ceiling = CeilingUse(CeilingKind.PERSON_DAY, limit, used)
    passes = not check(Charge(each, each, 0, jobs), (), [ceiling])

    assert passes == (each == 0 or each * jobs + used <= limit)
