"""Tests of races between approvers: nobody votes twice, and no job proceeds with fewer votes than policy requires."""

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs import requests
from jobs.models import Approval, Job, Team, Vote
from jobs.policy_rules import Rule
from jobs.requests.policy_versions import Terms, save_policy
from jobs.upkeep.audit import audit
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
IS_POSTGRES = os.environ.get("DATABASE_URL", "").startswith("postgres")
RACES = int(os.environ.get("TRAINBOARD_TEST_RACES", "100" if IS_POSTGRES else "20"))
"""A thousand take some minutes."""


def test_no_vote_counts_twice_and_no_job_goes_on_with_too_few(
    request_job: RequestJob, team: Team, approver: User, clock: Clock
) -> None:
    voters = [approver, *(person(f"voter-{number}", team, "approver") for number in range(3))]
    save_policy(
        team, [Rule(outcome="ask", cost_over="1", approvals=2)], Terms(),
        base=0, by=person("lead", team, "lead"), note="", now=clock.now,
    )  # fmt: skip
    chance, decided = random.Random(15), 0
    with ThreadPoolExecutor(3) as pool:
        for _ in range(RACES):
            job = request_job(hours=10)
            people = [chance.choice(voters) for _ in range(3)]
            answers = _race(pool, job, people, lambda: chance.random() < 0.1, clock)
            decided += _judge(job, people, answers)
        _close(pool)

    assert decided > RACES / 3
    assert list(audit(clock.now)) == []


def _race(
    pool: ThreadPoolExecutor, job: Job, people: list[User], is_rejection: Callable[[], bool], clock: Clock
) -> list[bool]:
    """Let three people answer at the same moment; return whose answers counted."""
    barrier, rejections = Barrier(len(people)), [is_rejection() for _ in people]

    def answer(which: int) -> bool:
        own = Job.objects.get(pk=job.pk)
        barrier.wait()
        if rejections[which]:
            return requests.reject(own, by=people[which], comment="no", now=clock.now)
        return requests.approve(own, by=people[which], comment="", now=clock.now)

    return list(pool.map(answer, range(len(people))))


def _close(pool: ThreadPoolExecutor) -> None:
    """Close the connection of each thread of the pool."""
    barrier = Barrier(3)

    def close(_: int) -> None:
        barrier.wait()
        connection.close()

    list(pool.map(close, range(3)))


def _judge(job: Job, people: list[User], answers: list[bool]) -> bool:
    """Check one race. Return whether it decided the job."""
    votes = list(Vote.objects.filter(job=job))
    approved = [vote for vote in votes if vote.decision == "approved"]
    state = Job.objects.get(pk=job.pk).state
    assert len(votes) == sum(answers) == len({vote.voter_id for vote in votes})
    assert len({vote.counts_for_id for vote in votes}) == len(votes)
    assert (state == "approved") == (len(approved) >= 2)
    assert job.events.filter(to_state__in=["approved", "rejected"]).count() == (state != "awaiting_approval")
    assert Approval.objects.get(job=job).decision == (state if state != "awaiting_approval" else "")
    return state != "awaiting_approval"


def test_no_job_goes_on_before_every_group_has_approved(request_job: RequestJob, team: Team, clock: Clock) -> None:
    """One of two leads has to agree and one of two who are named, of whom one is a lead."""
    leads = [person(name, team, "lead") for name in ("lena", "omar")]
    voters = [person("sam", team, "approver"), *leads]
    rule = {"role": "lead", "further": [{"approvers": ["sam", "lena"]}]}
    rules = [Rule.model_validate({"outcome": "ask", "cost_over": "1"} | rule)]
    save_policy(team, rules, Terms(), base=0, by=leads[0], note="", now=clock.now)
    chance, decided = random.Random(16), 0
    with ThreadPoolExecutor(3) as pool:
        for _ in range(RACES // 2):
            job = request_job(hours=10)
            people = [chance.choice(voters) for _ in range(3)]
            answers = _race(pool, job, people, lambda: False, clock)
            names = set(Vote.objects.filter(job=job).values_list("voter__username", flat=True))
            is_enough = bool(names & {"lena", "omar"}) and bool(names & {"sam", "lena"})
            assert (Job.objects.get(pk=job.pk).state == "approved") == is_enough
            assert sum(answers) == Vote.objects.filter(job=job).count()
            assert job.events.filter(to_state="approved").count() == is_enough
            decided += is_enough
        _close(pool)

    assert decided > RACES / 6
    assert list(audit(clock.now)) == []
