"""Tests of what Compute Engine says, on the compose page: beside Spot, in the estimate, and to nobody else."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from jobs import known_advice
from jobs.models import AdviceReading, Job, Team
from tests.pages.conftest import SignIn, fields_of, text_in, text_of
from tests.support.advice_rows import answer_advice
from tests.support.clock import Clock

CHECK = "/jobs/new/check/"
GOOD = {"obtainability": 0.9, "uptime_seconds": 3600, "zones": []}
RATES = {"rates": [[f"2026-11-2{day}", 0.37] for day in range(7)]}


def answer(clock: Clock, method: str = "capacity", **columns: Any) -> None:
    """Store what Google said to the questions of a form."""
    known = {"due_at": None, "read_at": clock.now, "failed_at": None, "last_error": ""} | columns
    assert AdviceReading.objects.filter(method=method).update(**known)
    known_advice.forget()


def spot(page: str) -> str:
    return text_in(page, "strategy-spot-name")


def test_says_what_google_says_and_of_what(engineer: Client, example: dict[str, str], team: Team, clock: Clock) -> None:
    fields = example | {"run_time": "1 h"}
    page = engineer.post(CHECK, fields).content.decode()
    assert "Google is being asked" in spot(page)
    assert 'hx-trigger="load delay:2s"' in page
    assert {row.project for row in AdviceReading.objects.all()} == {team.project}

    answer(clock, answer=GOOD)
    clock.forward(minutes=3)
    page = engineer.post(CHECK, fields).content.decode()

    assert "Google: likely available, most run 1 h or more; 3 min ago" in spot(page)
    assert "Google" not in text_in(page, "strategy-standard-name")
    assert "about Spot VMs of your project, not about training on Vertex AI" in text_in(page, "advice")
    for score, words in ((0.5, "Google: may be available;"), (0.1, "Google: unlikely to be available;")):
        answer(clock, answer={"obtainability": score, "uptime_seconds": None, "zones": []})
        assert words in spot(engineer.post(CHECK, fields).content.decode())


def test_a_refusal_is_shown_as_one_and_escaped(engineer: Client, example: dict[str, str], clock: Clock) -> None:
    fields = example | {"run_time": "1 h"}
    engineer.post(CHECK, fields)
    answer(clock, read_at=None, failed_at=clock.now, last_error="<script>alert(1)</script> denied")

    page = engineer.post(CHECK, fields).content.decode()

    assert "Google: no answer" in spot(page)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; denied" in page
    engineer.post("/jobs/new/", fields | {"do": "submit"})
    assert Job.objects.count() == 1


def test_the_estimate_names_google_s_rates(engineer: Client, example: dict[str, str], clock: Clock) -> None:
    fields = example | {"run_time": "1 h", "strategy": "spot"}
    page = text_of(engineer.post(CHECK, fields))
    assert "Preemptions are assumed at the documented rate." in page

    answer(clock, "capacityHistory", answer=RATES)
    page = text_of(engineer.post(CHECK, fields))

    assert "documented rate." not in page
    assert "37% (37% to 37%) were preempted, over the last 7 days" in page
    clock.forward(hours=25)
    assert "Preemptions are assumed at the documented rate." in text_of(engineer.post(CHECK, fields))


def test_a_site_that_does_not_ask_says_so(engineer: Client, example: dict[str, str], settings: Any) -> None:
    settings.CAPACITY_ADVICE = False
    AdviceReading.objects.all().delete()

    page = engineer.post(CHECK, example | {"run_time": "1 h"}).content.decode()

    assert "Google" not in spot(page)
    assert "This site does not ask Google" in text_in(page, "advice")
    assert not AdviceReading.objects.exists()


def test_another_team_s_project_is_not_asked_about(
    engineer: Client, example: dict[str, str], stranger: User, signed_in: SignIn, team: Team, clock: Clock
) -> None:
    engineer.post(CHECK, example | {"run_time": "1 h"})
    answer(clock, answer=GOOD)
    browser = signed_in(stranger)
    fields = fields_of(browser.get("/jobs/new/?example=1").content.decode()) | {"run_time": "1 h"}

    page = browser.post(CHECK, fields | {"project": team.project}).content.decode()

    assert "likely available" not in page
    assert AdviceReading.objects.exclude(project=team.project).exists()
    assert AdviceReading.objects.filter(project=team.project).count() == 2


def test_the_page_of_machines_lists_the_answers_of_one_s_own_teams(
    engineer: Client, example: dict[str, str], stranger: User, signed_in: SignIn, team: Team, clock: Clock
) -> None:
    engineer.post(CHECK, example | {"run_time": "1 h"})
    address = f"/catalogue/?region={example['region']}"
    assert "Google is being asked" in text_of(engineer.get(address))
    answer_advice(error="<b>odd</b>")
    AdviceReading.objects.create(
        project=team.project, region="us-east1", method="capacity", machine_type="a3-highgpu-8g", asked_at=clock.now
    )

    page = engineer.get(address).content.decode()

    shown = text_in(page, "advice")
    assert "Google: likely available, most run 1 h or more; " in shown
    assert "37 % 37 % to 37 % in 7 days" in shown
    assert "<b>odd</b>" not in page
    assert "not about training on Vertex AI" in shown
    assert "a3-highgpu-8g" not in shown
    assert "Google says" not in text_of(signed_in(stranger).get(address))
