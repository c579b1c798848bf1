"""Tests of Compute Engine's advice: read from the emulator on request, bounded, and never needed by a job."""

from datetime import timedelta
from typing import Any

import pytest

from jobs import known_advice
from jobs.cost.advice import Method, Question, Vms
from jobs.known_advice import known_advice as known
from jobs.models import AdviceReading, Job, Team, Upkeep
from jobs.upkeep import advice_reading
from jobs.vertex import PlatformClient, Timeout
from tests.domain.conftest import Cloud, RequestJob

REGION, PROJECT = "us-central1", "vision-research"
A100 = Vms("a2-highgpu-1g")
ODD: list[Any] = [1.5, -0.1, "no", True, None, []]
CAPACITY, HISTORY = (Question(REGION, each, A100) for each in (Method.CAPACITY, Method.HISTORY))


def read(cloud: Cloud, *questions: Question) -> known_advice.Known:
    """Ask, let a worker read, and return what is known then."""
    known(PROJECT, questions, now=cloud.now)
    advice_reading.read_when_due(cloud.now)
    return known(PROJECT, questions, now=cloud.now)


def calls(cloud: Cloud) -> int:
    return sum(count for method, count in cloud.calls().items() if method.startswith("advice."))


def test_capacity_and_history_are_read_and_kept(cloud: Cloud, team: Team) -> None:
    cloud.capacity({"spot": {REGION: {"NVIDIA_TESLA_A100": 0}}})

    first = known(PROJECT, [CAPACITY, HISTORY], now=cloud.now)
    assert first.is_asked
    assert all(each.is_awaited and each.answer is None for each in first.advice.values())
    found = read(cloud, CAPACITY, HISTORY)

    capacity, history = found.advice[CAPACITY], found.advice[HISTORY]
    assert (capacity.obtainability, capacity.uptime_seconds, capacity.error) == (0.1, 3600, "")
    assert history.rates == [0.05] * 7
    assert not found.is_asked
    assert calls(cloud) == 2
    cloud.forward(minutes=4)
    assert not read(cloud, CAPACITY, HISTORY).is_asked
    cloud.forward(minutes=2)
    assert known(PROJECT, [CAPACITY, HISTORY], now=cloud.now).is_asked
    assert list(AdviceReading.objects.filter(due_at__isnull=False).values_list("method", flat=True)) == ["capacity"]
    # The last answer is shown meanwhile.
    assert known(PROJECT, [CAPACITY], now=cloud.now).advice[CAPACITY].obtainability == 0.1


@pytest.mark.parametrize(
    ("kind", "words"),
    [("403", "Permission denied"), ("429", "requests per minute"), ("503", "unavailable"), ("html", "503"),
     ("reset", "broke")],
)  # fmt: skip
def test_a_refusal_is_kept_as_such_and_not_repeated_at_once(cloud: Cloud, team: Team, kind: str, words: str) -> None:
    cloud.fail("advice.*", kind)

    found, other = (read(cloud, CAPACITY, HISTORY).advice[each] for each in (CAPACITY, HISTORY))

    assert found.answer is None
    assert words in found.error
    assert other.error == found.error, "a refusal is that of the project, so nothing else is asked about it"
    assert not found.is_awaited
    assert calls(cloud) == 0
    assert words in Upkeep.objects.get(name=advice_reading.UPKEEP).last_error
    cloud.forward(minutes=9)
    assert not known(PROJECT, [CAPACITY], now=cloud.now).is_asked
    cloud.forget_faults()
    cloud.forward(minutes=2)
    assert read(cloud, CAPACITY).advice[CAPACITY].error == ""


def test_an_unknown_machine_does_not_keep_others_from_being_asked_about(cloud: Cloud, team: Team) -> None:
    other = Question(REGION, Method.CAPACITY, Vms("a9-huge-1"))

    found = read(cloud, other, CAPACITY).advice

    assert "a9-huge-1" in found[other].error
    assert found[CAPACITY].obtainability == 0.9


