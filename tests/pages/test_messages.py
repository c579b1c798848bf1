"""Tests of the inbox, message preferences, channels of teams, and undelivered messages."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from jobs import messages, outbox, tasks
from jobs.messages import webhook
from jobs.messages.channels import MAX_CHANNELS
from jobs.messages.route import new_delivery, route
from jobs.models import Channel, Delivery, Job, Membership, Message, MessagePreference, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support.clock import Clock

HOOK = "https://hooks.example.org/services/T0/B1/sEcReTpArT"
MakeChannel = Callable[..., Channel]


@pytest.fixture(autouse=True)
def hints(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the hints to workers."""
    hints: list[str] = []
    monkeypatch.setattr(tasks, "enqueue_messages", hints.append)
    return hints


@pytest.fixture
def leader(team: Team) -> User:
    return person("leader", team, "lead")


@pytest.fixture
def lead(leader: User, signed_in: SignIn) -> Client:
    return signed_in(leader)


@pytest.fixture
def channel(team: Team, leader: User, clock: Clock) -> MakeChannel:
    def make(via: str = "slack", **columns: Any) -> Channel:
        secret = webhook.new_secret() if via == "webhook" else ""
        values = {"name": "training", "address": HOOK, "kinds": ["failed"], "secret": secret}
        return Channel.objects.create(team=team, via=via, created_by=leader, created_at=clock.now, **values | columns)

    return make


@pytest.fixture
def delivery(make_job: MakeJob, clock: Clock) -> Delivery:
    """The owner's message that a job failed."""
    make_job("failed", name="resnet")
    route(clock.now)
    return Delivery.objects.get(via="browser", message__kind="failed")


def fields(**changes: Any) -> dict[str, Any]:
    """What the form of a channel posts."""
    return {"via": "slack", "name": "ops", "address": HOOK, "digest": "", "kinds": ["failed", "done"]} | changes


