"""Tests of "Where should this run?" on the compose page: what each region costs, has and forbids, and one click."""

import re
from datetime import timedelta

from django.contrib.auth.models import User
from django.test import Client

from jobs import known_advice
from jobs.catalog import CARBON, REGIONS, regions_with
from jobs.models import AdviceReading, Job, LearnedFigures, Policy, QuotaReading, Team
from jobs.models.figures import BY_LIKENESS
from tests.pages.conftest import SignIn, fields_of, text_in
from tests.support.advice_rows import answer_advice
from tests.support.clock import Clock

Fields = dict[str, str]


def table(browser: Client, fields: Fields, do: str = "where") -> str:
    answer = browser.post("/jobs/new/", fields | {"do": do})
    assert answer.status_code == 200
    return answer.content.decode()


def rows(page: str) -> dict[str, str]:
    """Return {region: the text of its row}."""
    found = page.partition('<table class="rows labelled regions">')[2].partition("</tbody>")[0]
    texts = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in found.split("</tr>")[1:-1]]
    return {text.split()[0]: text for text in texts}


def test_the_regions_with_the_accelerators_are_compared(
    engineer: Client, example: Fields, team: Team, clock: Clock
) -> None:
    fields = example | {"run_time": "2 h", "pool-0-machine_type": "a2-highgpu-1g"}
    assert "Compare the regions" in text_in(table(engineer, fields, do="check"), "where")

    shown = rows(table(engineer, fields))

    assert next(iter(shown)) == fields["region"]
    assert set(shown) <= set(regions_with("NVIDIA_TESLA_A100"))
    assert len(shown) == min(12, len(regions_with("NVIDIA_TESLA_A100")))
    assert all("$" in text or "unknown" in text for text in shown.values())
    assert sum(text.count("lowest") for text in shown.values()) >= 3
    assert "87 % 413 g CO₂e/kWh" in shown["us-central1"]
    assert AdviceReading.objects.values("region").distinct().count() == len(shown)
    assert {row.project for row in AdviceReading.objects.all()} == {team.project}


def test_quota_wait_and_advice_are_those_of_the_region(
    engineer: Client, example: Fields, team: Team, clock: Clock
) -> None:
    fields = example | {"run_time": "2 h", "pool-0-machine_type": "a2-highgpu-1g", "strategy": "spot"}
    first = rows(table(engineer, fields))
    other = list(first)[1]
    metric = "custom_model_training_preemptible_nvidia_a100_gpus"
    QuotaReading.objects.create(
        project=team.project, region=other, metric=metric, limit=8, used=8, quota_id="Q", read_at=clock.now
    )
    LearnedFigures.objects.create(
        team=team, strategy="spot", region=other, machine="a2-highgpu-1g", program="", hour=BY_LIKENESS, tunes=False,
        month=clock.now.date().replace(day=1), waits=3, wait_logs=3 * 6400, wait_squares=3 * 6400**2,
    )  # fmt: skip
    answer_advice(obtainability=0.2, error="")
    AdviceReading.objects.filter(region=other, method="capacity").update(
        answer={"obtainability": 0.8, "uptime_seconds": 600, "zones": []}
    )

    shown = rows(table(engineer, fields))

    assert "0 of 8 needs 1" in shown[other]
    assert "3 jobs" in shown[other]
    assert "Google: likely available, most run 10 min or more" in shown[other]
    assert "37 % preempted" in shown[other]
    assert "Google: unlikely to be available" in shown[fields["region"]]
    assert "0 of 8" not in shown[fields["region"]]


def test_one_click_chooses_and_requests_nothing(engineer: Client, example: Fields) -> None:
    fields = example | {"run_time": "2 h"}
    other = list(rows(table(engineer, fields)))[1]

    page = table(engineer, fields, do=f"region_{other}")

    assert fields_of(page)["region"] == other
    assert next(iter(rows(page))) == other
    assert not Job.objects.exists()
    # Whatever the button says is a region of the form, or nothing.
    page = table(engineer, fields, do="region_<script>")
    assert "region_<script>" not in page
    assert fields_of(page)["region"] == fields["region"]


def test_what_forbids_a_region_is_said(engineer: Client, example: Fields, team: Team) -> None:
    Policy.objects.filter(team=team).update(regions=["us-central1"])
    fields = example | {"run_time": "2 h"}

    page = table(engineer, fields)
    shown = rows(page)

    assert "Choose" not in shown["us-central1"]
    others = [text for name, text in shown.items() if name != "us-central1"]
    assert others
    assert all("Choose" not in text for text in others)
    assert all("The team may not use" in text for text in others)


