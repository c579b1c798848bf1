"""Tests that names cannot become markup, headers or mentions, and that webhooks follow Standard Webhooks."""

import base64
import hmac
import json
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.messages import email, google_chat, retries, route, slack, webhook
from jobs.messages.content import MAX_IN_DIGEST, Content, clean, digest_of
from jobs.models import Channel

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NASTY = "x <!channel> <@U1> <https://evil|click> *b* `c` <users/all> <b>&amp;\r\nBcc: a@b.org\n\n\u202egnp.exe\x00"


def content(text: str, uid: str = "msg_1") -> Content:
    tidy = clean(text, 150)
    return Content(uid, "failed", tidy, (tidy,), (("Job", tidy),), ((tidy, "https://b.org/jobs/1/"),), "job-1")


class TestClean:
    @given(st.text())
    def test_leaves_one_line_without_control_and_format_characters(self, text: str) -> None:
        found = clean(text, 100)

        assert len(found) <= 100
        assert found == " ".join(found.split())
        assert not any(ord(each) < 32 or each in "\x7f\x85\u2028\u2029\u202e\u2066\u200b\ufeff" for each in found)
        found.encode()

    def test_keeps_words_in_every_script(self) -> None:
        assert clean("Größe 模型 модель 🚂", 99) == "Größe 模型 модель 🚂"

    def test_cuts_what_is_too_long(self) -> None:
        assert clean("a" * 20, 10) == "a" * 9 + "…"


class TestSlack:
    @given(st.text() | st.just(NASTY))
    def test_no_text_of_people_is_parsed(self, text: str) -> None:
        sent = json.loads(slack.body_of(content(text)))

        assert "<" not in sent["text"]
        assert ">" not in sent["text"]
        assert sent["mrkdwn"] is False
        texts = [each for each in _objects(sent["blocks"]) if "text" in each and isinstance(each["text"], str)]
        assert texts
        assert {each["type"] for each in texts} == {"plain_text"}
        assert {each["emoji"] for each in texts} == {False}

    def test_long_texts_stay_within_its_limits(self) -> None:
        long = Content(
            "m", "failed", "s" * 150, ("l" * 1500,) * 9, (("a", "b"),), (("x" * 90, "https://b.org"),) * 9, "t"
        )
        sent = json.loads(slack.body_of(long))

        assert all(len(each["text"]["text"]) <= 3000 for each in sent["blocks"] if each["type"] == "section")
        assert len(sent["blocks"][-1]["elements"]) == slack.MAX_BUTTONS


class TestGoogleChat:
    @given(st.text() | st.just(NASTY))
    def test_no_text_of_people_is_parsed(self, text: str) -> None:
        sent = json.loads(google_chat.body_of(content(text)))

        card = sent["cardsV2"][0]["card"]
        (paragraph, fact, _) = card["sections"][0]["widgets"]
        for shown in (sent["fallbackText"], card["header"]["title"], paragraph["textParagraph"]["text"]):
            assert "<" not in shown
        assert "<" not in fact["decoratedText"]["text"]

    def test_messages_of_a_job_are_one_thread(self) -> None:
        url = google_chat.threaded("https://chat.googleapis.com/v1/spaces/A/messages?key=k-1_2&token=t%3D")

        assert url.startswith(
            "https://chat.googleapis.com/v1/spaces/A/messages?key=k-1_2&token=t%3D&messageReplyOption="
        )
        assert google_chat.threaded(url) == url
        assert json.loads(google_chat.body_of(content("x")))["thread"] == {"threadKey": "job-1"}


class TestEmail:
    @given(st.text() | st.just(NASTY))
    def test_no_name_becomes_a_header(self, text: str) -> None:
        mail = email.message_of(content(text), "ann@example.org").message()
        parsed = message_from_bytes(mail.as_bytes(), policy=policy.default)

        assert parsed["Bcc"] is None
        assert parsed["To"] == "ann@example.org"
        assert parsed.get_content_type() == "text/plain"
        assert parsed["Message-ID"].startswith("<msg_1@")
        assert set(parsed.keys()) == {
            "Content-Type", "MIME-Version", "Content-Transfer-Encoding", "Subject", "From", "To", "Date",
            "Message-ID", "References", "Auto-Submitted", "X-Trainboard-Kind",
        }  # fmt: skip

    def test_a_summary_lists_each_message_with_its_link(self) -> None:
        text = email.text_of(digest_of([content("one"), content("two")]))

        assert "- one\n  https://b.org/jobs/1/" in text
        assert "- two\n  https://b.org/jobs/1/" in text