@pytest.mark.parametrize(
    "answer",
    [{}, {"recommendations": []}, {"recommendations": [{"scores": {}}]}, {"recommendations": 7},
     *({"recommendations": [{"scores": {"obtainability": each}}]} for each in ODD),
     {"recommendations": ["<script>"]}],
)  # fmt: skip
def test_nonsense_is_an_error_of_its_question_alone(
    cloud: Cloud, team: Team, answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.vertex.platform.PlatformClient._send", lambda *_, **__: answer)

    found = read(cloud, CAPACITY, HISTORY).advice

    assert "cannot use" in found[CAPACITY].error
    assert "cannot use" in found[HISTORY].error
    assert found[CAPACITY].answer is None


def test_a_cut_answer_is_an_error_of_its_question_alone(cloud: Cloud, team: Team) -> None:
    cloud.fail("advice.capacity", "truncated")

    found = read(cloud, CAPACITY, HISTORY).advice

    assert found[CAPACITY].error
    assert found[HISTORY].rates


def test_a_slow_answer_is_not_waited_for(
    cloud: Cloud, team: Team, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = PlatformClient(endpoint=settings.VERTEX_ENDPOINT, timeout=Timeout(connect=1, read=0.2, total=0.2))
    monkeypatch.setattr(advice_reading, "platform_client", lambda _: quick)
    cloud.fail("advice.*", "slow", times=9, seconds=2)

    found = read(cloud, CAPACITY, HISTORY).advice

    assert "Compute Engine" in found[CAPACITY].error
    assert found[HISTORY].error == found[CAPACITY].error


def test_a_failed_question_keeps_the_answer_until_it_is_old(cloud: Cloud, team: Team) -> None:
    read(cloud, CAPACITY)
    cloud.forward(minutes=10)
    cloud.fail("advice.*", "503", times=9)

    found = read(cloud, CAPACITY).advice[CAPACITY]
    assert (found.obtainability, bool(found.error)) == (0.9, True)
    cloud.forward(minutes=51)
    found = known(PROJECT, [CAPACITY], now=cloud.now).advice[CAPACITY]
    assert (found.obtainability, bool(found.error)) == (None, True)


def test_a_site_may_not_ask(cloud: Cloud, team: Team, settings: Any) -> None:
    settings.CAPACITY_ADVICE = False

    assert known(PROJECT, [CAPACITY], now=cloud.now) == known_advice.Known()
    assert advice_reading.ask_about_used(cloud.now) == 0
    assert not AdviceReading.objects.exists()


def test_questions_are_bounded_per_minute_and_in_number(
    cloud: Cloud, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_advice, "MAX_KEPT", 50)
    for minute in range(3):
        wanted = [CAPACITY._replace(vms=A100._replace(size=100 * minute + each + 1)) for each in range(60)]
        known(PROJECT, wanted, now=cloud.forward(minutes=1))
        assert AdviceReading.objects.filter(asked_at=cloud.now).count() == known_advice.MAX_ASKED_A_MINUTE

    assert AdviceReading.objects.count() == 50
    assert known("other-project", [CAPACITY], now=cloud.now).is_asked


def test_the_machines_of_recent_jobs_are_asked_about(cloud: Cloud, request_job: RequestJob) -> None:
    job = request_job()
    assert advice_reading.ask_about_used(cloud.now) == 1
    advice_reading.read_when_due(cloud.now)

    rows = AdviceReading.objects.filter(read_at__isnull=False)
    assert {(row.project, row.region, row.method) for row in rows} == {
        (job.project, job.region, "capacity"), (job.project, job.region, "capacityHistory"),
    }  # fmt: skip
    assert Upkeep.objects.get(name=advice_reading.UPKEEP).result == {"questions": 2}
    Job.objects.update(requested_at=cloud.now - timedelta(days=8))
    assert not advice_reading.used_recently(cloud.now).exists()
