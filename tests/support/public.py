"""The users of a chaos test, who request jobs through the site's form and cancel some, whatever state the site is in.

Some jobs count to a budget that asks an approver, some have further attempts, and each user has a schedule.

A user who gets no response submits the same form again, as people do. Now and then a user submits a form twice although
the first response arrived.
"""

import heapq
import random
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

import requests

from tests.support import waiting
from tests.support.person import Form, Person, compose_form, csrf_of

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 600
"""Seconds for which a user retries before the test fails."""
PEOPLE = 4
KINDS = ("custom_job",) * 8 + ("training_pipeline", "hyperparameter_tuning_job")
CANCELLED, PRESSED_TWICE, ASKED, HAS_ATTEMPTS = 0.06, 0.05, 0.06, 0.1
"""Shares of all jobs."""
BUDGET_LABEL = "budget=small"
"""Jobs with this label exceed a budget, so an approver decides."""
CRON = "*/10 * * * *"
TUNING = {
    "metric_id": "accuracy",
    "max_trials": "2",
    "parallel_trials": "2",
    "parameter-0-parameter_id": "rate",
    "parameter-0-low": "0.001",
    "parameter-0-high": "0.1",
}


@dataclass(frozen=True)
class Fate:
    """The fate of a job: the emulator's script, and after how many seconds it is cancelled or approved, or None."""

    kind: str
    script: str
    cancelled_after: float | None
    approved_after: float | None
    is_pressed_twice: bool
    has_attempts: bool


def fate(number: int, seed: int, scripts: tuple[str, ...]) -> Fate:
    """Return the random fate of a job."""
    dice = random.Random(f"{seed} {number}")
    kind, script = dice.choice(KINDS), dice.choice(scripts)
    cancelled_after = dice.uniform(0, 600) if dice.random() < CANCELLED else None
    approved_after = dice.uniform(0, 300) if dice.random() < ASKED else None
    has_attempts = kind == "custom_job" and dice.random() < HAS_ATTEMPTS
    return Fate(kind, script, cancelled_after, approved_after, dice.random() < PRESSED_TWICE, has_attempts)


