"""Messages and deliveries of very many jobs, written directly: most old and sent, some waiting, some failed."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User

from jobs.models import Channel, Delivery, Message
from tests.support.many_jobs import World

WAITING_EVERY, DEAD_EVERY = 40, 60


def fill(world: World, now: datetime) -> None:
    """Write a message about the end of every job to its owner and to one channel of its team."""
    person = User.objects.order_by("pk").first()
    assert person is not None
    channels = Channel.objects.bulk_create(
        [
            Channel(
                team=team,
                via="slack",
                name="c",
                address="https://a.org",
                kinds=["done"],
                created_by=person,
                created_at=now,
            )
            for team in world.teams
        ]
    )
    of_team = {channel.team_id: channel for channel in channels}
    messages = Message.objects.bulk_create(
        [
            Message(
                kind="done", team_id=job.team_id, job=job, once_key=f"m{number}", occurred_at=job.requested_at,
                created_at=job.requested_at, routed_at=None if number < 50 else now,
            )
            for number, job in enumerate(world.jobs)
        ],
        batch_size=500,
    )  # fmt: skip
    rows = []
    for number, (job, message) in enumerate(zip(world.jobs, messages, strict=True)):
        state = "waiting" if number % WAITING_EVERY == 0 else "dead" if number % DEAD_EVERY == 1 else "sent"
        common = {
            "message": message, "team_id": job.team_id, "job": job, "created_at": message.created_at,
            "due_at": now - timedelta(minutes=1), "give_up_at": now + timedelta(hours=1),
            "ended_at": None if state == "waiting" else now,
        }  # fmt: skip
        read_at = now if number % 7 else None
        rows.append(Delivery(via="browser", state="sent", person_id=job.owner_id, read_at=read_at, **common))
        rows.append(Delivery(via="email", state=state, person_id=job.owner_id, **common))
        rows.append(Delivery(via="slack", state=state, channel=of_team[job.team_id], **common))
    Delivery.objects.bulk_create(rows, batch_size=500)
