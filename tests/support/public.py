"""The users of a chaos test, who request jobs through the site's form and cancel some, whatever state the site is in.

A user who gets no response submits the same form again, as people do. Now and then a user submits a form twice although
the first response arrived.
"""

import heapq
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import requests

from tests.support import waiting
from tests.support.person import Form, Person, compose_form

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 600
"""Seconds for which a user retries before the test fails."""
PEOPLE = 4
KINDS = ("custom_job",) * 8 + ("training_pipeline", "hyperparameter_tuning_job")
CANCELLED, PRESSED_TWICE = 0.06, 0.05
"""Shares of all jobs."""
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
    """The fate of a job: the emulator's script, and after how many seconds it is cancelled, or None."""

    kind: str
    script: str
    cancelled_after: float | None
    is_pressed_twice: bool


def fate(number: int, seed: int, scripts: tuple[str, ...]) -> Fate:
    """Return the random fate of a job."""
    dice = random.Random(f"{seed} {number}")
    kind, script = dice.choice(KINDS), dice.choice(scripts)
    cancelled_after = dice.uniform(0, 600) if dice.random() < CANCELLED else None
    return Fate(kind, script, cancelled_after, dice.random() < PRESSED_TWICE)


class Public(threading.Thread):
    """Several users. `failure` is an error in one of their threads; `is_done` is set when they have finished."""

    def __init__(
        self, address: str, *, jobs: int, seed: int, scripts: tuple[str, ...], clock: Callable[[], datetime]
    ) -> None:
        super().__init__(name="public", daemon=True)
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
        """Act as one user: sign in, request jobs one after another, cancel some when they are due."""
        person = self._insist(lambda: Person(self._address).sign_in("engineer"))
        page = self._insist(lambda: person.open("/jobs/new/?example=1"))
        form = compose_form(page.text)
        regretted: list[tuple[float, str]] = []

        def cancel() -> bool:
            while regretted and regretted[0][0] <= self._clock().timestamp():
                token = {"csrfmiddlewaretoken": form.values["csrfmiddlewaretoken"]}
                self._post(person, f"{heapq.heappop(regretted)[1]}cancel/", token)
            return not regretted

        for number in numbers:
            job, one = self._request(person, form, number), self._fates[number]
            self._requested.append(job)
            if one.cancelled_after is not None:
                heapq.heappush(regretted, (self._clock().timestamp() + one.cancelled_after, job))
            cancel()
        waiting.until(cancel, seconds=PATIENCE_SECONDS, what="all is cancelled")
        person.close()

    def _request(self, person: Person, form: Form, number: int) -> str:
        """Send the form until the response is the job's page. Return the path of the page."""
        one = self._fates[number]
        changes = {"name": f"chaos-{number}", "request_key": f"chaos-{number}", "kind": one.kind, "run_time": "1 min"}
        changes |= {"labels": f"emulator_script={one.script}", "do": "submit"}
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