class Public(threading.Thread):
    """Several users. `failure` is an error in one of their threads; `is_done` is set when they have finished."""

    def __init__(
        self,
        address: str,
        *,
        jobs: int,
        seed: int,
        scripts: tuple[str, ...],
        clock: Callable[[], datetime],
        has_scheduled: Callable[[], bool],
    ) -> None:
        """`has_scheduled` tells whether a schedule has requested a job; nobody leaves before."""
        super().__init__(name="public", daemon=True)
        self._has_scheduled = has_scheduled
        self._address, self._clock = address, clock
        self._fates = [fate(number, seed, scripts) for number in range(jobs)]
        self._requested: list[str] = []
        self._is_over = threading.Event()
        self.failure: BaseException | None = None
        self.is_done = False
        self.failed_tries = 0

    @property
    def progress(self) -> float:
        """Share of the jobs that have been requested."""
        return len(self._requested) / len(self._fates)

    def stop(self) -> None:
        """Make the users stop."""
        self._is_over.set()
        self.join(timeout=60)

    def run(self) -> None:
        """Run each user with a share of the jobs."""
        try:
            with ThreadPoolExecutor(PEOPLE) as pool:
                for share in [
                    pool.submit(self._want, range(first, len(self._fates), PEOPLE)) for first in range(PEOPLE)
                ]:
                    share.result()
            self.is_done = True
        except BaseException as failure:  # noqa: BLE001 - raised again by the test's own thread
            self.failure = failure

    def _want(self, numbers: range) -> None:
        """Act as one user: sign in, request jobs one after another, cancel some when they are due.

        The user's approver answers what asks. The second job is also requested by a schedule until the end.
        """
        person, approver = (self._insist(partial(self._sign_in, name)) for name in ("engineer", "approver"))
        page = self._insist(lambda: person.open("/jobs/new/?example=1"))
        form = compose_form(page.text)
        token = {"csrfmiddlewaretoken": form.values["csrfmiddlewaretoken"]}
        page = self._insist(lambda: approver.open("/approvals/"))
        decision = {"csrfmiddlewaretoken": csrf_of(page.text), "decision": "approve", "comment": "go ahead"}
        planned: list[tuple[float, str, str]] = []
        schedule = ""

        def act() -> bool:
            while planned and planned[0][0] <= self._clock().timestamp():
                _, job, action = heapq.heappop(planned)
                self._post(
                    *((person, job + action, token) if action == "cancel/" else (approver, job + action, decision))
                )
            return not planned

        for number in numbers:
            job, one = self._request(person, form, number), self._fates[number]
            self._requested.append(job)
            for after, action in ((one.cancelled_after, "cancel/"), (one.approved_after, "decide/")):
                if after is not None:
                    heapq.heappush(planned, (self._clock().timestamp() + after, job, action))
            if number == numbers[1]:
                schedule = self._schedule(person, job, f"every {numbers[0]}", token)
            act()
        waiting.until(act, seconds=PATIENCE_SECONDS, what="all is cancelled and approved")
        waiting.until(self._has_scheduled, seconds=PATIENCE_SECONDS, what="a schedule has requested a job")
        self._post(person, f"{schedule}pause/", token)
        person.close()
        approver.close()

    def _sign_in(self, name: str) -> Person:
        return Person(self._address).sign_in(name)

    def _schedule(self, person: Person, job: str, name: str, token: dict[str, str]) -> str:
        """Request a job again at fixed times. Return the path of the schedule's page.

        If the answer to a try was lost, the next one is told that the name exists: the list then has the address.
        """
        fields = {"name": name, "cron": CRON, "time_zone": "UTC", "allows_overlap": "on", "do": "save"}
        path = f"/schedules/new/?job={job.removeprefix('/jobs/').rstrip('/')}"

        def save() -> str:
            url = self._address + path
            answer = person.session.post(
                url, fields | token, headers={"Referer": url}, timeout=20, allow_redirects=False
            )
            if answer.status_code == 302:
                return answer.headers["Location"]
            if answer.status_code < 500 and (
                found := re.search(rf'href="(/schedules/[-0-9a-f]+/)"[^>]*>{name}<', person.open("/schedules/").text)
            ):
                return found[1]
            raise requests.ConnectionError(f"{path} answered {answer.status_code}")

        return self._insist(save)

    def _request(self, person: Person, form: Form, number: int) -> str:
        """Send the form until the response is the job's page. Return the path of the page."""
        one = self._fates[number]
        changes = {"name": f"chaos-{number}", "request_key": f"chaos-{number}", "kind": one.kind, "run_time": "1 min"}
        labels = f"emulator_script={one.script}" + f"\n{BUDGET_LABEL}" * (one.approved_after is not None)
        changes |= {"labels": labels, "do": "submit"}
        changes |= {"then_1": "same", "then_2": "standard"} if one.has_attempts else {}
        changes |= TUNING if one.kind == "hyperparameter_tuning_job" else {}
        job = self._post(person, "/jobs/new/", form.values | changes)
        if one.is_pressed_twice:
            assert self._post(person, "/jobs/new/", form.values | changes) == job, "a second press made a second job"
        return job

    def _post(self, person: Person, path: str, values: dict[str, str]) -> str:
        """Send a form until the response is a redirect. Return its target."""

        def send() -> str:
            url = self._address + path
            answer = person.session.post(url, values, headers={"Referer": url}, timeout=20, allow_redirects=False)
            if answer.status_code >= 500:
                raise requests.ConnectionError(f"{path} answered {answer.status_code}")
            assert answer.status_code == 302, f"{path} answered {answer.status_code}:\n{answer.text}"
            return answer.headers["Location"]

        return self._insist(send)

    def _insist(self, attempt: Callable[[], Answer]) -> Answer:
        """Retry until the site responds."""

        def once() -> list[Answer]:
            assert not self._is_over.is_set(), "the test is over"
            try:
                return [attempt()]
            except requests.RequestException:
                self.failed_tries += 1
                return []

        return waiting.until(once, seconds=PATIENCE_SECONDS, every=0.2, what="the site answers")[0]