class TestInbox:
    def test_lists_what_a_person_was_told_and_counts_what_is_unread(self, engineer: Client, delivery: Delivery) -> None:
        page = engineer.get("/messages/")

        assert "Failed: resnet" in text_of(page)
        assert page.content.decode().count('class="is-new"') == 2
        assert "2 unread" in text_of(engineer.get("/messages/count/"))
        assert "2 unread" in text_of(engineer.get("/history/"))

    def test_opening_one_leads_to_its_job_and_marks_it(self, engineer: Client, delivery: Delivery) -> None:
        answer = engineer.get(f"/messages/{delivery.pk}/")

        assert answer.headers["Location"] == f"/jobs/{delivery.job_id}/"
        assert "unread" not in text_of(engineer.get("/messages/count/"))
        assert "Failed" not in text_of(engineer.get("/messages/?show=unread"))

    def test_a_job_is_one_entry(self, engineer: Client, make_job: MakeJob, clock: Clock) -> None:
        make_job("failed", name="resnet")
        make_job("succeeded", name="bert")
        route(clock.now)

        groups = engineer.get("/messages/").context["groups"]
        assert [group.newest.headline.split(" –")[0] for group in groups] == ["Succeeded: bert", "Failed: resnet"]
        assert [group.kinds for group in groups] == [[("Started", 1)], [("Started", 1)]]

        engineer.get(f"/messages/{groups[0].earlier[0].delivery.pk}/")
        engineer.get(f"/messages/{groups[1].newest.delivery.pk}/")
        assert [group.unread for group in engineer.get("/messages/").context["groups"]] == [True, False]
        assert "1 unread" in text_of(engineer.get("/messages/count/"))

    def test_a_sweep_is_one_entry_but_for_failures(self, engineer: Client, make_job: MakeJob, clock: Clock) -> None:
        sweep = uuid4()
        for number, end in enumerate(["succeeded", "failed", "succeeded"]):
            job = make_job(end, name=f"lr-{number}")
            Job.objects.filter(pk=job.pk).update(sweep=sweep)
        route(clock.now)

        groups = engineer.get("/messages/").context["groups"]
        assert [group.newest.headline.split(" –")[0] for group in groups] == ["Succeeded: lr-2", "Failed: lr-1"]
        assert dict(groups[0].kinds) == {"Started": 3, "Succeeded": 1}

        engineer.get(f"/messages/{groups[0].newest.delivery.pk}/")
        assert [group.unread for group in engineer.get("/messages/").context["groups"]] == [False, True]

    def test_looking_ahead_marks_nothing(self, engineer: Client, delivery: Delivery) -> None:
        engineer.head(f"/messages/{delivery.pk}/")

        assert "2 unread" in text_of(engineer.get("/messages/count/"))

    def test_all_are_marked_at_once(self, engineer: Client, delivery: Delivery) -> None:
        assert engineer.post("/messages/read/").status_code == 302
        assert "unread" not in text_of(engineer.get("/messages/count/"))
        assert engineer.get("/messages/read/").status_code == 405

    def test_others_see_nothing_of_it(
        self, delivery: Delivery, teammate: User, stranger: User, admin: User, signed_in: SignIn
    ) -> None:
        for user in (teammate, stranger, admin):
            browser = signed_in(user)
            assert "resnet" not in text_of(browser.get("/messages/"))
            assert browser.get(f"/messages/{delivery.pk}/").status_code == 404
            browser.post("/messages/read/")
        delivery.refresh_from_db()
        assert delivery.read_at is None

    def test_who_has_left_the_team_sees_nothing_of_it(
        self, delivery: Delivery, owner: User, other_team: Team, signed_in: SignIn
    ) -> None:
        Membership.objects.filter(user=owner).update(team=other_team)
        browser = signed_in(owner)

        assert "resnet" not in text_of(browser.get("/messages/"))
        assert "unread" not in text_of(browser.get("/messages/count/"))
        assert browser.get(f"/messages/{delivery.pk}/").status_code == 404

    def test_names_are_text(self, engineer: Client, make_job: MakeJob, clock: Clock) -> None:
        make_job("failed", name="b>&x")
        route(clock.now)

        assert "b&gt;&amp;x" in engineer.get("/messages/").content.decode()

    def test_many_are_paged_at_the_same_cost(
        self, engineer: Client, team: Team, owner: User, clock: Clock, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(120):
            outbox.announce("budget", team=team, once_key=str(number), now=clock.now, detail={"text": f"No. {number}"})
        rows = [
            new_delivery(each, clock.forward(seconds=1), via="browser", person=owner)
            for each in Message.objects.order_by("id")
        ]
        Delivery.objects.bulk_create(rows)

        with django_assert_max_num_queries(7):
            first = engineer.get("/messages/")
        assert "No. 119" in text_of(first)
        assert "99+" in text_of(first)
        second = engineer.get(f"/messages/?after={first.context['page'].older}")
        third = engineer.get("/messages/", {"after": second.context["page"].older})
        assert [len(each.context["groups"]) for each in (first, second, third)] == [50, 50, 20]

    @pytest.mark.parametrize(
        "after", ["x", "2026~1", "2026-03-02T09:00:00+00:00~x", f"2026-03-02T09:00:00+00:00~{'9' * 5_000}", "~", "%00"]
    )
    def test_a_cursor_that_cannot_be_read_is_the_first_page(
        self, engineer: Client, delivery: Delivery, after: str
    ) -> None:
        assert "resnet" in text_of(engineer.get("/messages/", {"after": after}))

    def test_a_message_without_a_job_leads_where_it_says_and_never_off_the_site(
        self, engineer: Client, team: Team, owner: User, clock: Clock
    ) -> None:
        for number, path in enumerate(["//evil.example/", "https://evil.example/", "/\\evil.example"]):
            outbox.announce("budget", team=team, once_key=str(number), now=clock.now, detail={"path": path})
        for message in Message.objects.all():
            delivery = new_delivery(message, clock.now, via="browser", person=owner)
            delivery.save()
            assert engineer.get(f"/messages/{delivery.pk}/").headers["Location"] == "/"


class TestPreferences:
    def test_are_shown_kept_and_followed(
        self, engineer: Client, owner: User, make_job: MakeJob, clock: Clock, settings: Settings
    ) -> None:
        settings.SENDS_EMAIL = True
        User.objects.filter(pk=owner.pk).update(email="owner@example.org")
        page = engineer.get("/messages/settings/")
        assert page.context["form"]["failed-email"].initial is True
        assert page.context["form"]["started-email"].initial is False

        answer = engineer.post("/messages/settings/", {"started-email": "on", "digest": "hourly", "about_others": "on"})

        assert answer.status_code == 302
        kept = MessagePreference.objects.get(user=owner)
        assert (kept.digest, kept.about_others) == ("hourly", True)
        assert messages.choices_of(kept)["started"] == ["email"]
        assert messages.choices_of(kept)["failed"] == []
        make_job("failed")
        route(clock.now)
        assert list(Delivery.objects.values_list("message__kind", "via")) == [("started", "email")]

    def test_a_summary_that_does_not_exist_is_refused(self, engineer: Client) -> None:
        answer = engineer.post("/messages/settings/", {"digest": "yearly"})

        assert answer.status_code == 422
        assert not MessagePreference.objects.exists()

    def test_say_when_no_mail_arrives(self, engineer: Client, settings: Settings) -> None:
        assert "sends no e-mail" in text_of(engineer.get("/messages/settings/"))
        settings.SENDS_EMAIL = True
        assert "your account has no e-mail address" in text_of(engineer.get("/messages/settings/"))


class TestChannels:
    def test_a_lead_adds_one(self, lead: Client, team: Team) -> None:
        answer = lead.post(f"/messages/channels/new/{team.pk}/", fields())

        made = Channel.objects.get()
        assert answer.headers["Location"] == f"/messages/channels/{made.pk}/"
        page = text_of(lead.get(answer.headers["Location"]))
        assert "hooks.example.org/…pArT" in page
        assert "T0/B1" not in lead.get(answer.headers["Location"]).content.decode()
        assert "ops" in text_of(lead.get("/messages/channels/"))

    def test_the_secret_of_a_webhook_is_shown_once(self, lead: Client, team: Team) -> None:
        answer = lead.post(f"/messages/channels/new/{team.pk}/", fields(via="webhook"))

        made = Channel.objects.get()
        assert made.secret.startswith("whsec_")
        assert made.secret in answer.content.decode()
        assert made.secret not in lead.get(f"/messages/channels/{made.pk}/").content.decode()

    def test_a_secret_is_rotated_once_however_often_it_is_asked(self, lead: Client, channel: MakeChannel) -> None:
        made = channel("webhook")
        old, fingerprint = made.secret, lead.get(f"/messages/channels/{made.pk}/").context["fingerprint"]

        first = lead.post(f"/messages/channels/{made.pk}/rotate/", {"fingerprint": fingerprint})
        second = lead.post(f"/messages/channels/{made.pk}/rotate/", {"fingerprint": fingerprint})

        made.refresh_from_db()
        assert made.secret in first.content.decode()
        assert made.old_secret == old
        assert (first.status_code, second.status_code) == (200, 302)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"address": "http://hooks.example.org/x"}, "must begin with https://"),
            ({"address": "https://127.0.0.1/x"}, "internal address"),
            ({"address": "https://[::ffff:10.0.0.1]/x"}, "internal address"),
            ({"address": "https://169.254.169.254/latest"}, "internal address"),
            ({"address": "https://u:p@example.org/x"}, "without a user"),
            ({"address": ""}, "required"),
            ({"via": "email", "address": "nobody"}, "one e-mail address"),
            ({"via": "email", "address": "a@b.org\r\nBcc: c@d.org"}, "one e-mail address"),
            ({"via": "browser"}, "valid choice"),
            ({"kinds": []}, "at least one kind"),
            ({"kinds": ["dreams"]}, "valid choice"),
            ({"digest": "yearly"}, "valid choice"),
            ({"name": " "}, "required"),
            ({"name": "x" * 61}, "at most 60"),
        ],
    )
    def test_one_that_cannot_be_is_refused_and_nothing_typed_is_lost(
        self, lead: Client, team: Team, changes: dict[str, Any], words: str
    ) -> None:
        answer = lead.post(f"/messages/channels/new/{team.pk}/", fields(**{"name": "kept name"} | changes))

        assert answer.status_code == 422
        assert words in text_of(answer)
        assert "name" in changes or 'value="kept name"' in answer.content.decode()
        assert not Channel.objects.exists()

    def test_names_are_unique_and_their_number_is_bounded(self, lead: Client, team: Team, channel: MakeChannel) -> None:
        channel(name="ops")
        assert "already has a channel with this name" in text_of(
            lead.post(f"/messages/channels/new/{team.pk}/", fields())
        )
        for number in range(MAX_CHANNELS - 1):
            channel(name=f"c{number}")

        answer = lead.post(f"/messages/channels/new/{team.pk}/", fields(name="more"))

        assert "delete one first" in text_of(answer)

    def test_is_changed_with_its_address_kept(self, lead: Client, channel: MakeChannel) -> None:
        made = channel()
        lead.post(f"/messages/channels/{made.pk}/", fields(address="", name="new", digest="daily", kinds=["done"]))

        made.refresh_from_db()
        assert (made.address, made.name, made.digest, made.kinds) == (HOOK, "new", "daily", ["done"])

    def test_a_test_message_is_queued_once_and_sent_soon(
        self, lead: Client, channel: MakeChannel, hints: list[str]
    ) -> None:
        made = channel(digest="daily")
        for _ in range(2):
            lead.post(f"/messages/channels/{made.pk}/test/")

        (delivery,) = Delivery.objects.filter(channel=made)
        assert (delivery.message.kind, delivery.state, delivery.is_digest) == ("test", "waiting", False)
        assert hints == [str(made.pk)]
        assert "Test: vision" in text_of(lead.get(f"/messages/channels/{made.pk}/"))

    def test_is_paused_resumed_and_deleted(self, lead: Client, channel: MakeChannel) -> None:
        made = channel()
        address = f"/messages/channels/{made.pk}"
        lead.post(f"{address}/pause/")
        assert "paused" in text_of(lead.get("/messages/channels/"))
        lead.post(f"{address}/resume/")
        assert "Delete training?" in text_of(lead.post(f"{address}/delete/"))
        assert Channel.objects.filter(paused_at=None).count() == 1
        lead.post(f"{address}/delete/", {"sure": "training"})

        assert not Channel.objects.exists()

    @pytest.mark.parametrize("role", ["viewer", "engineer", "approver"])
    def test_only_leads_set_them(
        self, team: Team, channel: MakeChannel, role: str, teammate: User, signed_in: SignIn
    ) -> None:
        made = channel("webhook")
        Membership.objects.filter(user=teammate).update(role=role)

        assert set(statuses(signed_in(teammate), team, made)) == {403}
        assert [signed_in(teammate).get(path).status_code for path in LISTS] == [404, 404]

    def test_a_stranger_sees_nothing(self, team: Team, channel: MakeChannel, stranger: User, signed_in: SignIn) -> None:
        made = channel("webhook")
        browser = signed_in(stranger)

        assert set(statuses(browser, team, made)) == {404}
        for path in LISTS:
            assert "training" not in text_of(browser.get(path))
        made.refresh_from_db()
        assert made.paused_at is None

    def test_an_unknown_action_is_not_found(self, lead: Client, channel: MakeChannel) -> None:
        made = channel()

        assert lead.post(f"/messages/channels/{made.pk}/explode/").status_code == 404
        assert lead.get(f"/messages/channels/{made.pk}/pause/").status_code == 405