def test_without_a_run_time_there_is_no_table(engineer: Client, example: Fields) -> None:
    page = table(engineer, example | {"run_time": ""})

    assert not rows(page)
    assert "give the run time" in text_in(page, "where")


def test_a_stranger_s_table_has_nothing_of_the_project(
    engineer: Client, example: Fields, stranger: User, signed_in: SignIn, team: Team, clock: Clock
) -> None:
    table(engineer, example | {"run_time": "2 h"})
    answer_advice()
    browser = signed_in(stranger)
    fields = fields_of(browser.get("/jobs/new/?example=1").content.decode()) | {"run_time": "2 h"}

    page = table(browser, fields | {"project": team.project})

    assert "likely available" not in page
    assert clock.now - timedelta(days=1) < AdviceReading.objects.latest("asked_at").asked_at


def test_every_region_has_its_figures_on_electricity() -> None:
    assert set(CARBON) == set(REGIONS)
    assert all(0 <= each.carbon_free_share <= 1 <= each.grams_per_kwh < 1_000 for each in CARBON.values())
    assert {(each.year, each.source[:39]) for each in CARBON.values()} == {
        (2024, "GoogleCloudPlatform/region-carbon-info,")
    }


def dates_of(browser: Client, fields: Fields, days: str = "7") -> str:
    return text_in(table(browser, fields | {"calendar_days": days}, do="calendar"), "where")


class TestCalendar:
    """Dates on which machines could be reserved."""

    def test_tells_dates_and_the_command_and_reserves_nothing(
        self, engineer: Client, example: Fields, team: Team, clock: Clock
    ) -> None:
        fields = example | {"run_time": "2 h", "pool-0-machine_type": "a3-highgpu-8g", "pool-0-replicas": "2"}
        assert "Google is being asked" in dates_of(engineer, fields)
        offer = ["us-central1-a", "2026-12-10T08:00:00+00:00", "2026-12-17T08:00:00+00:00"]
        rows = AdviceReading.objects.filter(method="calendarMode")
        assert list(rows.values_list("machine_type", "size", "days", "project")) == [
            ("a3-highgpu-8g", 2, 7, team.project)
        ]
        others = [["us-central1-b", "NO_CAPACITY"], ["us-central1-c", "<b>NEW</b>"]]
        rows.update(answer={"offers": [offer], "others": others}, read_at=clock.now, due_at=None)
        known_advice.forget()

        page = table(engineer, fields | {"calendar_days": "7"}, do="calendar")
        shown = text_in(page, "where")

        assert (
            f"gcloud compute future-reservations create a3-highgpu-8g-2026-12-10 --project={team.project}"
            " --zone=us-central1-a --machine-type=a3-highgpu-8g --total-count=2 --start-time=2026-12-10T08:00:00Z"
            " --end-time=2026-12-17T08:00:00Z --reservation-mode=CALENDAR"
        ) in shown
        assert "Trainboard reserves and buys nothing." in shown
        assert "us-central1-b: no capacity in the next 60 days" in shown
        assert "<b>NEW" not in page
        assert not Job.objects.exists()

    def test_odd_days_are_bounded(self, engineer: Client, example: Fields) -> None:
        fields = example | {"run_time": "2 h", "pool-0-machine_type": "a3-highgpu-8g"}
        for days in ("", "0", "-5", "1000", "9" * 5_000, "<b>", "２"):
            assert "for" in dates_of(engineer, fields, days)

        found = AdviceReading.objects.filter(method="calendarMode").values_list("days", flat=True)
        assert set(found) <= {7, 90}

    def test_a_refusal_is_shown(self, engineer: Client, example: Fields, clock: Clock) -> None:
        fields = example | {"run_time": "2 h", "pool-0-machine_type": "a3-highgpu-8g"}
        dates_of(engineer, fields)
        AdviceReading.objects.filter(method="calendarMode").update(
            failed_at=clock.now, due_at=None, last_error="no <i>permission</i>"
        )
        known_advice.forget()

        assert "Google gave no answer: no <i>permission</i>" in dates_of(engineer, fields).replace("&lt;", "<")

    def test_attached_accelerators_are_not_asked_about(self, engineer: Client, example: Fields) -> None:
        attached = {"pool-0-accelerator_type": "NVIDIA_TESLA_T4", "pool-0-accelerator_count": "1"}

        shown = dates_of(engineer, example | {"run_time": "2 h", "pool-0-machine_type": "n1-standard-8"} | attached)

        assert "one machine type with GPUs of its own" in shown
        assert not AdviceReading.objects.filter(method="calendarMode").exists()
