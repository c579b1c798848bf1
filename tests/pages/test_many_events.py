"""Tests of a job with very many events: its page stays small, and every event can be reached."""

import html
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, JobEvent
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

COUNT = 2_500
MAX_BYTES = 150_000
Kind = JobEvent.Kind


@pytest.fixture
def long(make_job: MakeJob, clock: Clock) -> Job:
    """A running job with COUNT failed steps, of which every tenth was a restart of its replica, one each second."""
    job = make_job("running", name="resnet")
    JobEvent.objects.bulk_create(
        JobEvent(
            job=job,
            kind=Kind.STEP_FAILED if number % 10 else Kind.RESTARTED,
            occurred_at=clock.now + timedelta(seconds=number),
            recorded_at=clock.now + timedelta(seconds=number),
            message=f"Number {number:04d} happened.",
            reason="" if number % 10 else "preempted",
            detail={} if number % 10 else {"replica": "workerpool0-0"},
            once_key=f"many:{number}",
        )
        for number in range(COUNT)
    )
    clock.forward(seconds=COUNT)
    return job


def numbers(page: str) -> list[str]:
    table = page.partition('aria-label="Events"')[2]
    return re.findall(r"Number (\d{4}) happened", table.partition("</table>")[0])


def test_the_page_and_its_live_part_are_small(long: Job, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)

    for address in (f"/jobs/{long.pk}/", f"/jobs/{long.pk}/live/"):
        page = client.get(address).content

        assert len(page) <= MAX_BYTES
        assert numbers(page.decode()) == [f"{number:04d}" for number in range(COUNT - 1, COUNT - 101, -1)]


def test_older_events_lead_through_all_of_them_once(long: Job, owner: User, signed_in: SignIn) -> None:
    client, address, found = signed_in(owner), f"/jobs/{long.pk}/", list[str]()

    while address:
        page = client.get(address).content.decode()
        found += numbers(page)
        older = re.search(r'href="([^"]+)">Older events', page)
        address = html.unescape(older[1]) if older else ""

    assert found == [f"{number:04d}" for number in reversed(range(COUNT))]
    assert "It is submitting now." in page, "the last page holds the first events"


def test_alike_events_in_a_row_are_counted_over_a_whole_page(long: Job, owner: User, signed_in: SignIn) -> None:
    JobEvent.objects.bulk_create(
        JobEvent(
            job=long, kind=Kind.STEP_FAILED, occurred_at=long.state_since + timedelta(days=1, seconds=number),
            recorded_at=long.state_since, message="It timed out.", once_key=f"same:{number}",
        )
        for number in range(400)
    )  # fmt: skip

    assert "It timed out. 400 times." in text_of(signed_in(owner).get(f"/jobs/{long.pk}/"))


def test_json_leads_through_all_of_them_once(long: Job, owner: User, signed_in: SignIn) -> None:
    client, before, keys = signed_in(owner), "", list[str]()

    while before is not None:
        answer = client.get(f"/jobs/{long.pk}/events.json", {"before": before}).json()
        keys = [event["occurred_at"] + event["message"] for event in answer["events"]] + keys
        before = answer["older"]

    assert len(keys) == len(set(keys)) == long.events.count()
    assert keys == sorted(keys)


def test_the_timeline_keeps_the_first_and_the_newest_restarts(
    long: Job, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    JobEvent.objects.bulk_create(
        JobEvent(
            job=long, kind=Kind.RESTARTED, occurred_at=clock.now + timedelta(seconds=number), recorded_at=clock.now,
            message=f"Restart {number}.", reason="preempted", once_key=f"restart:{number}",
        )
        for number in range(400)
    )  # fmt: skip

    page = signed_in(owner).get(f"/jobs/{long.pk}/")

    assert len(page.content) <= MAX_BYTES
    assert "Restart 399." in text_of(page)
    assert "submitting" in text_of(page), "the way to its start is told"


def test_a_stranger_finds_nothing(long: Job, stranger: User, signed_in: SignIn) -> None:
    for below in ("", "events/", "events.json", "live/"):
        assert signed_in(stranger).get(f"/jobs/{long.pk}/{below}").status_code == 404