class TestWebhook:
    def test_signs_as_the_specification_shows(self) -> None:
        """Example of standardwebhooks.com and Svix's documentation, read 2026-11-23."""
        found = webhook.signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            uid="msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp=1614265330,
            body=b'{"test": 2432232314}',
        )

        assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    @given(st.text())
    def test_a_body_is_json_of_the_specifications_form(self, text: str) -> None:
        sent = json.loads(webhook.body_of(content(text), NOW))

        assert set(sent) == {"type", "timestamp", "data"}
        assert sent["type"] == "trainboard.failed"
        assert sent["data"]["subject"] == clean(text, 150)

    def test_for_a_day_after_a_rotation_both_secrets_sign(self) -> None:
        old, new = webhook.new_secret(), webhook.new_secret()
        channel = Channel(secret=new, old_secret=old, old_secret_until=NOW + webhook.OVERLAP)

        during = webhook.headers_of(channel, content("x"), b"{}", NOW)
        after = webhook.headers_of(channel, content("x"), b"{}", NOW + webhook.OVERLAP)

        assert [_verifies(during, key) for key in (old, new)] == [True, True]
        assert [_verifies(after, key) for key in (old, new)] == [False, True]
        assert during["webhook-timestamp"] == str(int(NOW.timestamp()))

    def test_secrets_are_long_and_new_each_time(self) -> None:
        secrets = {webhook.new_secret() for _ in range(50)}

        assert len(secrets) == 50
        assert {len(base64.b64decode(each.removeprefix("whsec_"))) for each in secrets} == {32}


def _verifies(headers: dict[str, str], secret: str, body: bytes = b"{}") -> bool:
    """Verify as a receiver does, by the specification."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, "sha256").digest()).decode()
    return f"v1,{expected}" in headers["webhook-signature"].split()


def test_the_documented_way_to_verify_works(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "messages.md").read_text()
    names: dict[str, Any] = {}
    exec(text.partition("```python\n")[2].partition("```")[0], names)
    secret, other = webhook.new_secret(), webhook.new_secret()
    monkeypatch.setattr(names["time"], "time", NOW.timestamp)
    headers = webhook.signed_headers([other, secret], uid="msg_1", now=NOW, body=b"{}")
    late = webhook.signed_headers([secret], uid="msg_1", now=NOW - timedelta(hours=1), body=b"{}")

    assert names["is_genuine"](secret, headers, b"{}")
    assert not names["is_genuine"](secret, headers, b"{ }")
    assert not names["is_genuine"](webhook.new_secret(), headers, b"{}")
    assert not names["is_genuine"](secret, late, b"{}")


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(each for item in value.values() for each in _objects(item))]
    return [each for item in value for each in _objects(item)] if isinstance(value, list) else []


def test_a_summary_of_very_many_counts_the_rest() -> None:
    found = digest_of([content(str(number)) for number in range(MAX_IN_DIGEST + 7)])

    assert found.subject == "57 messages from Trainboard"
    assert found.lines[-1] == "and 7 more"


class TestSchedule:
    def test_retries_go_on_for_more_than_a_day(self) -> None:
        now, failures = NOW, 0
        while now < NOW + retries.GIVE_UP_AFTER:
            failures += 1
            now = retries.next_attempt(now, failures, jitter=0)

        assert timedelta(hours=24) < retries.GIVE_UP_AFTER
        assert 30 < failures < 50

    @given(st.integers(1, 10_000), st.floats(0, 1))
    def test_a_pause_is_never_none_and_never_more_than_an_hour(self, failures: int, jitter: float) -> None:
        pause = retries.next_attempt(NOW, failures, jitter=jitter) - NOW

        assert timedelta(seconds=20) < pause <= retries.MAX_PAUSE

    @pytest.mark.parametrize(("asked", "least"), [(0, 1), (90, 90), (10**6 - 1, 6 * 3600)])
    def test_a_receiver_is_given_the_pause_that_it_asks_for_within_bounds(self, asked: int, least: int) -> None:
        found = retries.next_attempt(NOW, 1, jitter=0, asked=timedelta(seconds=asked))

        assert found == NOW + timedelta(seconds=least)

    @pytest.mark.parametrize(
        ("digest", "now", "then"),
        [
            ("", "09:30", "09:30"),
            ("hourly", "09:00", "10:00"),
            ("hourly", "09:59", "10:00"),
            ("daily", "06:59", "07:00"),
        ],
    )
    def test_summaries_come_at_full_hours(self, digest: str, now: str, then: str) -> None:
        def at(text: str) -> datetime:
            return datetime.fromisoformat(f"2026-03-02T{text}:00+00:00")

        assert route.next_digest(at(now), digest) == at(then)

    def test_what_comes_after_the_daily_summary_is_in_the_next(self) -> None:
        assert route.next_digest(NOW, "daily") == datetime(2026, 3, 3, 7, 0, tzinfo=UTC)
