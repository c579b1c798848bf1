"""Send the deliveries that are due: at least once, normally once.

A delivery is claimed, sent outside of any transaction, and then marked as sent. If a worker dies in between, its claim
expires, and the next worker sends the message again with the same id.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime

from django.utils import translation

from jobs.clock import Clock
from jobs.messages import email, google_chat, queue, slack, webhook
from jobs.messages.content import Content, content_of, digest_of, language_for
from jobs.messages.post import SendFailed, post
from jobs.messages.queue import EMAIL, due_destinations
from jobs.messages.relevance import split_relevant
from jobs.messages.retries import next_attempt
from jobs.models import Channel, Delivery, Via

__all__ = ["deliver", "due_destinations"]

logger = logging.getLogger(__name__)
MAX_DELIVERIES = 50
MAX_SECONDS = 45
"""A task starts no further message after this time; well below TASK_SECONDS and a channel's lease."""
State = Delivery.State
Send = Callable[[Content, Delivery], None]


def deliver(destination: str, *, clock: Clock) -> int:
    """Send what is due for a destination of `due_destinations`; return how many messages were sent.

    Stop at the first failure that means that the whole receiver is down.
    """
    if destination == EMAIL:
        return _deliver(None, clock)
    channel = queue.claim_channel(int(destination), clock.now())
    if channel is None:
        return 0
    try:
        return _deliver(channel, clock)
    finally:
        queue.release_channel(channel)


def _deliver(channel: Channel | None, clock: Clock) -> int:
    """Send what is due for a channel, or the e-mail to people; all e-mail uses one connection."""
    rows = queue.claim_next(clock.now(), channel)
    if not rows:
        return 0
    if channel is not None and channel.via != Via.EMAIL:
        return _send_all(rows, channel, lambda content, _: _post(channel, content, clock.now()), clock)
    try:
        connection = email.open_connection()
    except SendFailed as failure:
        _record_failure(rows, failure, clock.now())
        if channel is not None:
            _hold(channel, failure, clock.now())
        return 0

    def send(content: Content, delivery: Delivery) -> None:
        if channel is not None:
            email.send(content, channel.address, connection)
        elif delivery.person is not None and delivery.person.email:
            email.send(content, delivery.person.email, connection)
        else:
            raise SendFailed("The person has no e-mail address.", is_final=True)

    try:
        return _send_all(rows, channel, send, clock)
    finally:
        connection.close()


def _post(channel: Channel, content: Content, now: datetime) -> None:
    if channel.via == Via.SLACK:
        post(channel.address, slack.body_of(content), {})
    elif channel.via == Via.GOOGLE_CHAT:
        post(google_chat.threaded(channel.address), google_chat.body_of(content), {})
    else:
        body = webhook.body_of(content, now)
        post(channel.address, body, webhook.headers_of(channel, content, body, now))


def _send_all(rows: list[Delivery], channel: Channel | None, send: Send, clock: Clock) -> int:
    """Send the claimed deliveries and further due ones, up to the limits of time and number."""
    begun, sent = clock.monotonic(), 0
    for _ in range(MAX_DELIVERIES):
        kept, dropped = split_relevant(rows)
        for delivery, words in dropped:
            queue.finish([delivery], State.DROPPED, clock.now(), words)
        if kept and (failure := _try(send, kept, clock)) is not None:
            _record_failure(kept, failure, clock.now())
            if failure.is_down:
                _hold(channel, failure, clock.now())
                break
        elif kept:
            queue.finish(kept, State.SENT, clock.now())
            _record_success(channel, clock.now())
            sent += len(kept)
        if clock.monotonic() - begun > MAX_SECONDS or not (rows := queue.claim_next(clock.now(), channel)):
            break
    return sent


def _try(send: Send, rows: Sequence[Delivery], clock: Clock) -> SendFailed | None:
    """Send one message or summary; return the failure if any. An exception of our own fails this message only."""
    try:
        with translation.override(language_for(rows[0].person)):
            now = clock.now()
            contents = [content_of(row.message, now) for row in rows]
            send(contents[0] if len(contents) == 1 else digest_of(contents), rows[0])
    except SendFailed as failure:
        return failure
    except Exception as error:
        logger.exception("a message could not be written: delivery %d", rows[0].pk)
        return SendFailed(f"Trainboard could not write the message ({type(error).__name__}). Its log shows more.")
    return None


def _record_failure(rows: Sequence[Delivery], failure: SendFailed, now: datetime) -> None:
    """Schedule another try, or give up if this was the last one."""
    for row in rows:
        if failure.is_final or now >= row.give_up_at:
            queue.finish([row], State.DEAD, now, str(failure))
            logger.warning("gave up on a message: delivery %d by %s: %s", row.pk, row.via, failure)
        else:
            due_at = next_attempt(now, row.failures + 1, jitter=_jitter(), asked=failure.retry_after)
            queue.postpone([row], due_at, str(failure))


def _hold(channel: Channel | None, failure: SendFailed, now: datetime) -> None:
    """Pause a channel for a while; its waiting deliveries are not tried meanwhile."""
    if channel is None:
        return
    channel.failures += 1
    until = next_attempt(now, channel.failures, jitter=_jitter(), asked=failure.retry_after)
    words = str(failure)[:300]
    Channel.objects.filter(pk=channel.pk).update(held_until=until, failures=channel.failures, last_error=words)
    queue.give_up(channel, now, words)


def _record_success(channel: Channel | None, now: datetime) -> None:
    if channel is not None:
        channel.failures = 0
        Channel.objects.filter(pk=channel.pk).update(last_sent_at=now, failures=0, last_error="", held_until=None)


def _jitter() -> float:
    return secrets.randbelow(1_000) / 1_000
