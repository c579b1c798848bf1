"""Answers of Compute Engine to what forms have asked."""

from typing import Any

from django.db.models import F
from django.test import Client

from jobs import known_advice
from jobs.models import AdviceReading


def answer_advice(obtainability: float = 0.9, rate: float = 0.37, error: str = "503") -> None:
    """Store an answer to every question, as of when it was asked, and that a later question failed."""
    capacity = {"obtainability": obtainability, "uptime_seconds": 3600, "zones": ["us-central1-a"]}
    history = {"rates": [[f"2026-11-2{day}", rate] for day in range(7)]}
    offer = ["us-central1-a", "2026-12-10T08:00:00+00:00", "2026-12-17T08:00:00+00:00"]
    calendar = {"offers": [offer], "others": [["us-central1-b", "NO_CAPACITY"]]}
    answers = {"capacity": capacity, "capacityHistory": history, "calendarMode": calendar}
    for method, answer in answers.items():
        AdviceReading.objects.filter(method=method).update(
            answer=answer, read_at=F("asked_at"), failed_at=F("asked_at"), due_at=None, last_error=error
        )
    known_advice.forget()


def post_composed(client: Client, typed: dict[str, Any]) -> dict[str, Any]:
    """Post a composed job in each way that draws a part of the page, after Compute Engine has answered."""
    answer_advice()
    return {
        "/jobs/new/check/": client.post("/jobs/new/check/", typed),
        "POST /jobs/new/": client.post("/jobs/new/", typed | {"display_name": "", "region": ""}),
        "POST /jobs/new/ where": client.post("/jobs/new/", typed | {"do": "where"}),
        "POST /jobs/new/ calendar": client.post("/jobs/new/", typed | {"do": "calendar"}),
    }