LISTS = ("/messages/channels/", "/messages/undelivered/")


def statuses(browser: Client, team: Team, made: Channel) -> list[int]:
    """Return the statuses of all requests that a person can make about a channel."""
    address = f"/messages/channels/{made.pk}/"
    found = [browser.get(address), browser.post(address, fields())]
    found += [
        browser.post(f"{address}{action}/", {"sure": made.name}) for action in ("test", "pause", "resume", "rotate")
    ]
    found += [browser.post(f"{address}delete/", {"sure": made.name})]
    new = f"/messages/channels/new/{team.pk}/"
    return [each.status_code for each in [*found, browser.get(new), browser.post(new, fields())]]


class TestUndelivered:
    @pytest.fixture
    def dead(self, make_job: MakeJob, channel: MakeChannel, clock: Clock) -> Delivery:
        channel()
        make_job("failed", name="resnet")
        route(clock.now)
        rows = Delivery.objects.filter(channel__isnull=False)
        rows.update(state="dead", ended_at=clock.now, last_error="The server answered with status 503.")
        return rows.get()

    def test_a_lead_sees_the_error_and_sends_it_again(
        self, lead: Client, dead: Delivery, hints: list[str], clock: Clock, settings: Any
    ) -> None:
        settings.SESSION_IDLE = timedelta(days=14)
        page = text_of(lead.get("/messages/undelivered/"))
        assert "The server answered with status 503." in page
        assert "Failed: resnet" in page
        clock.forward(days=9)

        lead.post(f"/messages/undelivered/{dead.pk}/")

        dead.refresh_from_db()
        assert (dead.state, dead.due_at) == ("waiting", clock.now)
        assert dead.give_up_at > clock.now
        assert hints == [str(dead.channel_id)]
        assert "Everything was delivered" in text_of(lead.get("/messages/undelivered/"))

    def test_all_of_a_team_are_sent_again(self, lead: Client, dead: Delivery) -> None:
        lead.post(f"/messages/undelivered/{dead.pk}/", {"all": "1"})

        assert Delivery.objects.filter(state="dead").count() == 0

    def test_others_can_do_nothing(self, dead: Delivery, stranger: User, teammate: User, signed_in: SignIn) -> None:
        for user in (stranger, teammate):
            assert signed_in(user).post(f"/messages/undelivered/{dead.pk}/", {"all": "1"}).status_code == 404
        dead.refresh_from_db()
        assert dead.state == "dead"
