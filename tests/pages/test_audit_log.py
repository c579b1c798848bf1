"""Tests of the audit log: who changed what, values before and after, search, pages, export, and omitted values."""

import re
from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from auditlog.models import LogEntry
from auditlog.registry import auditlog
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.test import Client

from dashboard.pages.parts.audit_names import NAMES, setting_value
from dashboard.queries import audit_log
from jobs.messages.channels import create_channel, fingerprint_of, set_paused
from jobs.models import AuditedTeam, Channel, Membership, Price, Profile, Role, Schedule, Team
from jobs.people.audit import ACTS
from jobs.requests import set_severity
from jobs.requests.api_tokens import create_token, revoke_token
from tests.conftest import PASSWORD, person
from tests.pages.conftest import SignIn, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.both_databases


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, Role.LEAD)


@pytest.fixture
def browser(lead: User, signed_in: SignIn) -> Client:
    return signed_in(lead)


def test_a_change_names_its_author_and_both_values(browser: Client, team: Team, owner: User) -> None:
    member = Membership.objects.get(user=owner)
    browser.post(f"/teams/{team.pk}/members/", {"do": "role", "member": member.pk, "role": "viewer"})

    entry = LogEntry.objects.order_by("-pk")[0]
    words = text_of(browser.get("/audit/"))

    assert (entry.actor.username, entry.remote_addr) == ("lead", "127.0.0.1")
    assert audit_log.changes_of(entry) == [("role", "engineer", "viewer")]
    assert "owner is viewer of vision" in words
    assert "role engineer viewer" in words
    spanish = text_of(browser.get("/audit/", headers={"accept-language": "es"}))
    assert "rol engineer viewer" in spanish
    assert "pertenencia · cambiado" in spanish


def test_every_name_that_is_kept_has_a_translation() -> None:
    columns = {name for model in auditlog.get_models() for name in auditlog.get_model_fields(model)["include_fields"]}
    kinds = {str(model._meta.verbose_name) for model in auditlog.get_models()} | {"job"}  # of `record_act`

    assert sorted(map(str, NAMES)) == sorted({name.replace("_", " ") for name in columns | ACTS} | kinds)


def test_acts_that_change_no_setting_are_logged(
    browser: Client, lead: User, team: Team, stranger: User, clock: Clock, signed_in: SignIn
) -> None:
    channel = create_channel(
        team, by=lead, now=clock.now, via="webhook", name="bot", address="https://example.com/h",
        kinds_wanted=["failed"], digest="",
    )  # fmt: skip
    LogEntry.objects.all().delete()

    fingerprint = fingerprint_of(channel)
    browser.post(f"/messages/channels/{channel.pk}/rotate/", {"fingerprint": fingerprint})
    browser.post(f"/messages/channels/{channel.pk}/rotate/", {"fingerprint": fingerprint})
    browser.post(f"/messages/channels/{channel.pk}/test/", {"sure": "bot"})
    for address in ("/history/jobs.csv", "/history/jobs.json", "/spend/spend.csv", f"/audit/log.csv?team={team.pk}"):
        assert browser.get(address).status_code == 200, address

    found = [(audit_log.changes_of(entry), entry.actor, entry.remote_addr) for entry in LogEntry.objects.order_by("pk")]
    acts = [change for changes, _actor, _address in found for change in changes]
    assert [(name, after) for name, _before, after in acts if name in ACTS][:4] == [
        ("secret", "(hidden)"), ("test_message", "sent"), ("export", "history.csv"), ("export", "history.json"),
    ]  # fmt: skip
    authors = {(actor, address) for changes, actor, address in found for change in changes if change[0] in ACTS}
    assert authors == {(lead, "127.0.0.1")}
    assert "audit-log.csv" in {after for _name, _before, after in acts}
    assert "test message" in text_of(browser.get(f"/audit/?team={team.pk}"))
    assert "test message" not in text_of(signed_in(stranger).get("/audit/"))


def test_a_forged_header_is_not_kept_as_an_address(browser: Client, team: Team) -> None:
    form = {"kind": "bucket", "name": "other-bucket"}
    answer = browser.post(f"/teams/{team.pk}/allowed/", form, headers={"X-Forwarded-For": "'; drop table"})

    assert answer.status_code == 302
    assert LogEntry.objects.order_by("-pk")[0].remote_addr == "127.0.0.1"


def test_a_refused_change_leaves_no_entry(browser: Client, team: Team, lead: User) -> None:
    before = LogEntry.objects.count()
    browser.post(f"/teams/{team.pk}/members/", {"do": "remove", "member": str(Membership.objects.get(user=lead).pk)})

    assert LogEntry.objects.count() == before


def test_a_rule_is_a_setting_of_the_site(
    browser: Client, admin: User, lead: User, signed_in: SignIn, clock: Clock
) -> None:
    set_severity("region_is_given", "note", by=admin, note="We know.", now=clock.now)

    assert "region_is_given: note" in text_of(signed_in(admin).get("/audit/?kind=rulesetting"))
    assert "region_is_given" not in text_of(browser.get("/audit/"))


