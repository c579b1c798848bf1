"""Tests of the seals of the audit log: what is sealed, what a change or a deletion shows, and the export."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from jobs.messages.post import SendFailed
from jobs.messages.webhook import new_secret, signature
from jobs.models import AuditSeal, SealedEntry, Team
from jobs.people.audit import acting
from jobs.upkeep.seals import (
    SETTLED,
    broken_seals,
    export_log,
    removable,
    remove_spans,
    seal_audit_log,
    send_seals,
    unsent,
)
from tests.support.receivers import Receiver, receiver


@pytest.fixture
def sealed(team: Team, other_team: Team, owner: User) -> list[LogEntry]:
    """Entries about two teams and about no team, sealed in three chains."""
    LogEntry.objects.all().delete()
    with acting(owner, "10.0.0.1"):
        for each, bucket in ((team, "gs://a"), (other_team, "gs://b"), (team, "gs://c")):
            each.bucket = bucket
            each.save()
    seal_audit_log(timezone.now() + SETTLED + timedelta(seconds=1))
    return list(LogEntry.objects.order_by("pk"))


def broken() -> list[str]:
    return [f"{seal.number}: {words}" for seal, words in broken_seals()]


def test_each_team_has_a_chain_and_nothing_is_broken(sealed: list[LogEntry], team: Team, other_team: Team) -> None:
    assert {(seal.team, seal.number, seal.entries) for seal in AuditSeal.objects.all()} == {
        (team.pk, 1, 2), (other_team.pk, 1, 1),
    }  # fmt: skip
    assert SealedEntry.objects.count() == 3
    assert broken() == []
    assert seal_audit_log(timezone.now() + timedelta(hours=1)) == 0, "nothing is sealed twice"


def test_only_settled_entries_are_sealed_and_late_ones_later(sealed: list[LogEntry], team: Team) -> None:
    team.bucket = "gs://d"
    team.save()
    late = LogEntry.objects.order_by("pk").last()
    assert late is not None

    assert seal_audit_log(timezone.now()) == 0
    LogEntry.objects.filter(pk=late.pk).delete()
    late.pk = sealed[0].pk - 1  # its transaction began first and committed last
    late.save(force_insert=True)
    assert seal_audit_log(timezone.now() + timedelta(minutes=6)) == 1
    assert broken() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"object_repr": "another"}, "was changed"),
        ({"changes": {"bucket": ["", "gs://z"]}}, "was changed"),
        ({"remote_addr": "10.0.0.2"}, "was changed"),
        ({"timestamp": timezone.now() - timedelta(days=9)}, "was changed"),
        ({"actor": None}, "the author of entry"),
    ],
)
def test_a_changed_entry_is_found(sealed: list[LogEntry], change: dict[str, object], words: str) -> None:
    LogEntry.objects.filter(pk=sealed[0].pk).update(**change)

    (found,) = broken()
    assert words in found
    assert str(sealed[0].pk) in found


def test_a_deleted_entry_is_found(sealed: list[LogEntry]) -> None:
    LogEntry.objects.filter(pk=sealed[0].pk).delete()

    assert broken() == [f"1: entry {sealed[0].pk} was deleted"]


def test_a_deleted_entry_with_its_digest_is_found(sealed: list[LogEntry]) -> None:
    LogEntry.objects.filter(pk=sealed[0].pk).delete()
    SealedEntry.objects.filter(entry=sealed[0].pk).delete()

    assert broken() == ["1: the digests of its entries were changed"]


def test_the_account_of_an_author_may_be_deleted(sealed: list[LogEntry], owner: User) -> None:
    owner.memberships.all().delete()
    LogEntry.objects.filter(object_pk=str(owner.pk), content_type__model="user").delete()
    owner.delete()

    assert broken() == []


def test_a_seal_that_is_taken_out_or_changed_is_found(sealed: list[LogEntry], team: Team) -> None:
    for bucket in ("gs://x", "gs://y"):
        team.bucket = bucket
        team.save()
        seal_audit_log(timezone.now() + timedelta(hours=1))
    assert broken() == []

    second = AuditSeal.objects.get(team=team.pk, number=2)
    AuditSeal.objects.filter(pk=second.pk).update(content="0" * 64)
    assert "2: its digest does not fit the seal before it" in broken()
    second.sealed_entries.all().delete()
    second.delete()
    assert broken() == ["3: seal 2 of the chain is missing"]


def test_retention_removes_a_whole_span_and_keeps_its_digest(sealed: list[LogEntry], team: Team) -> None:
    spans = removable(timezone.now() + timedelta(days=1)).filter(team=team.pk)

    remove_spans(list(spans.values_list("pk", flat=True)), timezone.now())

    assert list(LogEntry.objects.values_list("pk", flat=True)) == [sealed[1].pk]
    assert AuditSeal.objects.filter(removed_at=None).count() == 1
    assert broken() == []
    team.bucket = "gs://after"
    team.save()
    seal_audit_log(timezone.now() + timedelta(hours=1))
    assert broken() == []
    AuditSeal.objects.filter(team=team.pk, number=1).update(digest="0" * 64)
    assert len(broken()) == 2, "also the seal of a removed span is verified, and the one after it"


def test_the_command_verifies_and_exports(
    sealed: list[LogEntry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("audit", export_log=str(tmp_path / "log.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]

    assert [next(iter(line)) for line in lines] in (
        ["seal", "entry", "entry", "seal", "entry"], ["seal", "entry", "seal", "entry", "entry"],
    )  # fmt: skip
    assert {line["entry"]["actor__username"] for line in lines if "entry" in line} == {"owner"}
    assert len(list(export_log())) == len(lines)

    LogEntry.objects.filter(pk=sealed[0].pk).update(object_repr="another")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        call_command("audit")
    assert f"entry {sealed[0].pk} was changed" in capsys.readouterr().out


class TestExport:
    @pytest.fixture
    def address(self, settings: Any) -> Iterator[Receiver]:
        """The address that gets the log, a server on loopback."""
        settings.AUDIT_EXPORT_SECRET, settings.MESSAGES_ALLOW_LOOPBACK = new_secret(), True
        with receiver() as server:
            settings.AUDIT_EXPORT_URL = server.url
            yield server

    def test_sends_each_seal_once_with_its_entries_and_signs_it(
        self, sealed: list[LogEntry], address: Receiver, team: Team, settings: Any
    ) -> None:
        now = timezone.now()

        assert send_seals(now) == 2
        assert send_seals(now) == 0

        for got in address.received:
            uid, moment = got.headers["webhook-id"], int(got.headers["webhook-timestamp"])
            signed = signature(settings.AUDIT_EXPORT_SECRET, uid=uid, timestamp=moment, body=got.body)
            assert got.headers["webhook-signature"] == signed
        found = {got.headers["webhook-id"]: json.loads(got.body)["data"] for got in address.received}
        seal = AuditSeal.objects.get(team=team.pk)
        mine = found[f"audit-{team.pk}-1"]
        assert (mine["seal"]["digest"], len(mine["entries"])) == (seal.digest, 2)
        assert mine["entries"][0]["actor__username"] == "owner"

    def test_tries_again_what_was_not_accepted_and_retention_waits(
        self, sealed: list[LogEntry], address: Receiver
    ) -> None:
        address.behaviour, now = 500, timezone.now()
        with pytest.raises(SendFailed, match="status 500"):
            send_seals(now)
        assert unsent().count() == 2
        assert not removable(now + timedelta(days=1)).exists()

        address.behaviour = 200
        assert send_seals(now) == 2
        assert removable(now + timedelta(days=1)).count() == 2

    @pytest.mark.parametrize("url", ["http://example.com/", "https://169.254.169.254/", "https://10.0.0.1/x"])
    def test_goes_to_public_addresses_over_https_only(self, sealed: list[LogEntry], settings: Any, url: str) -> None:
        settings.AUDIT_EXPORT_URL, settings.AUDIT_EXPORT_SECRET = url, new_secret()

        with pytest.raises(SendFailed):
            send_seals(timezone.now())

    def test_does_nothing_without_an_address(self, sealed: list[LogEntry]) -> None:
        assert not unsent().exists()
        assert send_seals(timezone.now()) == 0
        assert removable(timezone.now() + timedelta(days=1)).count() == 2
