"""Tests of races between an approval, a change of strategy and the requester's answer."""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs import requests
from jobs.models import Approval, Job, Team, Vote
from jobs.upkeep.audit import audit
from tests.conftest import person
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock
from tests.support.ledger import check_ledger

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
IS_POSTGRES = os.environ.get("DATABASE_URL", "").startswith("postgres")
RACES = int(os.environ.get("TRAINBOARD_TEST_RACES", "60" if IS_POSTGRES else "15"))


def test_what_is_approved_is_what_was_voted_for(
    request_job: RequestJob, team: Team, owner: User, approver: User, clock: Clock
) -> None:
    second, third = person("second", team, "approver"), person("third", team, "approver")
    chance, approved, barrier = random.Random(7), 0, Barrier(3)

    def act(which: int) -> bool:
        own = Job.objects.get(pk=job.pk)
        barrier.wait()
        if which == 0:
            strategy = chance.choice(["standard", "flex_start"])
            try:
                return requests.approve_as(own, strategy, by=second, comment="", now=clock.now)
            except requests.Changed:  # the requester was first and keeps Standard
                return False
        if which == 1:
            return requests.approve(own, by=third, comment="", now=clock.now)
        answer = requests.accept_change if chance.random() < 0.7 else requests.keep_request
        return answer(own, by=owner, now=clock.now)

    def close(_: int) -> None:
        barrier.wait()
        connection.close()

    with ThreadPoolExecutor(3) as pool:
        for _ in range(RACES):
            job = request_job(hours=100, strategy="STANDARD")
            requests.approve_as(job, "spot", by=approver, comment="", now=clock.forward(seconds=1))
            list(pool.map(act, range(3)))
            approved += _judge(job)
        list(pool.map(close, range(3)))

    assert approved
    assert list(audit(clock.now)) == []
    check_ledger(clock.now)


def _judge(job: Job) -> bool:
    """Check one race. Return whether the job was approved."""
    now, question = Job.objects.get(pk=job.pk), Approval.objects.get(job=job)
    votes = Vote.objects.filter(job=job, asked_at=question.asked_at)
    if now.state != "approved":
        assert now.state == "awaiting_approval"
        assert question.decision == ""
        return False
    assert question.requested_spec is None, "it went on before the requester had accepted it"
    assert votes.exists()
    assert {vote.digest for vote in votes} == {question.digest}
    assert {vote.max_usd for vote in votes} == {now.max_usd} == {now.approved_usd}
    return True