def test_passwords_and_their_hashes_never_stand_in_it(admin: User, owner: User, signed_in: SignIn) -> None:
    old = owner.password
    owner.set_password("another secret of the tests")
    owner.save()

    page = signed_in(admin).get("/audit/?q=owner").content.decode()
    file = b"".join(signed_in(admin).get("/audit/log.csv").streaming_content).decode()
    kept = "".join(f"{entry.changes} {entry.serialized_data} {entry.changes_text}" for entry in LogEntry.objects.all())

    assert "(hidden)" in page
    for text in (page, file, kept):
        assert not any(secret in text for secret in (old, owner.password, PASSWORD, "another secret"))


def test_signing_in_is_no_change(admin: User, client: Client) -> None:
    before = LogEntry.objects.count()
    client.post("/accounts/login/", {"username": "admin", "password": PASSWORD})

    assert "_auth_user_id" in client.session
    assert LogEntry.objects.exclude(action=LogEntry.Action.ACCESS).count() == before


def test_the_daily_import_of_prices_is_left_out(admin: User, clock: Clock) -> None:
    columns = {
        "region": "us-central1", "resource": "a", "strategy": "*", "basis": "compute_engine", "usd_per_hour": 1,
        "source": "x", "as_of": clock.now.date(), "is_official": True, "reason": "y", "recorded_at": clock.now,
    }  # fmt: skip
    before = LogEntry.objects.count()

    Price.objects.create(**columns, origin=Price.Origin.IMPORT)
    assert LogEntry.objects.count() == before
    Price.objects.create(**columns, origin=Price.Origin.PERSON, recorded_by=admin)
    assert LogEntry.objects.count() == before + 1


def fill(team: Team, count: int, clock: Clock) -> None:
    kind = ContentType.objects.get_for_model(Team)
    entries = LogEntry.objects.bulk_create(
        LogEntry(
            content_type=kind, object_pk="1", object_repr=f"thing {number}", action=1,
            changes={"bucket": ["a", f"=b{number}"]}, timestamp=clock.now + timedelta(seconds=number),
        )
        for number in range(count)
    )  # fmt: skip
    AuditedTeam.objects.bulk_create(AuditedTeam(entry=entry, team=team.pk) for entry in entries)


