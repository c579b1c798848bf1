"""Tests of deliveries to real servers: at least once, normally once, in order, retried, given up in the end."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email import message_from_string, policy
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from pytest_django import Settings

from dashboard.mail import email_settings
from jobs import messages, outbox, transitions
from jobs.messages import queue, webhook
from jobs.messages.route import queue_for, route
from jobs.models import Channel, Delivery, Job, Membership, Message, MessagePreference, Profile, Team
from tests.domain.conftest import RequestJob
from tests.support import receivers
from tests.support.clock import Clock
from tests.support.receivers import Mailbox, Receiver

RUN = ("submitting", "queued", "pending", "running")
JOBS = [kind for kind in Message.Kind.values if kind not in ("price_stale", "monthly_report")]
MakeChannel = Callable[..., Channel]
Live = Callable[..., Job]


@pytest.fixture(autouse=True)
def _site(settings: Settings) -> None:
    settings.SITE_URL = "https://board.example.org"
    settings.MESSAGES_ALLOW_LOOPBACK = True


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receivers.receiver() as found:
        yield found


@pytest.fixture
def mails(settings: Settings) -> Iterator[Mailbox]:
    with receivers.mailbox() as found:
        for name, value in email_settings("V", f"smtp://127.0.0.1:{found.port}").items():
            setattr(settings, name, value)
        settings.SENDS_EMAIL = True
        settings.DEFAULT_FROM_EMAIL = "Trainboard <board@example.org>"
        yield found


@pytest.fixture
def channel(team: Team, owner: User, hook: Receiver, clock: Clock) -> MakeChannel:
    def make(via: str = "slack", name: str = "training", **columns: Any) -> Channel:
        secret = webhook.new_secret() if via == "webhook" else ""
        values = {"address": hook.url, "kinds": JOBS, "created_by": owner, "created_at": clock.now, "secret": secret}
        return Channel.objects.create(team=team, via=via, name=name, **values | columns)

    return make


@pytest.fixture
def live(request_job: RequestJob, clock: Clock) -> Live:
    def make(*states: str, job: Job | None = None, **changes: Any) -> Job:
        made = job or request_job(**changes)
        for state in states:
            assert transitions.transition(made, state, now=clock.forward(seconds=10), message=f"It is {state}.")
        return made

    return make


def deliver(clock: Clock) -> int:
    """Do what a sweep and its tasks do once; return how many messages were sent."""
    for stage in (messages.watch_waits, messages.report_when_due, messages.route_messages):
        stage(clock.now)
    return sum(messages.deliver(each, clock=clock.clock) for each in messages.due_destinations(clock.now))


def states(**filters: Any) -> list[str]:
    rows = Delivery.objects.exclude(via="browser").filter(**filters)
    return list(rows.order_by("message").values_list("state", flat=True))


class TestWays:
    def test_slack(self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock) -> None:
        channel("slack")
        live(*RUN, name="resnet")

        assert deliver(clock) == 1
        sent = json.loads(hook.received[0].body)
        assert sent["text"] == "Started: resnet"
        assert sent["blocks"][-1]["elements"][0]["url"].startswith("https://board.example.org/jobs/")
        assert deliver(clock) == 0
        assert len(hook.received) == 1

    def test_google_chat_in_the_jobs_thread(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        channel("google_chat")
        job = live(*RUN)
        deliver(clock)

        assert "messageReplyOption=" in hook.received[0].path
        assert json.loads(hook.received[0].body)["thread"]["threadKey"] == str(job.pk)

    def test_a_webhook_with_a_signature_that_the_receiver_can_verify(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        made = channel("webhook")
        job = live(*RUN)
        deliver(clock)

        (found,) = hook.received
        stamp = int(found.headers["webhook-timestamp"])
        uid = f"msg_{Message.objects.get(kind='started').uid.hex}"
        assert found.headers["webhook-id"] == uid
        assert stamp == int(clock.now.timestamp())
        expected = webhook.signature(made.secret, uid=uid, timestamp=stamp, body=found.body)
        assert found.headers["webhook-signature"] == expected
        body = json.loads(found.body)
        assert body["type"] == "trainboard.started"
        assert body["data"]["job"]["id"] == str(job.pk)
        assert body["data"]["cost_so_far"]["currency"] == "USD"

    def test_email_to_a_person_in_their_language_and_to_a_team(
        self, channel: MakeChannel, live: Live, owner: User, mails: Mailbox, clock: Clock
    ) -> None:
        User.objects.filter(pk=owner.pk).update(email="owner@example.org")
        Profile.objects.create(user=owner, language="es")
        channel("email", address="list@example.org")
        live(*RUN, "succeeded", name="resnet")

        assert deliver(clock) == 2
        mail = {tuple(to): message_from_string(text, policy=policy.default) for to, text in mails.mails}
        assert set(mail) == {("owner@example.org",), ("list@example.org",)}
        found = mail["owner@example.org",]
        assert found["Subject"] == "Completado: resnet"
        assert mail["list@example.org",]["Subject"] == "Succeeded: resnet"
        assert found["From"] == "Trainboard <board@example.org>"
        assert "https://board.example.org/jobs/" in found.get_content()
        assert "/messages/settings/" in found.get_content()


class TestFailures:
    @pytest.mark.parametrize("behaviour", [500, 404, 302, "drop", 429])
    def test_are_tried_again_under_the_same_id_until_they_are_over(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock, behaviour: int | str
    ) -> None:
        channel("webhook")
        live(*RUN)
        hook.behaviour = behaviour
        assert deliver(clock) == 0
        first = Delivery.objects.get(channel__isnull=False)
        assert (first.state, first.failures, first.claim) == ("waiting", 1, None)
        assert "internal words" not in first.last_error
        assert deliver(clock) == 0, "not before its time"
        hook.behaviour = 200
        clock.forward(minutes=5)

        assert deliver(clock) == 1
        assert len({each.headers["webhook-id"] for each in hook.received}) == 1
        assert states() == ["sent"]

    def test_a_receiver_that_is_down_for_a_day_loses_nothing(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        made = channel("slack")
        hook.behaviour = 503
        jobs = [live(*RUN, "succeeded") for _ in range(5)]
        for _ in range(24 * 4):
            deliver(clock)
            clock.forward(minutes=15)
        tried, hook.behaviour = len(hook.received), 200
        hook.received.clear()
        for _ in range(8):
            deliver(clock)
            clock.forward(minutes=15)

        assert 20 < tried < 60, "one attempt at a time, not one of each message"
        assert (
            sorted(json.loads(each.body)["text"] for each in hook.received)
            == ["Succeeded: " + jobs[0].display_name] * 5
        )
        made.refresh_from_db()
        assert (made.failures, made.last_error, made.held_until) == (0, "", None)

    def test_one_that_is_down_for_longer_is_given_up_and_can_be_sent_again(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        channel("slack")
        hook.behaviour = 503
        live(*RUN, "failed")
        live(*RUN, "failed")
        for _ in range(40):
            deliver(clock)
            clock.forward(hours=1)

        dead = Delivery.objects.filter(state="dead")
        assert set(dead.values_list("last_error", flat=True)) == {"The server answered with status 503."}
        assert dead.count() == 2
        assert Delivery.objects.filter(state="waiting").count() == 0

    def test_a_receiver_that_is_down_keeps_no_other_channel_waiting(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        with receivers.receiver() as down:
            down.behaviour = "drop"
            channel("slack", name="a", address=down.url)
            channel("slack", name="b")
            live(*RUN)
            deliver(clock)

            assert (len(down.received), len(hook.received)) == (1, 1)

    def test_a_fault_of_ours_keeps_back_its_own_message_only(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        channel("slack")
        bad = live(*RUN, name="bad")
        live(*RUN, name="good")
        Job.objects.filter(pk=bad.pk).update(state="failed", explanation=[1])
        Message.objects.filter(job=bad).update(kind="failed")
        deliver(clock)

        assert [json.loads(each.body)["text"] for each in hook.received] == ["Started: good"]
        assert "could not write the message (AttributeError)" in Delivery.objects.get(job=bad, person=None).last_error

    def test_a_mail_server_that_is_gone_postpones_and_one_that_refuses_ends(
        self, live: Live, owner: User, mails: Mailbox, settings: Settings, clock: Clock
    ) -> None:
        User.objects.filter(pk=owner.pk).update(email="owner@example.org")
        live(*RUN, "failed")
        port, settings.EMAIL_PORT = settings.EMAIL_PORT, 9
        deliver(clock)
        assert Delivery.objects.get(via="email").last_error.startswith(
            "Trainboard could not connect or sign in to the mail server"
        )
        settings.EMAIL_PORT, mails.refusal = port, "450 later"
        clock.forward(minutes=5)
        deliver(clock)
        assert states() == ["waiting"]
        mails.refusal = "550 no such user hush"
        clock.forward(minutes=5)
        deliver(clock)

        assert states() == ["dead"]
        assert Delivery.objects.get(via="email").last_error == "The mail server refused the address (550)."


class TestOrderAndSense:
    def test_an_end_waits_for_the_messages_before_it(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        channel("slack")
        job = live(*RUN)
        hook.behaviour = 404  # of this one message
        deliver(clock)
        live("cancelling", job=job)
        outbox.announce("cap", team=job.team, once_key="cap", now=clock.now, job=job, detail={"text": "Cap."})
        hook.behaviour = 200
        assert deliver(clock) == 0, "the start is not due yet, so nothing after it is"
        clock.forward(minutes=5)
        deliver(clock)

        assert [json.loads(each.body)["text"].partition(":")[0] for each in hook.received] == [
            "Started", "Started", "Near its cap",
        ]  # fmt: skip

    def test_what_says_nothing_any_more_is_dropped(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        channel("slack")
        live(*RUN, "succeeded")
        deliver(clock)

        assert states() == ["dropped", "sent"]
        assert Delivery.objects.get(state="dropped").last_error == "The job has ended."

    def test_restarts_are_folded_into_the_newest(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        channel("slack", kinds=["restarted"])
        job = live(*RUN)
        for number in range(4):
            transitions.record_event(
                job, "restarted", now=clock.now, message=f"Lost {number}.", reason="preempted", once_key=f"r{number}"
            )
        deliver(clock)

        assert states() == ["dropped"] * 3 + ["sent"]
        assert "Lost 3." in hook.received[0].body.decode()

    @pytest.mark.parametrize("how", ["left", "deactivated", "demoted"])
    def test_who_is_gone_when_it_is_sent_gets_nothing(
        self, live: Live, approver: User, mails: Mailbox, clock: Clock, team: Team, how: str
    ) -> None:
        User.objects.filter(pk=approver.pk).update(email="approver@example.org")
        team.policy.ask_over_usd = 0
        team.policy.save()
        live(hours=100)
        route(clock.now)
        if how == "left":
            Membership.objects.filter(user=approver).delete()
        elif how == "deactivated":
            User.objects.filter(pk=approver.pk).update(is_active=False)
        else:
            Membership.objects.filter(user=approver).update(role="engineer")
        deliver(clock)

        assert mails.mails == []
        assert states() == ["dropped"]


class TestSummaries:
    def test_an_hour_of_messages_is_one_mail(self, live: Live, owner: User, mails: Mailbox, clock: Clock) -> None:
        User.objects.filter(pk=owner.pk).update(email="owner@example.org")
        MessagePreference.objects.create(user=owner, digest="hourly")
        for number in range(3):
            live(*RUN, "succeeded", name=f"job-{number}")
        assert deliver(clock) == 0
        clock.forward(hours=1)

        assert deliver(clock) == 3
        ((_, text),) = mails.mails
        found = message_from_string(text, policy=policy.default)
        assert found["Subject"] == "3 messages from Trainboard"
        assert [f"Succeeded: job-{number}" in found.get_content() for number in range(3)] == [True] * 3
        assert states() == ["sent"] * 3

    def test_a_summary_of_one_is_the_message(self, live: Live, owner: User, mails: Mailbox, clock: Clock) -> None:
        User.objects.filter(pk=owner.pk).update(email="owner@example.org")
        MessagePreference.objects.create(user=owner, digest="daily")
        live(*RUN, "succeeded", name="one")
        deliver(clock)
        clock.forward(days=1)
        deliver(clock)

        assert "Subject: Succeeded: one" in mails.mails[0][1]


class TestClaims:
    def test_a_worker_that_died_is_followed_by_another(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        made = channel("slack")
        live(*RUN)
        messages.route_messages(clock.now)
        assert queue.claim_channel(made.pk, clock.now) is not None
        assert len(queue.claim_next(clock.now, made)) == 1  # and it dies here
        assert deliver(clock) == 0
        clock.forward(minutes=4)

        assert deliver(clock) == 1
        assert len(hook.received) == 1

    @pytest.mark.django_db(transaction=True)
    def test_many_workers_at_once_send_each_message_once(
        self, channel: MakeChannel, team: Team, hook: Receiver, clock: Clock
    ) -> None:
        made = channel("slack")
        for number in range(12):
            outbox.announce("test", team=team, once_key=str(number), now=clock.now)
        queue_for(list(Message.objects.all()), made, clock.now)

        def work(_: int) -> int:
            try:
                return messages.deliver(str(made.pk), clock=clock.clock)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(6) as pool:
            sent = sum(pool.map(work, range(6)))
        sent += messages.deliver(str(made.pk), clock=clock.clock)

        assert sent == 12
        assert len(hook.received) == 12

    def test_a_paused_channel_is_left_alone(
        self, channel: MakeChannel, live: Live, hook: Receiver, clock: Clock
    ) -> None:
        made = channel("slack")
        live(*RUN)
        route(clock.now)
        Channel.objects.filter(pk=made.pk).update(paused_at=clock.now)
        assert deliver(clock) == 0
        Channel.objects.filter(pk=made.pk).update(paused_at=None)

        assert deliver(clock) == 1

    def test_due_destinations_cost_three_queries(
        self, channel: MakeChannel, live: Live, clock: Clock, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(20):
            channel("slack", name=str(number))
        live(*RUN)
        route(clock.now)

        with django_assert_max_num_queries(3):
            assert len(messages.due_destinations(clock.now)) == 20
