"""Tests of the log on a job's page: filters by attempt and replica, late lines, text, and lines that are not kept."""

import re
import shlex

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs import transitions
from jobs.models import Job, JobEvent
from jobs.states import JobState
from jobs.timeline import ATTEMPT_BEGINS
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock
from tests.support.written_log import SPOT, Log, at, poll, shown


class TestAttempts:
    def test_a_line_tells_where_one_begins_and_why(self, restarted: Log, owner: User, signed_in: SignIn) -> None:
        assert shown(signed_in(owner).get(at(restarted.job))) == [
            "Attempt 1", ATTEMPT_BEGINS, "epoch 1", "batch a", "saved while being stopped",
            f"Attempt 2 — {SPOT}, after 4 min without machines", ATTEMPT_BEGINS, "epoch 2", "batch b",
        ]  # fmt: skip

    def test_says_since_when_there_are_no_machines(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(10, "epoch 1")
        log.move(60, JobState.PENDING)
        log.restart(60, is_certain=False)
        log.write(60, ATTEMPT_BEGINS, "service")

        page = shown(signed_in(owner).get(at(log.job)))

        assert page[2] == f"Attempt 2 — most likely {SPOT}, waiting for machines since 09:01:40 UTC"

    def test_a_cause_that_is_learned_later_is_told(self, restarted: Log, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        page = client.get(at(restarted.job))
        event = restarted.job.events.get(kind="restarted")
        transitions.record_event(
            restarted.job, JobEvent.Kind.EXPLAINED, now=restarted.clock.now, reason="internal", message="Learned.",
            once_key="explained", detail={"restart": event.once_key},
        )  # fmt: skip

        answer = poll(client, page)

        assert answer["HX-Retarget"] == "#log"
        assert answer["HX-Reswap"] == "outerHTML"
        assert "Attempt 2 — internal error of Vertex AI, after 4 min without machines" in shown(answer)

    @pytest.mark.parametrize(
        ("query", "messages"),
        [
            ({"attempt": "1"}, [ATTEMPT_BEGINS, "epoch 1", "batch a", "saved while being stopped"]),
            ({"attempt": "2"}, [ATTEMPT_BEGINS, "epoch 2", "batch b"]),
            ({"attempt": "2", "replica": "workerpool1-0"}, ["batch b"]),
            ({"replica": "service"}, [ATTEMPT_BEGINS, ATTEMPT_BEGINS]),
            ({"attempt": "2.1", "replica": "workerpool1-0"}, ["batch b"]),
            ({"attempt": "2.7", "replica": "workerpool0-0"}, ["epoch 2"]),
        ],
    )
    def test_attempt_and_replica_are_chosen_together(
        self, restarted: Log, owner: User, signed_in: SignIn, query: dict[str, str], messages: list[str]
    ) -> None:
        page = shown(signed_in(owner).get(at(restarted.job), query))

        assert [each for each in page if not each.startswith("Attempt")] == messages

    @pytest.mark.parametrize(
        "query", [{"attempt": "9"}, {"attempt": "x"}, {"replica": "nobody"}, {"attempt": "1 OR 1"}]
    )
    def test_what_the_address_names_wrongly_counts_as_not_named(
        self, restarted: Log, owner: User, signed_in: SignIn, query: dict[str, str]
    ) -> None:
        client = signed_in(owner)

        assert shown(client.get(at(restarted.job), query)) == shown(client.get(at(restarted.job)))

    def test_a_job_without_restarts_has_no_such_choice(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "epoch 1")
        log.write(2, ATTEMPT_BEGINS, "service")
        client = signed_in(owner)

        page = client.get(at(log.job))

        assert 'name="attempt"' not in page.content.decode()
        assert shown(page) == ["epoch 1", ATTEMPT_BEGINS]

    def test_a_replica_that_was_started_again_has_starts(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "one", "workerpool1-0")
        log.write(2, "steady")
        log.write(5, "The replica workerpool1-0 exited with a non-zero status of 1.", "service", "ERROR")
        log.restart(5, "worker_exit", replica="workerpool1-0", exit_code=1)
        log.write(6, "two", "workerpool1-0")
        client = signed_in(owner)

        every = client.get(at(log.job))
        theirs = client.get(at(log.job), {"replica": "workerpool1-0"})
        second = client.get(at(log.job), {"replica": "workerpool1-0", "attempt": "1.2"})

        assert shown(every)[-2:] == ["workerpool1-0 restarted, start 2: it had ended with exit code 1", "two"]
        assert 'name="attempt"' not in every.content.decode()
        assert '<option value="1.2">attempt 1, start 2</option>' in theirs.content.decode()
        assert shown(second) == ["workerpool1-0 restarted, start 2: it had ended with exit code 1", "two"]

    def test_what_can_be_chosen_is_named(self, restarted: Log, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get(at(restarted.job), {"attempt": "2"}).content.decode()

        assert f'<option value="2" selected>attempt 2: {SPOT}</option>' in page
        assert '<option value="service">service (Vertex AI)</option>' in page

    def test_the_address_of_the_page_names_what_was_chosen(
        self, restarted: Log, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)

        answer = client.get(at(restarted.job), {"attempt": "2", "replica": "service"})

        assert answer["HX-Replace-Url"] == f"/jobs/{restarted.job.pk}/?replica=service&attempt=2"
        assert shown(client.get(answer["HX-Replace-Url"])) == shown(answer)

    def test_a_trial_is_chosen_with_all_its_replicas(
        self, make_job: MakeJob, clock: Clock, owner: User, signed_in: SignIn
    ) -> None:
        log = Log(make_job("running", kind="hyperparameter_tuning_job", hours=0.01), clock)
        for number in (1, 2, 10):
            log.write(number, f"of {number}", f"trial {number} workerpool0-0")
            log.write(number + 0.5, "Job is running.", f"trial {number} service")
        client = signed_in(owner)

        page = client.get(at(log.job), {"replica": "trial 1"})

        assert shown(page) == ["of 1", "Job is running."]
        options = re.findall(r'<option value="(trial[^"]*)"', page.content.decode())
        assert options[:4] == ["trial 1", "trial 2", "trial 10", "trial 1 service"]

    def test_a_trial_that_wrote_nothing_shows_nothing_of_others(
        self, make_job: MakeJob, clock: Clock, owner: User, signed_in: SignIn
    ) -> None:
        log = Log(make_job("running", kind="hyperparameter_tuning_job", hours=0.01), clock)
        log.write(1, "of 1", "trial 1 workerpool0-0")
        Job.objects.filter(pk=log.job.pk).update(log_sources={"7": "trial 1", "8": "trial 2"})

        page = signed_in(owner).get(at(log.job), {"replica": "trial 2"})

        assert shown(page) == []
        assert "No lines yet." in text_of(page)


class TestWhoSees:
    @pytest.mark.parametrize("below", ["log/", "log/new/", "log.txt"])
    def test_a_stranger_learns_nothing(self, log: Log, stranger: User, signed_in: SignIn, below: str) -> None:
        log.write(1, "secret")

        assert signed_in(stranger).get(at(log.job, below)).status_code == 404


class TestText:
    def test_holds_every_kept_line_with_what_begins_there(self, restarted: Log, owner: User, signed_in: SignIn) -> None:
        for number in range(300):
            restarted.write(400 + number, f"line {number}")

        answer = signed_in(owner).get(at(restarted.job, "log.txt"))

        lines = answer.content.decode().splitlines()
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        assert answer["Content-Disposition"] == f'attachment; filename="log-{restarted.job.pk}.txt"'
        assert len(lines) == 2 + 7 + 300
        assert lines[:3] == [
            "# Attempt 1",
            f"2026-03-02T09:00:40.000000Z INFO service {ATTEMPT_BEGINS}",
            "2026-03-02T09:00:50.000000Z INFO workerpool0-0 epoch 1",
        ]
        assert lines[5] == f"# Attempt 2 — {SPOT}, after 4 min without machines"

    def test_follows_the_filters_and_they_part_the_log(self, restarted: Log, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        def lines(**query: str) -> list[str]:
            text = client.get(at(restarted.job, "log.txt"), query).content.decode()
            return [line for line in text.splitlines() if not line.startswith("#")]

        replicas = ("service", "workerpool0-0", "workerpool1-0")
        parts = [lines(attempt=attempt, replica=replica) for attempt in ("1", "2") for replica in replicas]
        assert sorted(line for part in parts for line in part) == sorted(lines())
        assert all(parts)


class TestWhatIsNotKept:
    def test_says_from_when_on_all_lines_are_kept(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "one")
        client = signed_in(owner)
        assert "not all kept here" not in text_of(client.get(at(log.job)))

        Job.objects.filter(pk=log.job.pk).update(log_kept_from=log.at(1))

        text = text_of(client.get(at(log.job)))
        assert "Not all lines before 2 Mar 2026, 09:00:41 UTC are kept here." in text
        assert "The whole log with gcloud" not in text, "nobody knows yet where it is"

    def command(self, client: Client, job: Job, **query: str) -> list[str]:
        page = client.get(at(job), query)
        found = re.search(r'id="log-command"[^>]*>(.*?)</pre>', page.content.decode(), re.S)
        assert found
        return shlex.split(
            found[1].replace("&#x27;", "'").replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<")
        )

    def test_a_command_reads_the_same_from_cloud_logging(self, restarted: Log, owner: User, signed_in: SignIn) -> None:
        Job.objects.filter(pk=restarted.job.pk).update(log_sources={"4711": ""})
        client = signed_in(owner)

        whole = self.command(client, restarted.job)
        part = self.command(client, restarted.job, attempt="1", replica="workerpool1-0")

        assert whole[:3] == part[:3] == ["gcloud", "logging", "read"]
        assert whole[3] == (
            'resource.type="ml_job" AND resource.labels.job_id=("4711") AND timestamp>="2026-03-02T09:00:20.000000Z"'
        )
        assert part[3] == (
            'resource.type="ml_job" AND resource.labels.job_id=("4711") AND resource.labels.task_name="workerpool1-0"'
            ' AND timestamp>="2026-03-02T09:00:20.000000Z" AND timestamp<"2026-03-02T09:01:42.000000Z"'
        )
        assert "--project=vision-research" in whole

    def test_of_a_trial_under_its_own_number(
        self, make_job: MakeJob, clock: Clock, owner: User, signed_in: SignIn
    ) -> None:
        log = Log(make_job("running", kind="hyperparameter_tuning_job", hours=0.01), clock)
        log.write(1, "x", "trial 2 workerpool0-0")
        Job.objects.filter(pk=log.job.pk).update(log_sources={"7": "trial 1", "8": "trial 2"})
        client = signed_in(owner)

        assert 'job_id=("7" OR "8")' in self.command(client, log.job)[3]
        assert 'job_id=("8") AND timestamp' in self.command(client, log.job, replica="trial 2")[3]
        one = self.command(client, log.job, replica="trial 2 workerpool0-0")[3]
        assert 'job_id=("8") AND resource.labels.task_name="workerpool0-0"' in one