class TestPages:
    @pytest.mark.parametrize("who", ["lead", "admin"])
    def test_every_entry_stands_on_one_page(
        self, who: str, team: Team, lead: User, admin: User, signed_in: SignIn, clock: Clock
    ) -> None:
        fill(team, 120, clock)
        number, before, seen = None if who == "admin" else team.pk, None, []
        while True:
            page = audit_log.list_entries(number, audit_log.Filters(), before=before)
            seen += [entry.pk for entry in page.entries]
            if page.older is None:
                break
            before = page.older

        assert seen == sorted(set(seen), reverse=True)
        assert len(seen) == audit_log.entries_of(number).count()
        assert signed_in(lead if who == "lead" else admin).get(f"/audit/?before={seen[60]}").status_code == 200

    @pytest.mark.parametrize(("text", "count"), [("thing 3", 10 + 1 + 3), ("=b3", 10 + 1)])
    def test_a_search_goes_on_where_the_last_page_ended(
        self, text: str, count: int, team: Team, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The search finds each word as a part: "3" is in thing 3, 30 to 39, and 13, 23 and 43."""
        monkeypatch.setattr(audit_log, "MAX_SEARCHED", 10)
        fill(team, 45, clock)

        found = [entry.object_repr for entry in audit_log.iterate_entries(team.pk, audit_log.Filters(text=text))]

        assert len(found) == len(set(found)) == count

    def test_an_author_is_searched_for(self, browser: Client, team: Team, owner: User) -> None:
        member = Membership.objects.get(user=owner)
        browser.post(f"/teams/{team.pk}/members/", {"do": "role", "member": member.pk, "role": "viewer"})

        assert "owner is viewer" in text_of(browser.get("/audit/?who=lead"))
        assert "owner is viewer" not in text_of(browser.get("/audit/?who=nobody"))

    def test_the_file_is_safe_to_open(self, browser: Client, team: Team, clock: Clock) -> None:
        fill(team, 60, clock)

        answer = browser.get("/audit/log.csv?q=thing")
        lines = b"".join(answer.streaming_content).decode().splitlines()

        assert answer.headers["Content-Type"].startswith("text/csv")
        assert len(lines) == 61
        assert lines[1].endswith(",bucket,a,'=b59")

    def test_pages_take_few_queries(
        self, browser: Client, team: Team, clock: Clock, django_assert_max_num_queries: object
    ) -> None:
        fill(team, 120, clock)
        for path in ("/audit/", "/audit/?q=thing&kind=team"):
            with django_assert_max_num_queries(10):  # type: ignore[operator]
                browser.get(path)


class TestValues:
    def test_lists_times_and_answers_are_shown_as_on_other_pages(
        self, browser: Client, lead: User, team: Team, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        channel = create_channel(
            team, by=lead, now=clock.now, via="slack", name="ours", address="https://hooks.slack.com/services/T0/B0/x",
            kinds_wanted=["failed", "done"], digest="",
        )  # fmt: skip
        set_paused(channel, by=lead, now=clock.now, is_paused=True)
        team.policy.regions, team.policy.ask_over_usd = ["us-central1", "us-east1"], Decimal(1234)
        team.policy.cancel_at_cap = False
        team.policy.save()
        Profile.objects.filter(user=lead).delete()
        Profile.objects.create(user=lead, time_zone="America/New_York")

        words = text_of(browser.get("/audit/"))

        assert "kinds failed, done" in words
        assert f"paused at {clock.now.astimezone(ZoneInfo('America/New_York')):%-d %b %Y, %H:%M:%S} EST" in words
        assert re.search(r"regions (\S+ )?us-central1, us-east1", words)
        assert re.search(r"ask over usd (\S+ )?\$1,234\.00", words)
        assert "cancel at cap yes no" in words
        assert "us-central1, us-east1" not in text_of(signed_in(stranger).get("/audit/"))

    @pytest.mark.parametrize(
        ("model", "column", "kept", "shown"),
        [
            (Channel, "kinds", "[]", ""),
            (Channel, "kinds", "null", ""),
            (Channel, "kinds", "not JSON", "not JSON"),
            (Channel, "paused_at", "yesterday", "yesterday"),
            (Channel, "paused_at", "2026-13-02 09:00:00", "2026-13-02 09:00:00"),
            (Channel, "paused_at", "2026-03-02 09:00:00.5", "2 Mar 2026, 09:00:00 UTC"),
            (Channel, "left", "['a']", "['a']"),
            (None, "kinds", "[]", "[]"),
            (Schedule, "expected_seconds", "7200", "2 h"),
            (Schedule, "last_day", "2026-03-02", "2 Mar 2026"),
            (Schedule, "cap_usd", "12.5", "$12.50"),
            (Schedule, "cap_usd", "x", "x"),
            (Schedule, "plan", '{"steps": [{"strategy": "spot", "region": null}], "wait_hours": 2}',
             "steps: strategy: spot, wait hours: 2"),
            (Price, "usd_per_hour", "0.05424", "$0.05424"),
            (User, "is_active", "False", "no"),
        ],
    )  # fmt: skip
    def test_what_is_not_of_its_type_is_shown_as_stored(
        self, model: type[Model] | None, column: str, kept: str, shown: str
    ) -> None:
        assert setting_value(model, column, kept) == shown


class TestWhoReads:
    def test_a_stranger_reads_only_the_log_of_the_own_team(
        self, team: Team, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        client = signed_in(stranger)

        assert "vision" not in text_of(client.get("/audit/"))
        assert client.get(f"/audit/?team={team.pk}").status_code == 404
        assert client.get(f"/audit/log.csv?team={team.pk}").status_code == 404
        assert "vision" not in b"".join(client.get("/audit/log.csv").streaming_content).decode()

    def test_engineers_and_approvers_do_not(self, owner: User, approver: User, signed_in: SignIn) -> None:
        for user in (owner, approver):
            assert signed_in(user).get("/audit/").status_code == 403
            assert signed_in(user).get("/audit/log.csv").status_code == 403

    @pytest.mark.parametrize("query", ["team=x", "team=99999999999999999999", "before=-1", "before=x"])
    def test_what_names_nothing_is_not_found(self, browser: Client, query: str) -> None:
        assert browser.get(f"/audit/?{query}").status_code == 404


def test_channels_tokens_and_policies_are_logged_without_what_is_secret(
    browser: Client, lead: User, team: Team, clock: Clock
) -> None:
    address = "https://hooks.slack.com/services/T0/B0/secret"
    channel = create_channel(
        team, by=lead, now=clock.now, via="slack", name="ours", address=address, kinds_wanted=["failed"], digest=""
    )
    set_paused(channel, by=lead, now=clock.now, is_paused=True)
    token, text = create_token(lead, name="ci", scopes=["read"], lifetime=timedelta(days=1), now=clock.now)
    revoke_token(lead, token.pk, now=clock.now)

    kept = [str(entry.changes) for entry in LogEntry.objects.all()]

    assert [entry.object_repr for entry in LogEntry.objects.filter(object_repr__contains="ours")]
    assert any("paused_at" in words for words in kept)
    assert any("revoked_at" in words for words in kept)
    for secret in (address, "hooks.slack.com", text, token.digest):
        assert not any(secret in words for words in kept)
    assert AuditedTeam.objects.filter(team=team.pk).exists()
